import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { reasonCodes } from "../src/apimachinery/status.ts";
import { hubCommand } from "../src/cli/hub/hub-command.ts";
import { storedResources } from "../src/apis/builtin.ts";
import { clusterDefinitions } from "../src/apis/cluster-definitions.ts";
import { stringAt } from "../src/apis/json-fields.ts";
import { allowedImports } from "./kits/import-table.ts";

const root = resolve(import.meta.dirname, "..");
const text = (file: string): string => readFileSync(join(root, file), "utf8");

const pages = [
  ...readdirSync(root).filter((file) => file.endsWith(".md")),
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md"))
    .map((file) => join("docs", file)),
];

/** The cells of each row of the tables in a text, without heading and rule. */
function rows(markdown: string): readonly (readonly string[])[] {
  return markdown
    .split("\n")
    .filter((line) => line.startsWith("|") && !/^[|\s:-]+$/.test(line))
    .map((line) =>
      line
        .slice(1, line.lastIndexOf("|"))
        .split("|")
        .map((cell) => cell.trim()),
    );
}

/** What stands between `<!-- name: begin -->` and `<!-- name: end -->`. */
function marked(file: string, name: string): string {
  const [, inside] = text(file).split(new RegExp(`<!-- ${name}: (?:begin|end) -->`));
  if (inside === undefined) throw new TypeError(`${file} has no part marked ${name}`);
  return inside;
}

const words = (cell: string): readonly string[] => cell.split(",").map((word) => word.trim());

function importTable(table: string): Readonly<Record<string, readonly string[]>> {
  const rooms = Object.keys(allowedImports);
  const cells = rows(table).filter(([left = ""]) => words(left).every((room) => rooms.includes(room)));
  return Object.fromEntries(
    cells.flatMap(([left = "", right = ""]) => words(left).map((room) => [room, importsOf(room, right, rooms)])),
  );
}

function importsOf(room: string, cell: string, rooms: readonly string[]): readonly string[] {
  if (cell.startsWith("nothing")) return [];
  const but = /^everything but (.*)$/.exec(cell)?.[1];
  if (but === undefined) return words(cell).toSorted();
  return rooms.filter((other) => other !== room && !words(but).includes(other)).toSorted();
}

const sortedTable = Object.fromEntries(
  Object.entries(allowedImports).map(([room, imports]) => [room, imports.toSorted()]),
);

