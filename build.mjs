// Builds dist/: the command line by esbuild, then the library with its types by tsc.
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename } from "node:path";
import { build } from "esbuild";
import { bundleOptions, shippedOptions } from "./bundle-options.mjs";
import { bundledPackages, licencesFile, licencesText } from "./licences.mjs";

const { version } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
const here = new URL(".", import.meta.url).pathname;

const dist = `${here}dist`;

// `npx pratique` builds before its first command, while a hub may run from the same folder and has not loaded all of its parts yet:
// files that stay as they are are left alone, and the others replaced in one stroke.
const { outputFiles, metafile } = await build({
  absWorkingDir: here,
  outdir: "dist/bin",
  write: false,
  metafile: true,
  ...bundleOptions(version),
  ...shippedOptions,
});
mkdirSync(`${dist}/bin`, { recursive: true });
for (const { path, contents } of outputFiles) {
  if (existsSync(path) && readFileSync(path).equals(contents)) continue;
  writeFileSync(`${path}.new`, contents, { mode: path.endsWith("/pratique.js") ? 0o755 : 0o644 });
  renameSync(`${path}.new`, path);
}
const built = new Set(outputFiles.map(({ path }) => basename(path)));
for (const name of readdirSync(`${dist}/bin`)) {
  if (!built.has(name)) rmSync(`${dist}/bin/${name}`, { recursive: true });
}
for (const name of readdirSync(dist)) {
  if (name !== "bin" && `dist/${name}` !== licencesFile) rmSync(`${dist}/${name}`, { recursive: true });
}
writeFileSync(here + licencesFile, licencesText(bundledPackages(metafile).map((folder) => here + folder)));
execFileSync(process.execPath, [`${here}node_modules/typescript/bin/tsc`, "-p", `${here}tsconfig.build.json`], {
  stdio: "inherit",
});
// The library reads it when the first schema of a kind of Kubernetes is used; tsc copies no data.
mkdirSync(`${dist}/apis/generated`, { recursive: true });
copyFileSync(
  `${here}src/apis/generated/kubernetes-definitions.json`,
  `${dist}/apis/generated/kubernetes-definitions.json`,
);
