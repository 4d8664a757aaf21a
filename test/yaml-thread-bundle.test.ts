import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, describe, expect, it } from "vitest";
import { bundleOptions, shippedOptions, yamlThreadEntry } from "../bundle-options.mjs";

const root = resolve(import.meta.dirname, "..");
const dirs: string[] = [];
afterAll(() => Promise.all(dirs.map((dir) => rm(dir, { recursive: true, force: true }))));

async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "pratique-yaml-bundle-"));
  dirs.push(dir);
  return dir;
}

/** Reads YAML in a thread, and ends without closing it. */
const program = `
  import { yamlThread } from "./src/serializer/yaml/yaml-thread.ts";
  process.stdout.write(await yamlThread().of("test").parse("a: [b, 1]", { maxCharacters: 100, maxValues: 10 }));
`;

describe("the YAML thread outside of tests", () => {
  it.each([".js", ".mjs"])("finds its program beside the bundle, under the same ending: %s", async (ending) => {
    const dir = await folder();
    await build({
      ...bundleOptions("0.0.0-test"),
      ...shippedOptions,
      absWorkingDir: root,
      stdin: { contents: program, resolveDir: root, loader: "ts" },
      entryPoints: yamlThreadEntry,
      outdir: dir,
      outExtension: { ".js": ending },
    });
    if (ending === ".js") await writeFile(join(dir, "package.json"), '{"type":"module"}');
    const { stdout } = await promisify(execFile)(process.execPath, [join(dir, `stdin${ending}`)]);
    expect(stdout).toBe('{"value":{"a":["b",1]},"duplicates":[]}');
  });

  it("is among the entry points of what ships", () => {
    expect(bundleOptions("0").entryPoints).toMatchObject(yamlThreadEntry);
  });

  it("finds its program among the modules of the library", async () => {
    const dir = await folder();
    const modules = [
      "bounded-yaml",
      "flow-queue",
      "yaml-error",
      "yaml-thread",
      "yaml-thread-program",
      "yaml-thread-url",
    ];
    // One file for each module, as tsc writes them.
    await build({
      absWorkingDir: root,
      entryPoints: modules.map((name) => `src/serializer/yaml/${name}.ts`),
      outdir: join(dir, "formats"),
      format: "esm",
      target: "node20.19",
    });
    for (const name of await readdir(join(dir, "formats"))) {
      const file = join(dir, "formats", name);
      await writeFile(file, (await readFile(file, "utf8")).replaceAll('.ts"', '.js"'));
    }
    await symlink(join(root, "node_modules"), join(dir, "node_modules"));
    await writeFile(join(dir, "package.json"), '{"type":"module"}');
    await writeFile(
      join(dir, "program.js"),
      program.replace("./src/serializer/yaml/yaml-thread.ts", "./formats/yaml-thread.js"),
    );
    const { stdout } = await promisify(execFile)(process.execPath, [join(dir, "program.js")]);
    expect(stdout).toBe('{"value":{"a":["b",1]},"duplicates":[]}');
  });
});
