import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { reasons } from "../src/core/reasons.ts";

const page = readFileSync("docs/errors.md", "utf8");
const [, controllers = ""] = page.split("## Reasons of controllers");

test("docs/errors.md has every reason of the table, each once, and no other", () => {
  const documented = controllers
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, reason]) => reason));
  expect(documented).toHaveLength(new Set(documented).size);
  expect(new Set(documented)).toEqual(new Set(Object.keys(reasons)));
});

test("reasons are CamelCase words", () => {
  for (const reason of Object.keys(reasons)) expect(reason).toMatch(/^([A-Z][a-z]+)+$/);
});
