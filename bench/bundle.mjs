// Bundles sources on the fly, for measuring a working tree that is not built.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/** The project's folder. */
export const root = new URL("..", import.meta.url).pathname;

/** Bundles one entry point as `build.mjs` does, into a folder that goes away with the stage; returns the path of the script. */
export async function bundle(stage, entry) {
  // Inside the project, so that the bundle finds the installed lmdb.
  const out = await stage.folder(".bench", join(root, "node_modules"));
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  await build({
    absWorkingDir: root,
    entryPoints: { entry },
    outdir: out,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    external: ["lmdb"],
    minifySyntax: true,
    sourcemap: true,
    legalComments: "none",
    define: { __PRATIQUE_VERSION__: JSON.stringify(version) },
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
    logLevel: "warning",
  });
  return join(out, "entry.mjs");
}
