import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "..");
const page = readFileSync(join(root, "docs/ocm-compatibility.md"), "utf8");

/** File and title that a row gives as its test. */
const named = [...page.matchAll(/\| `(test\/[^`]+|src\/[^`]+)`: (.+?) \|$/gm)].map(
  ([, file = "", title = ""]) => [file, title] as const,
);

test("every row of the tables names a test", () => {
  const rows = page
    .split("\n")
    .filter((line) => line.startsWith("|") && !/^\|(---|\s*(row|in the original) )/.test(line));
  expect(rows.length).toBeGreaterThan(25);
  expect(named).toHaveLength(rows.length);
});

test.each(named)("%s has the test: %s", (file, title) => {
  expect(readFileSync(join(root, file), "utf8")).toContain(`"${title}"`);
});
