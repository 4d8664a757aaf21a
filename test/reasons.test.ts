import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { logReasons, reasons } from "../src/apimachinery/reasons.ts";

const page = readFileSync("docs/errors.md", "utf8");
const [, controllers = "", logLines = ""] = page.split(/^## Reasons of (?:controllers|log lines)$/m);
const table = join("src", "core", "reasons.ts");
const all = Object.keys(reasons);
const ofLines = Object.keys(logReasons);

const files = ["src", "test"].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => ({ path: join(folder, file), text: readFileSync(join(folder, file), "utf8") })),
);

/** The reasons in the first column of the table of a section. */
function documentedIn(section: string): readonly string[] {
  return section
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, reason = ""]) => reason));
}

/** The reasons that these files name as texts or keys, comments aside. */
function namedIn(texts: readonly string[]): ReadonlySet<string> {
  const code = texts.map((text) => text.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, "")).join("\n");
  return new Set(all.filter((reason) => new RegExp(`["'\`]${reason}["'\`]|^\\s*${reason}: `, "m").test(code)));
}

/** What only a test imports that runs controllers and looks at what they report; peers are left out, as they may be skipped. */
const running = /from "[./a-z]*(?:controller-bench|kits\/hub|access-stage|cluster-stage|attacked-hub|reports)\.ts"/;
/** Here reasons are what a made-up controller is told to report. */
const madeUp = join("src", "controllers", "runner.test.ts");
const madeUpReasons: readonly string[] = ["ReconcileRetried", "ReconcileFailed"];

describe("each reason of the table", () => {
  test("is in docs/errors.md, once, and no other is", () => {
    const documented = documentedIn(controllers);
    expect(documented).toHaveLength(new Set(documented).size);
    expect(new Set(documented)).toEqual(new Set(all));
  });

  test("is made of CamelCase words", () => {
    for (const reason of all) expect(reason).toMatch(/^([A-Z][a-z]+)+$/);
  });

  test("is given by product code", () => {
    const product = files.filter(({ path }) => path.startsWith("src") && !path.endsWith(".test.ts") && path !== table);
    expect(product.length).toBeGreaterThan(500);
    const named = namedIn(product.map(({ text }) => text));
    expect(all.filter((reason) => !named.has(reason))).toEqual([]);
  });

  test("is looked for by name where controllers run, and not only where it is given to something or listed", () => {
    const behavioural = files.filter(
      ({ path, text }) =>
        path.endsWith(".test.ts") && !path.startsWith(join("test", "peers")) && path !== madeUp && running.test(text),
    );
    expect(behavioural.length).toBeGreaterThan(50);
    const named = new Set([...namedIn(behavioural.map(({ text }) => text)), ...madeUpReasons]);
    expect(all.filter((reason) => !named.has(reason))).toEqual([]);
  });
});

/** Those that no test looks for by name yet; one that gets its test leaves this list. */
const unnamed: readonly string[] = [
  "ConfigurationWarning",
  "AuditFailed",
  "CompactionFailed",
  "CustomResourceNotServed",
  "RecordWriteFailed",
  "ServiceWriteFailed",
  "AnswerAbandoned",
  "LeaderElectionStarted",
  "PolicyUndefined",
  "ReviewDecided",
  "ReviewFailed",
  "AccessRequested",
  "RotationCommandRun",
];

describe("each reason of a log line", () => {
  test("is in docs/errors.md, once, and no other is", () => {
    const documented = documentedIn(logLines);
    expect(documented).toHaveLength(new Set(documented).size);
    expect(new Set(documented)).toEqual(new Set(ofLines));
  });

  test("is made of CamelCase words, and is none of a controller", () => {
    for (const reason of ofLines) expect(reason).toMatch(/^([A-Z][a-z]+)+$/);
    expect(ofLines.filter((reason) => reason in reasons)).toEqual([]);
  });

  test("is given by product code, which makes lines of the log in one place", () => {
    const product = files.filter(({ path }) => path.startsWith("src") && !path.endsWith(".test.ts") && path !== table);
    const text = product.map((file) => file.text).join("\n");
    expect(ofLines.filter((reason) => !text.includes(`"${reason}"`))).toEqual([]);
    const made = product.filter((file) => /\blevel: "(?:debug|info|warn|error)", message/.test(file.text));
    expect(made.map(({ path }) => path)).toEqual([]);
  });

  test("is looked for by name in a test, as a value or as text of a line", () => {
    const tests = files.filter(({ path }) => path.endsWith(".test.ts") && path !== join("test", "reasons.test.ts"));
    const text = tests.map((file) => file.text).join("\n");
    expect(
      ofLines.filter((reason) => !new RegExp(`"${reason}"|reason=${reason}\\b|[\`^]${reason}: `).test(text)),
    ).toEqual(unnamed);
  });
});
