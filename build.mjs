// Builds dist/: the command line by esbuild, then the library with its types by tsc.
// The bundle is split at dynamic imports, so that the agent never loads what only the hub needs.
import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, rmSync } from "node:fs";
import { build } from "esbuild";

const { version } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
const here = new URL(".", import.meta.url).pathname;

rmSync(`${here}dist`, { recursive: true, force: true });
await build({
  absWorkingDir: here,
  entryPoints: { pratique: "src/cli/main.ts" },
  outdir: "dist/bin",
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
  // CommonJS libraries inside an ESM bundle still ask for require.
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
  },
  logLevel: "warning",
});
chmodSync(`${here}dist/bin/pratique.js`, 0o755);
execFileSync(process.execPath, [`${here}node_modules/typescript/bin/tsc`, "-p", `${here}tsconfig.build.json`], {
  stdio: "inherit",
});
