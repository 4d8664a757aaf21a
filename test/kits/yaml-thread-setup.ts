import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import type { TestProject } from "vitest/node";
import { bundleOptions, yamlThreadEntry } from "../../bundle-options.mjs";

/** Bundles the program of the YAML thread once for all tests. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dir = await mkdtemp(join(tmpdir(), "pratique-yaml-thread-"));
  await build({
    ...bundleOptions("0.0.0-test"),
    absWorkingDir: resolve(import.meta.dirname, "../.."),
    entryPoints: yamlThreadEntry,
    outdir: dir,
    outExtension: { ".js": ".mjs" },
  });
  project.provide("yamlThreadProgram", pathToFileURL(join(dir, "yaml-thread-program.mjs")).href);
  return () => rm(dir, { recursive: true, force: true });
}
