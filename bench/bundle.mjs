// Bundles sources on the fly, for measuring a working tree that is not built.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { bundleOptions, shippedOptions, yamlThreadEntry } from "../bundle-options.mjs";

/** The project's folder. */
export const root = new URL("..", import.meta.url).pathname;

/** Bundles one entry point as `build.mjs` does, into a folder that goes away with the stage; returns the path of the script. */
export async function bundle(stage, entry) {
  // Inside the project, so that the bundle finds the installed lmdb.
  const out = await stage.folder(".bench", join(root, "node_modules"));
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  await build({
    ...bundleOptions(version),
    ...shippedOptions,
    absWorkingDir: root,
    entryPoints: { entry, ...yamlThreadEntry },
    outdir: out,
    outExtension: { ".js": ".mjs" },
  });
  return join(out, "entry.mjs");
}
