import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fakeIo, runLine } from "../../test/kits/fake-io.ts";
import { reportSkip } from "../../test/kits/report-skip.ts";
import { allCommands } from "./command.ts";
import { commands } from "./commands.ts";
import { completionScript } from "./completion-script.ts";

const shells = ["bash", "zsh", "fish"] as const;

/** Asks a shell that is there, or undefined. */
function ask(
  shell: string,
  args: readonly string[],
  input: string,
): { status: number | null; stdout: string } | undefined {
  const answer = spawnSync(shell, args, { input, encoding: "utf8", timeout: 50_000 });
  return answer.error === undefined ? { status: answer.status, stdout: answer.stdout + answer.stderr } : undefined;
}

/** What bash would offer after these words; the last one is being typed. */
function offered(...words: string[]): readonly string[] {
  const list = words.map((word) => `'${word}'`).join(" ");
  const script = `${completionScript("bash", commands)}
COMP_WORDS=(pratique ${list}); COMP_CWORD=${words.length}; _pratique; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const answer = ask("bash", ["--norc", "-s"], script);
  expect(answer?.status).toBe(0);
  return (answer?.stdout ?? "").split("\n").filter((line) => line !== "");
}

describe.each(shells)("the script for %s", (shell) => {
  test("knows each command and each flag", () => {
    const script = completionScript(shell, commands);
    for (const { name, options } of allCommands(commands)) {
      expect(script).toContain(name.split(" ").at(-1));
      for (const option of options) expect(script).toContain(option.name);
    }
  });

  test("is printed by `pratique completion`", async () => {
    const io = fakeIo();
    expect(await runLine(`completion ${shell}`, io)).toBe(0);
    expect(io.out()).toBe(completionScript(shell, commands));
  });

  // bash is on every machine that tests run on; the others are asked where they are.
  const isAbsent = shell !== "bash" && ask(shell, ["-c", "true"], "") === undefined;
  if (isAbsent) reportSkip(`the script for ${shell}`, `${shell} is not installed`, "debian");
  test.skipIf(isAbsent)("has the syntax of its shell", () => {
    // As a file: fish reads no script from a socket, which is what standard input is here.
    const dir = mkdtempSync(join(tmpdir(), "completion-"));
    const file = join(dir, "script");
    writeFileSync(file, completionScript(shell, commands));
    expect(ask(shell, ["-n", file], "")).toEqual({ status: 0, stdout: "" });
    rmSync(dir, { recursive: true });
  });
});

describe("bash completes", () => {
  const cases: Readonly<Record<string, readonly [readonly string[], readonly string[]]>> = {
    "a command": [["to"], ["token"]],
    "every command": [[""], [...commands.map(({ name }) => name), "help"]],
    "a command of a group": [["token", "de"], ["delete"]],
    "a flag": [["token", "create", "--pr"], ["--print-join-command"]],
    "a flag after others": [["hub", "--data-dir", "d", "--tls"], ["--tls-san"]],
    "a choice after a long flag": [["token", "list", "--output", "y"], ["yaml"]],
    "a choice after a short flag": [
      ["pending", "-o", ""],
      ["table", "wide", "json", "yaml"],
    ],
    "an operand with choices": [["completion", "fi"], ["fish"]],
    "nothing for a value that is anything": [["token", "create", "--ttl", ""], []],
    "nothing for an unknown command": [["toekn", "cr"], []],
  };
  test.each(Object.entries(cases))("%s", (_title, [words, expected]) => {
    expect(offered(...words)).toEqual(expected);
  });

  test("a file name", () => {
    expect(offered("hub", "--token-auth-file", "package.js")).toEqual(["package.json"]);
  });
});

test("an unknown shell is refused, naming those that there are", async () => {
  const io = fakeIo();
  expect(await runLine("completion tcsh", io)).toBe(2);
  expect(io.err()).toBe(`error: SHELL "tcsh": must be one of bash, zsh, fish
See 'pratique completion --help'.
`);
});
