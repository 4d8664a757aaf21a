import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** A TypeScript program as one file that plain Node runs. */
export interface Program {
  readonly path: string;
  remove(): void;
}

/** Bundles a program beside this file; native packages are loaded from where they are installed. */
export async function bundleProgram(name: string): Promise<Program> {
  const here = fileURLToPath(new URL(".", import.meta.url));
  const lmdb = createRequire(import.meta.url).resolve("lmdb");
  const dir = mkdtempSync(join(tmpdir(), "program-"));
  const path = join(dir, `${basename(name, ".ts")}.mjs`);
  const installed = join(dirname(dirname(lmdb)), "node-index.js");
  await build({
    entryPoints: [join(here, name)],
    outfile: path,
    bundle: true,
    format: "esm",
    platform: "node",
    logLevel: "error",
    alias: { lmdb: installed },
    external: [installed],
  });
  return { path, remove: () => rmSync(dir, { recursive: true, force: true }) };
}
