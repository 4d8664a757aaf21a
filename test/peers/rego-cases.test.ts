import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { opaSources } from "../kits/peers-opa.ts";
import { runRegoCases, type CaseReport } from "../kits/rego-cases.ts";
import { reportSkip } from "../kits/report-skip.ts";

const page = resolve(import.meta.dirname, "../../docs/rego.md");
const sources = await opaSources();
if ("missing" in sources) reportSkip("OPA's published cases", sources.missing, "go");

const decimals = "numbers as written";

/** Cases that ask for what docs/rego.md says is not there. */
const differences: ReadonlyMap<string, string> = new Map([
  ["comparisonexpr/decimals order like the numbers they denote", decimals],
  ["strings/sprintf: float too big", decimals],
]);

function count(reports: readonly CaseReport[], kind: CaseReport["verdict"]["kind"]): number {
  return reports.filter(({ verdict }) => verdict.kind === kind).length;
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): readonly (readonly [string, readonly T[]])[] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item)) ?? [];
    groups.set(keyOf(item), [...group, item]);
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
}

function row(name: string, v1: readonly CaseReport[], v0: readonly CaseReport[]): string {
  const counts = [v1, v0].flatMap((reports) => [
    count(reports, "passed"),
    count(reports, "failed"),
    count(reports, "outOfScope"),
  ]);
  return `| ${name} | ${counts.join(" | ")} |`;
}

function tables(v1: readonly CaseReport[], v0: readonly CaseReport[]): string {
  const inFolder = (reports: readonly CaseReport[], folder: string): readonly CaseReport[] =>
    reports.filter((each) => each.folder === folder);
  const folders = grouped([...v1, ...v0], ({ folder }) => folder).map(([folder]) =>
    row(`\`${folder}\``, inFolder(v1, folder), inFolder(v0, folder)),
  );
  const reasons = grouped(
    [...v1, ...v0].flatMap(({ verdict }) => (verdict.kind === "outOfScope" ? [verdict.reason] : [])),
    (reason) => reason,
  ).map(([reason, all]) => `| ${reason === decimals ? reason : `\`${reason}\``} | ${all.length} |`);
  return [
    "| folder | v1 passed | failed | out of scope | v0 passed | failed | out of scope |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    row("**total**", v1, v0),
    ...folders,
    "",
    "Out of scope, by what the cases use:",
    "",
    "| function, or difference | cases |",
    "| --- | --- |",
    ...reasons,
  ].join("\n");
}

describe.skipIf("missing" in sources)("OPA's published cases", () => {
  test("come out as docs/rego.md says: none fails whose functions are there", { timeout: 120_000 }, async () => {
    const { path } = sources as { readonly path: string };
    const [v1, v0] = [runRegoCases(path, "v1", differences), runRegoCases(path, "v0", differences)];
    const failed = [...v1, ...v0].filter(({ verdict }) => verdict.kind === "failed");
    expect(failed).toEqual([]);
    // Fewer would mean that the cases were not found.
    expect(v1.length + v0.length).toBeGreaterThan(4000);
    const [before, after] = readFileSync(page, "utf8").split(/<!-- cases:begin -->[^]*<!-- cases:end -->/);
    const text = `${before}<!-- cases:begin -->\n\n${tables(v1, v0)}\n\n<!-- cases:end -->${after}`;
    await expect(text).toMatchFileSnapshot(page);
  });
});
