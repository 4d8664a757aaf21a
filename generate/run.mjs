// `npm run generate:schemas` writes the schemas of Kubernetes' own kinds from the published definitions of one release.
import { writeFileSync } from "node:fs";
import { build } from "esbuild";

const root = new URL("..", import.meta.url).pathname;
const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: ["generate/schemas.mts"],
  bundle: true,
  format: "esm",
  platform: "node",
  write: false,
});
const { schemaFile } = await import(
  `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`
);
try {
  const file = "src/apis/generated/kubernetes-definitions.json";
  writeFileSync(root + file, schemaFile());
  process.stdout.write(`wrote ${file}\n`);
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
