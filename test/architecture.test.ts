import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { allowedImports } from "./kits/import-table.ts";

const source = resolve(import.meta.dirname, "../src");

/** Rooms that face the machine: they may read the environment, files and the wall clock. */
const outward: readonly string[] = [
  "host",
  "ca",
  "audit",
  "webhooks",
  "kubelet",
  "bootstrap",
  "config-files",
  "agent",
  "operator",
  "policy-server",
  "server",
  "cli",
];
/** Rooms that know no runtime at all. */
const withoutNode: readonly string[] = ["apimachinery"];

interface SourceFile {
  readonly file: string;
  readonly text: string;
}

interface Import {
  readonly file: string;
  readonly room: string;
  readonly target: string;
}

const files: readonly SourceFile[] = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
  .map((file) => ({ file, text: readFileSync(join(source, file), "utf8") }));

/** What a file names in `from "…"`, `import "…"` and `import("…")`. */
function importsOf({ file, text }: SourceFile): readonly Import[] {
  const named = text.matchAll(/(?:^(?:import|export|\}) (?:[^"\n]*from )?|\bimport\()"([^"]+)"/gm);
  const room = file.includes("/") ? file.slice(0, file.indexOf("/")) : "";
  return [...named].map(([, target = ""]) => ({ file, room, target }));
}

function roomOf({ file, target }: Import): string {
  const path = relative(source, resolve(source, dirname(file), target));
  return path.includes("/") ? path.slice(0, path.indexOf("/")) : "";
}

/** The rules, each as what breaks it in some files. */
const rules: Readonly<Record<string, (some: readonly SourceFile[]) => readonly string[]>> = {
  "import only the rooms that they may": (some) =>
    some
      .flatMap(importsOf)
      .filter((one) => one.room !== "" && one.target.startsWith("."))
      .filter(({ file, target }) => file !== "cli/main.ts" || target !== "../../supported-node.mjs")
      .filter((one) => roomOf(one) !== one.room && allowedImports[one.room]?.includes(roomOf(one)) !== true)
      .map(({ file, target }) => `${file} imports ${target}`),

  "with apimachinery know nothing of any runtime or package": (some) =>
    some
      .flatMap(importsOf)
      .filter((one) => withoutNode.includes(one.room) && !one.target.startsWith("."))
      .map(({ file, target }) => `${file} imports ${target}`),

  "other than those that face the machine read no environment, files or wall clock": (some) => {
    const banned =
      /\bprocess\.(env|argv|cwd)\b|\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|from "node:(fs|fs\/promises|os|child_process)"/;
    const inward = ({ file }: SourceFile): boolean =>
      file.includes("/") && !outward.includes(file.slice(0, file.indexOf("/"))) && !file.startsWith("storage/");
    const breaks = (line: string): boolean => banned.test(line) && !line.trimStart().startsWith("*");
    return some.filter(inward).flatMap(({ file, text }) =>
      text
        .split("\n")
        .filter(breaks)
        .map((line) => `${file}: ${line.trim()}`),
    );
  },

  "name the library of the metrics in one file": (some) =>
    some
      .flatMap(importsOf)
      .filter(({ target }) => target === "prom-client" || target.startsWith("@prometheus-io/"))
      .filter(({ file }) => file !== "metrics/library.ts")
      .map(({ file, target }) => `${file} imports ${target}`),

  "throw typed errors only": (some) =>
    some.filter(({ text }) => /throw new Error\(/.test(text)).map(({ file }) => file),

  "have no default exports, no star exports and no folders for leftovers": (some) =>
    some
      .filter(
        ({ file, text }) =>
          /^export default|^export \*/m.test(text) || /(^|\/)(utils?|helpers?|common|lib)(\/|\.ts$)/.test(file),
      )
      .map(({ file }) => file),
};

/** A file that breaks a rule, by the rule. */
const broken: readonly (readonly [string, SourceFile])[] = [
  ["import only the rooms that they may", { file: "pki/a.ts", text: 'import { b } from "../server/b.ts";' }],
  ["import only the rooms that they may", { file: "pki/a.ts", text: 'import type { b } from "../apiserver/b.ts";' }],
  [
    "import only the rooms that they may",
    { file: "pki/a/b.ts", text: 'import {\n  b,\n} from "../../apiserver/b.ts";' },
  ],
  ["import only the rooms that they may", { file: "pki/a.ts", text: 'export { b } from "../authentication/b.ts";' }],
  ["import only the rooms that they may", { file: "cli/a.ts", text: 'const b = await import("../storage/b.ts");' }],
  ["import only the rooms that they may", { file: "pki/a.ts", text: 'import { b } from "../../supported-node.mjs";' }],
  [
    "with apimachinery know nothing of any runtime or package",
    { file: "apimachinery/a.ts", text: 'import { b } from "node:util";' },
  ],
  [
    "with apimachinery know nothing of any runtime or package",
    { file: "apimachinery/a.ts", text: 'import * as b from "yaml";' },
  ],
  ...["process.env.A", "process.argv", "Date.now()", "new Date()", "Math.random()", 'from "node:fs"'].map(
    (text) =>
      [
        "other than those that face the machine read no environment, files or wall clock",
        { file: "registry/a.ts", text: `const a = ${text};` },
      ] as const,
  ),
  [
    "name the library of the metrics in one file",
    { file: "server/a.ts", text: 'import { Gauge } from "prom-client";' },
  ],
  ["throw typed errors only", { file: "server/a.ts", text: 'throw new Error("x");' }],
  [
    "have no default exports, no star exports and no folders for leftovers",
    { file: "server/a.ts", text: "export default a;" },
  ],
  [
    "have no default exports, no star exports and no folders for leftovers",
    { file: "server/a.ts", text: 'export * from "./b.ts";' },
  ],
  ["have no default exports, no star exports and no folders for leftovers", { file: "server/utils/a.ts", text: "" }],
];

describe("the rooms of src", () => {
  test("were all found and read: each of the table, and each import of each file", () => {
    expect(new Set(files.flatMap(({ file }) => (file.includes("/") ? [file.split("/")[0]] : [])))).toEqual(
      new Set(Object.keys(allowedImports)),
    );
    const tracked = execFileSync("git", ["ls-files", "src"], { cwd: dirname(source), encoding: "utf8" });
    const names = tracked.split("\n").filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
    const unlisted = names.filter((name) => !files.some(({ file }) => `src/${file}` === name));
    expect(names.length).toBeGreaterThan(files.length / 2);
    expect(unlisted.filter((name) => existsSync(resolve(source, "..", name)))).toEqual([]);
    // Counted in another way than the rules do it, so that neither can miss what the other finds.
    const unread = files.filter((one) => {
      const lines = one.text.split("\n").filter((line) => /^(import|export|\}).* from "|^import "/.test(line));
      return importsOf(one).length < lines.length;
    });
    expect(unread.map(({ file }) => file)).toEqual([]);
  });

  test.each(Object.entries(rules))("%s", (_rule, wrong) => {
    expect(wrong(files)).toEqual([]);
  });

  test.each(broken)("are told where they do not: %s: %j", (rule, file) => {
    expect(rules[rule]?.([file])).toHaveLength(1);
  });

  test("are told of each rule where it does not hold", () => {
    expect(new Set(broken.map(([rule]) => rule))).toEqual(new Set(Object.keys(rules)));
  });
});
