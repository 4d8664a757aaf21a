// Checks that the package holds the licence texts of all code that is bundled into it: part of `npm run pack:check`. Takes what npm
// would pack, and asks the sources maps of the bundle in dist/ which packages are in it, so it trusts nothing of what the build wrote beside them.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { licenceOf, licencesFile } from "./licences.mjs";

const problems = [];
const [{ files }] = JSON.parse(
  execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { encoding: "utf8", maxBuffer: 64 << 20 }),
);
const packed = new Set(files.map(({ path }) => path));
for (const file of ["LICENSE", licencesFile]) if (!packed.has(file)) problems.push(`${file} is not in the package`);

const maps = readdirSync("dist/bin").filter((name) => name.endsWith(".js.map"));
const sources = maps.flatMap((name) => JSON.parse(readFileSync(`dist/bin/${name}`, "utf8")).sources);
const folders = new Set(
  sources.flatMap((source) => /node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+(?=\/)/.exec(source) ?? []),
);
if (folders.size === 0) problems.push("no package was found in dist/bin; run npm run build");

const text = problems.length === 0 ? readFileSync(licencesFile, "utf8") : "";
for (const folder of problems.length === 0 ? folders : []) {
  const { name, version, texts } = licenceOf(folder);
  if (!text.includes(`${name} ${version} `)) problems.push(`${licencesFile} does not name ${name} ${version}`);
  if (!texts.every((one) => text.includes(one))) problems.push(`${licencesFile} lacks the text of ${name} ${version}`);
}

for (const problem of problems) process.stderr.write(`licences: ${problem}\n`);
if (problems.length === 0)
  process.stdout.write(`licences: the texts of ${folders.size} bundled packages are in the package\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
