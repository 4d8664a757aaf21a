import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeExecutable } from "../../../test/kits/executable.ts";
import { runChild } from "./child-program.ts";

const run = { env: { PATH: "/usr/bin:/bin" }, timeoutMs: 10_000 };

test("a program gets its words as they are, the environment that is given and no other", async () => {
  process.env["CHILD_PROGRAM_TEST"] = "secret";
  const { kind, code, output } = await runChild(["sh", "-c", 'echo "$1"; env', "sh", "a b; echo $HOME"], run);
  expect([kind, code]).toEqual(["ended", 0]);
  expect(output.split("\n")[0]).toBe("a b; echo $HOME");
  expect(output).not.toMatch(/CHILD_PROGRAM_TEST|HOME=/);
});

test("its code is told, and so is that it is not there, or was killed", async () => {
  expect(await runChild(["sh", "-c", "exit 7"], run)).toMatchObject({ kind: "ended", code: 7 });
  expect(await runChild(["/no/such/program"], run)).toMatchObject({ kind: "missing" });
  expect(await runChild(["sh", "-c", "kill -9 $$"], run)).toMatchObject({ kind: "killed" });
});

test("one that is being written is not run, and that is told", async () => {
  const dir = await mkdtemp(join(tmpdir(), "child-program-"));
  const path = join(dir, "new");
  writeExecutable(path, "#!/bin/sh\necho no\n");
  const writer = await open(path, "r+");
  try {
    expect(await runChild([path], run)).toMatchObject({ kind: "missing", output: "" });
  } finally {
    await writer.close();
    await rm(dir, { recursive: true });
  }
});

test("one that does not end is ended, with what it has started", async () => {
  const end = await runChild(["sh", "-c", "sleep 60 & sleep 60"], { ...run, timeoutMs: 50 });
  expect(end.kind).toBe("late");
});

test("what it writes is kept to 4096 characters", async () => {
  const { output } = await runChild(["sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x"], run);
  expect(output).toBe("x".repeat(4096));
});
