// How the command line is bundled, in what ships, in tests and in benches alike.

import { readFile } from "node:fs/promises";

/** What the hub starts as a thread of its own; it must lie beside the bundle under this name. */
export const yamlThreadEntry = { "yaml-thread-program": "src/serializer/yaml/yaml-thread-program.ts" };

/** Puts the schemas of Kubernetes' own kinds into the bundle as text; each is parsed at its first use. */
export const bundledDefinitions = {
  name: "bundled-definitions",
  setup(build) {
    build.onLoad({ filter: /\/src\/apis\/generated\/kubernetes-definitions\.ts$/ }, async ({ path }) => {
      const { definitions } = JSON.parse(await readFile(path.replace(/ts$/, "json"), "utf8"));
      const texts = Object.entries(definitions).map(([name, one]) => [name, JSON.stringify(one)]);
      const literal = JSON.stringify(Object.fromEntries(texts));
      return { loader: "js", contents: `export function kubernetesDefinitions() { return ${literal}; }` };
    });
  },
};

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
    plugins: [bundledDefinitions],
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
