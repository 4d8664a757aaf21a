// Builds dist/: the command line by esbuild, then the library with its types by tsc.
import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, rmSync } from "node:fs";
import { build } from "esbuild";
import { bundleOptions, shippedOptions } from "./bundle-options.mjs";

const { version } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
const here = new URL(".", import.meta.url).pathname;

rmSync(`${here}dist`, { recursive: true, force: true });
await build({
  absWorkingDir: here,
  entryPoints: { pratique: "src/cli/main.ts" },
  outdir: "dist/bin",
  ...bundleOptions(version),
  ...shippedOptions,
});
chmodSync(`${here}dist/bin/pratique.js`, 0o755);
execFileSync(process.execPath, [`${here}node_modules/typescript/bin/tsc`, "-p", `${here}tsconfig.build.json`], {
  stdio: "inherit",
});
