// node .ci/skips.mjs RESULTS SKIPS [--part] [NEED...]: judges what a run of the tests left out. RESULTS is vitest's report as JSON, SKIPS what
// test/kits/report-skip.ts wrote, and each NEED something that this machine cannot have. Prints how many tests were skipped and why.
// Exits 1 if a test was skipped that could have run here or that no one explains, or if a test that docs/ocm-compatibility.md names
// neither passed nor was skipped for such a need. With --part, the run was of some test files, and the page is judged by these alone.
import { readFileSync } from "node:fs";
import { relative } from "node:path";

const [resultsFile, skipsFile, ...others] = process.argv.slice(2);
const isPart = others.includes("--part");
const absent = others.filter((word) => word !== "--part");

/** Each test that was collected: its file from the root of the project, its own title, and those of the groups around it. */
const tests = JSON.parse(readFileSync(resultsFile, "utf8")).testResults.flatMap(({ name, assertionResults }) =>
  assertionResults.map(({ title, ancestorTitles, status }) => ({
    file: relative(process.cwd(), name),
    titles: [...ancestorTitles, title],
    hasPassed: status === "passed",
    wasSkipped: status !== "passed" && status !== "failed",
  })),
);
const reported = readFileSync(skipsFile, "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line));

const skipped = tests.filter(({ wasSkipped }) => wasSkipped);
const reasonsOf = ({ titles }) => reported.filter(({ title }) => titles.includes(title));
const name = ({ file, titles }) => `${file}: ${titles.join(" > ")}`;

const page = readFileSync("docs/ocm-compatibility.md", "utf8");
const rows = [...page.matchAll(/\| `((?:test|src)\/[^`]+)`: (.+?) \|$/gm)].map(([, file, title]) => ({ file, title }));
/** The tests of a row; `%s` in a title stands for one case each. */
function ofRow({ file, title }) {
  const pattern = title.split("%s").map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  const isNamed = new RegExp(`^${pattern.join(".+")}$`, "s");
  return tests.filter((test) => test.file === file && isNamed.test(test.titles.at(-1)));
}
const isExplained = (test) => test.hasPassed || (test.wasSkipped && reasonsOf(test).length > 0);

const problems = [
  ...(tests.length === 0 ? ["the report names no tests"] : []),
  ...(rows.length === 0 ? ["docs/ocm-compatibility.md names no tests"] : []),
  ...reported
    .filter(({ need }) => !absent.includes(need))
    .map(({ title, why, need }) => `skipped although this machine can have what it needs (${need}): ${title}: ${why}`),
  ...skipped.filter((test) => reasonsOf(test).length === 0).map((test) => `skipped without a reason: ${name(test)}`),
  ...rows
    .filter(({ file }) => !isPart || tests.some((test) => test.file === file))
    .filter((row) => ofRow(row).length === 0 || !ofRow(row).every(isExplained))
    .map(({ file, title }) => `docs/ocm-compatibility.md names a test that did not pass: ${file}: ${title}`),
];

const lines = reported.map(({ title, why }) => `  ${title}: ${why}`);
process.stdout.write(`skipped: ${skipped.length} of ${tests.length}\n`);
for (const line of [...new Set(lines)].toSorted((a, b) => a.localeCompare(b))) process.stdout.write(`${line}\n`);
for (const problem of new Set(problems)) process.stderr.write(`ci: ${problem}\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