describe("the documents", () => {
  test("were all found", () => {
    expect(pages.length).toBeGreaterThanOrEqual(16);
    expect(pages).toEqual(expect.arrayContaining(["README.md", "CONTRIBUTING.md", "docs/errors.md"]));
  });

  test("link only to what is there", () => {
    const links = pages.flatMap((page) =>
      [...text(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => ({ page, target })),
    );
    const relative = links.filter(({ target }) => !/^[a-z]+:/.test(target) && !target.startsWith("#"));
    expect(relative.length).toBeGreaterThan(15);
    const broken = relative.filter(
      ({ page, target }) => !existsSync(resolve(root, dirname(page), target.replace(/#.*$/, ""))),
    );
    expect(broken).toEqual([]);
  });

  test("name only source files that are there", () => {
    const rooms = Object.keys(allowedImports).join("|");
    const named = new RegExp(
      `\`((?:src/|test/|bench/|demo/)?(?:(?:${rooms}|attack|crash|e2e|kits)/)?[\\w/-]+\\.m?[jt]s)\``,
      "g",
    );
    const mentions = ["docs/architecture.md", "docs/threat-model.md", "docs/errors.md", "docs/storage.md"].flatMap(
      (page) => [...text(page).matchAll(named)].map(([, file = ""]) => ({ page, file })),
    );
    expect(mentions.length).toBeGreaterThan(80);
    const everything = ["src", "test", "bench", "demo"].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((file) => `${folder}/${file}`),
    );
    const missing = mentions.filter(({ file }) => !everything.some((one) => one === file || one.endsWith(`/${file}`)));
    expect(missing).toEqual([]);
  });

  test("with the recipes stay within 80 lines", () => {
    expect(text("CONTRIBUTING.md").trimEnd().split("\n").length).toBeLessThanOrEqual(80);
  });
});

describe("docs/errors.md", () => {
  const documented = rows(text("docs/errors.md").split("## Reasons of controllers")[0] ?? "").flatMap(
    ([reason = "", code = ""]) => {
      const name = /^`(\w+)`$/.exec(reason)?.[1];
      return name === undefined ? [] : [[name, Number(code)] as const];
    },
  );

  test("has every reason with its code, and no other", () => {
    expect(Object.fromEntries(documented)).toEqual(reasonCodes);
    expect(documented.length).toBe(Object.keys(reasonCodes).length);
  });
});

describe("the import table", () => {
  test("of docs/architecture.md is the one that is kept", () => {
    expect(importTable(marked("docs/architecture.md", "imports"))).toEqual(sortedTable);
  });

  test("has a room for every folder, and docs/architecture.md tells of each", () => {
    const folders = readdirSync(join(root, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const told = rows(text("docs/architecture.md")).map(([room = ""]) => room);
    const wrong = folders
      .map(({ name }) => name)
      .filter((name) => !Object.hasOwn(allowedImports, name) || !told.includes(`\`${name}/\``));
    expect(wrong).toEqual([]);
  });

  test("is followed by one row for each file of server/", () => {
    const told = text("docs/architecture.md").split("## The files of `server/`")[1] ?? "";
    const files = readdirSync(join(root, "src/server"), { recursive: true, encoding: "utf8" }).filter((file) =>
      /(?<!\.test)\.ts$/.test(file),
    );
    expect(files.length).toBeGreaterThan(15);
    expect(files.filter((file) => !told.includes(`\`server/${file}\``))).toEqual([]);
  });
});

describe("docs/threat-model.md", () => {
  test("lists every attack that is tested", () => {
    const listed = rows(marked("docs/threat-model.md", "attacks"))
      .slice(1)
      .map(([file = ""]) => file.replaceAll("`", ""));
    const tests = readdirSync(join(root, "test/attack"), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".test.ts"))
      .map((file) => `test/attack/${file}`);
    expect(tests.length).toBeGreaterThan(0);
    expect(listed.toSorted()).toEqual(tests.toSorted());
  });
});

describe("a leaked CA key", () => {
  // Each item of a list ends where the next one or a blank line begins.
  const [item = ""] = /^- \*\*A leaked CA key\*\*[^]*?(?=^- |^$)/m.exec(text("docs/threat-model.md")) ?? [];

  test("is replaced in docs/threat-model.md by the steps of docs/ca-change.md, to which it leads", () => {
    const steps = [...text("docs/ca-change.md").matchAll(/pratique ca (\w+)/g)].map(([, step]) => step);
    const [, named = ""] = /\[`pratique ca ([^\]]+)\]\(ca-change\.md\)/.exec(item) ?? [];
    const own = named.match(/\w+(?=`)/g) ?? [];
    expect(own.length).toBeGreaterThan(0);
    expect(steps).toEqual(expect.arrayContaining(own));
    expect(item).not.toMatch(/no second CA|every machine has to join again/);
  });
});

describe("the table of docs/threat-model.md of what makes the hub act", () => {
  const acts = rows(marked("docs/threat-model.md", "acts")).slice(1);
  const served = clusterDefinitions("all").map((definition) => stringAt(definition, "spec", "names", "kind"));
  const kinds = [...storedResources.map(({ kind }) => kind), ...served];

  test("has one row for each stored kind, and no other kinds", () => {
    const listed = acts.map(([what = ""]) => what).filter((what) => !what.startsWith("`"));
    expect(kinds.length).toBeGreaterThan(20);
    expect(listed.toSorted()).toEqual(kinds.toSorted());
  });

  test("names flags that the hub has", () => {
    const flags = acts.flatMap(([what = ""]) => /^`--(.*)`$/.exec(what)?.[1] ?? []);
    const known = hubCommand.options.map(({ name }) => name);
    expect(flags.length).toBeGreaterThan(5);
    expect(flags.filter((flag) => !known.includes(flag))).toEqual([]);
  });

  test("names for each row a test that is there", () => {
    for (const [what = "", , , , tests = ""] of acts) {
      const files = [...tests.matchAll(/`([^`]+)`/g)].map(([, file = ""]) => file);
      expect([what, files.length > 0, files.filter((file) => !existsSync(join(root, file)))]).toEqual([what, true, []]);
      expect(files.every((file) => file.endsWith(".test.ts"))).toBe(true);
    }
  });
});

describe("the two commands of README.md", () => {
  const commands = text("README.md")
    .split("## Two commands")[1]
    ?.split("\n## ")[0]
    ?.match(/^npm ci && npm .*$/gm);

  test("are two, and first in the README", () => {
    expect(commands).toEqual(["npm ci && npm run demo", "npm ci && npm test"]);
    expect(/```sh\n(.*)\n/.exec(text("README.md"))?.[1]).toBe("npm ci && npm run demo");
  });

  test("are what CI runs: the tests with their set-up, the demo in the tree that it made", () => {
    const steps = [...text(".ci/run").matchAll(/^\s*step ".*" \d+ "(.*)"$/gm)].map(([, command]) =>
      command?.replace(" -- $report", ""),
    );
    expect(steps).toContain(commands?.[1]);
    expect(steps).toContain(commands?.[0]?.replace("npm ci && ", ""));
  });

  test("run scripts that the package has", () => {
    const { scripts } = JSON.parse(text("package.json")) as { readonly scripts: Readonly<Record<string, string>> };
    const used = [
      ...text(".ci/run").matchAll(/npm run ([\w:-]+)/g),
      ...text("README.md").matchAll(/npm run ([\w:-]+)/g),
    ];
    expect(used.length).toBeGreaterThan(4);
    expect(used.map(([, name = ""]) => name).filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });
});
