// The licences of the packages whose code is bundled into the command line.
import { readdirSync, readFileSync } from "node:fs";

/** Where the texts lie in what ships. */
export const licencesFile = "dist/THIRD_PARTY_LICENSES.txt";

const packageOf = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
const textName = /^(?:licen[cs]e|copying|notice)/i;

/** The folder of each package of which a bundle holds code, from esbuild's metafile; in order. */
export function bundledPackages(metafile) {
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  const folders = inputs.flatMap(([file, { bytesInOutput }]) =>
    bytesInOutput > 0 ? (packageOf.exec(file) ?? []) : [],
  );
  return [...new Set(folders)].sort();
}

/** Name, version and licence texts of a package in this folder. Throws if it brings no text. */
export function licenceOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const files = readdirSync(folder)
    .filter((file) => textName.test(file))
    .sort();
  const texts = files.map((file) => readFileSync(`${folder}/${file}`, "utf8").trim());
  if (texts.length === 0)
    throw new Error(`${name}@${version} (${license}) is bundled and brings no text of its licence`);
  return { name, version, license, texts };
}

/** The file for all of these folders. */
export function licencesText(folders) {
  const head = "The command line of pratique holds code of the packages below, under these licences.\n";
  const parts = folders.map(licenceOf).map(({ name, version, license, texts }) => {
    const title = `${name} ${version} (${license})`;
    return `${"=".repeat(title.length)}\n${title}\n${"=".repeat(title.length)}\n\n${texts.join("\n\n")}\n`;
  });
  return [head, ...parts].join("\n");
}
