// How the command line is bundled, in what ships, in tests and in benches alike.

/** What the hub starts as a thread of its own; it must lie beside the bundle under this name. */
export const yamlThreadEntry = { "yaml-thread-program": "src/formats/yaml-thread-program.ts" };

/**
 * The settings of esbuild for a program of these sources, split at dynamic imports, so that the agent never loads what only the
 * hub needs; lmdb, which is native, stays outside. The version is what the program says of itself. The entry points are those of
 * what ships, from the project's folder.
 */
export function bundleOptions(version) {
  return {
    entryPoints: { pratique: "src/cli/main.ts", ...yamlThreadEntry },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    external: ["lmdb"],
    define: { __PRATIQUE_VERSION__: JSON.stringify(version) },
    // CommonJS libraries inside an ESM bundle still ask for require.
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
    logLevel: "warning",
  };
}

/** What is smaller and can be traced in what ships. */
export const shippedOptions = { minifySyntax: true, sourcemap: true, legalComments: "none" };
