import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { allCommands } from "./command.ts";
import { commands } from "./commands.ts";
import { cliDocs } from "./docs.ts";

const page = resolve(import.meta.dirname, "../../docs/cli.md");

test("docs/cli.md says what the tables say", async () => {
  const text = cliDocs(commands);
  // A page that is missing would be written and pass.
  expect(existsSync(page)).toBe(true);
  await expect(text).toMatchFileSnapshot(page);
});

test("the page has a section for each command and a row for each of its flags", () => {
  const text = cliDocs(commands);
  const all = allCommands(commands);
  expect(all.length).toBeGreaterThanOrEqual(11);
  for (const command of all) {
    expect(text).toContain(`\n## ${command.name}\n`);
    for (const option of command.options) expect(text).toContain(`--${option.name}`);
  }
});

test("the page names the deprecated name of a command once", () => {
  const command = {
    summary: "",
    details: [],
    operands: [],
    options: [],
    examples: [],
    run: () => Promise.resolve("ok" as const),
  } as const;
  const text = cliDocs([
    { ...command, name: "turn", deprecatedName: "spin" },
    { ...command, name: "stop" },
  ]);
  expect(text.match(/.*deprecated.*/g)).toEqual([
    "The deprecated name `spin` works in this release only, with a warning on standard error.",
  ]);
});

test("each flag and each command has a name of its own and a description", () => {
  for (const { name, options, summary } of allCommands(commands)) {
    const names = [...options.map((option) => option.name), ...options.flatMap(({ short }) => short ?? [])];
    expect({ name, names: [...new Set(names)] }).toEqual({ name, names });
    expect(options.filter(({ description }) => description === "")).toEqual([]);
    expect(summary).toMatch(/^[A-Z].*[^.]$/);
  }
});
