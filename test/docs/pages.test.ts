import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { commandsOf, pageBlocks } from "../kits/docs-page.ts";

const root = resolve(import.meta.dirname, "../..");
const text = (file: string): string => readFileSync(join(root, file), "utf8");

/** Pages whose blocks are run by something else than a test of this folder. */
const elsewhere: Readonly<Record<string, { readonly by: string; readonly names: string }>> = {
  "README.md": { by: ".ci/run", names: "npm run demo" },
  "cli.md": { by: "src/cli/docs.test.ts", names: "docs/cli.md" },
};

/** Pages that only run tests: each line names files that are there. */
const ofTests = ["conformance.md", "ocm-compatibility.md", "rego.md", "threat-model.md"];

const pages = ["README.md", ...readdirSync(join(root, "docs")).filter((file) => file.endsWith(".md"))];

test("each page with blocks is typed by a test, which fails where the page has another block", async () => {
  const stories = readdirSync(import.meta.dirname).map((file) => text(join("test/docs", file)));
  const untyped: string[] = [];
  let typed = 0;
  for (const page of pages) {
    const blocks = (await pageBlocks(page)).filter(({ kind }) => kind !== "text");
    if (blocks.length === 0 || ofTests.includes(page)) continue;
    const other = elsewhere[page];
    const isTyped =
      other === undefined
        ? stories.some((story) => story.includes(`docsPage("${page}"`) || story.includes(`onHub("${page}"`))
        : text(other.by).includes(other.names);
    if (isTyped) typed += 1;
    else untyped.push(page);
  }
  expect(untyped).toEqual([]);
  expect(typed).toBeGreaterThan(18);
});

test("a block says what it is, so that none is left out", async () => {
  const kinds = new Set((await Promise.all(pages.map(pageBlocks))).flat().map(({ kind }) => kind));
  expect([...kinds].toSorted()).toEqual(["console", "json", "rego", "sh", "text", "yaml"]);
});

test("lines that run tests name tests that are there", async () => {
  const blocks = (await Promise.all(ofTests.map(pageBlocks))).flat().filter(({ kind }) => kind !== "text");
  const lines = blocks.flatMap(({ body }) => commandsOf(body));
  expect(lines.length).toBeGreaterThanOrEqual(ofTests.length);
  for (const line of lines) {
    expect(line).toMatch(/^(?:RECORD=1 )?npx vitest run test\//);
    const named = [...line.matchAll(/test\/[\w./-]+/g)].map(([file]) => file);
    expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  }
});
