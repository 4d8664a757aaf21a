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

/** Why this text is no test of that title that can run and fail, or undefined. */
function fault(text: string, title: string): string | undefined {
  const at = text.indexOf(`"${title}"`);
  if (at === -1) return "there is no such title";
  if (/\.(?:skip|todo|fails|skipIf\([^)]*\)|runIf\([^)]*\))\(\s*$/.test(text.slice(0, at))) return "it may be skipped";
  if (!/(?:\b(?:it|test)|[)\]])\(\s*$/.test(text.slice(0, at))) return "it is the title of no test";
  const [body = ""] = text.slice(at).split(/\n\s*(?:it|test|describe|peerSuite)\b/);
  return /\bexpect(?:\.\w+)?\(/.test(body) ? undefined : "it expects nothing";
}

// Whether each of them ran and passed is judged by .ci/skips.mjs.
test.each(named)("%s has the test: %s", (file, title) => {
  expect(fault(readFileSync(join(root, file), "utf8"), title)).toBeUndefined();
});

test.each([
  ['it("b", () => expect(1).toBe(1))', "there is no such title"],
  ['const title = "a"; expect(title)', "it is the title of no test"],
  ['describe("a", () => { it("b", () => expect(1).toBe(1)) })', "it is the title of no test"],
  ['it.skip("a", () => expect(1).toBe(1))', "it may be skipped"],
  ['it.skipIf(x)("a", () => expect(1).toBe(1))', "it may be skipped"],
  ['it.todo("a")', "it may be skipped"],
  ['it("a", () => undefined);\nit("b", () => expect(1).toBe(1))', "it expects nothing"],
  ['it("a", () => expect(1).toBe(1))', undefined],
  ['it.each([[1]])("a", () => expect(1).toBe(1))', undefined],
])("a test is told from what only looks like one: %s", (text, expected) => {
  expect(fault(text, "a")).toBe(expected);
});
