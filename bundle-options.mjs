// How the command line is bundled, in what ships, in tests and in benches alike.

/**
 * The settings of esbuild for a program of these sources, split at dynamic imports, so that the agent never loads what only the
 * hub needs; lmdb, which is native, stays outside. The version is what the program says of itself.
 */
export function bundleOptions(version) {
  return {
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
