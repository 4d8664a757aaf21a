import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { allowedImports } from "./kits/import-table.ts";

const source = resolve(import.meta.dirname, "../src");

/** Rooms that may read the environment, files and the wall clock. */
const outward: readonly string[] = ["hub", "agent", "cli"];
/** Rooms that know no runtime at all. */
const withoutNode: readonly string[] = ["core"];

interface Import {
  readonly file: string;
  readonly room: string;
  readonly target: string;
  readonly line: string;
}

const files = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
  .map((file) => ({ file, text: readFileSync(join(source, file), "utf8") }));

const imports: readonly Import[] = files.flatMap(({ file, text }) =>
  [...text.matchAll(/(?:^(?:import|export|\}) (?:[^"\n]*from )?|\bimport\()"([^"]+)"/gm)].map((match) => ({
    file,
    room: file.includes("/") ? file.slice(0, file.indexOf("/")) : "",
    target: match[1] ?? "",
    line: match[0],
  })),
);

function roomOf({ file, target }: Import): string {
  const path = relative(source, resolve(source, dirname(file), target));
  return path.includes("/") ? path.slice(0, path.indexOf("/")) : "";
}

describe("the rooms of src", () => {
  test("were all found and read", () => {
    expect(files.length).toBeGreaterThan(150);
    expect(imports.length).toBeGreaterThan(500);
    expect(new Set(files.map(({ file }) => file.split("/")[0])).size).toBeGreaterThanOrEqual(14);
  });

  test("import only the rooms that they may", () => {
    const wrong = imports
      .filter((one) => one.room !== "" && one.target.startsWith("."))
      .filter(({ file, target }) => file !== "cli/main.ts" || target !== "../../supported-node.mjs")
      .filter((one) => roomOf(one) !== one.room && allowedImports[one.room]?.includes(roomOf(one)) !== true)
      .map(({ file, target }) => `${file} imports ${target}`);
    expect(wrong).toEqual([]);
  });

  test("with core know nothing of any runtime or package", () => {
    const wrong = imports
      .filter((one) => withoutNode.includes(one.room) && !one.target.startsWith("."))
      .map(({ file, target }) => `${file} imports ${target}`);
    expect(wrong).toEqual([]);
  });

  test("other than hub, agent and cli read no environment, files or wall clock", () => {
    const banned =
      /\bprocess\.(env|argv|cwd)\b|\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|from "node:(fs|fs\/promises|os|child_process)"/;
    const wrong = files
      .filter(
        ({ file }) =>
          file.includes("/") && !outward.includes(file.slice(0, file.indexOf("/"))) && !file.startsWith("storage/"),
      )
      .flatMap(({ file, text }) =>
        text
          .split("\n")
          .flatMap((line) =>
            banned.test(line) && !line.trimStart().startsWith("*") ? [`${file}: ${line.trim()}`] : [],
          ),
      );
    expect(wrong).toEqual([]);
  });

  test("throw typed errors only", () => {
    const wrong = files.flatMap(({ file, text }) => (/throw new Error\(/.test(text) ? [file] : []));
    expect(wrong).toEqual([]);
  });

  test("have no default exports, no star exports and no folders for leftovers", () => {
    const wrong = files.flatMap(({ file, text }) =>
      /^export default|^export \*/m.test(text) || /(^|\/)(utils?|helpers?|common|lib)(\/|\.ts$)/.test(file)
        ? [file]
        : [],
    );
    expect(wrong).toEqual([]);
  });
});
