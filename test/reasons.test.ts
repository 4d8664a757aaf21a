import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { reasons } from "../src/core/reasons.ts";

const page = readFileSync("docs/errors.md", "utf8");
const [, controllers = ""] = page.split("## Reasons of controllers");
const table = join("src", "core", "reasons.ts");
const all = Object.keys(reasons);

const files = ["src", "test"].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => ({ path: join(folder, file), text: readFileSync(join(folder, file), "utf8") })),
);

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
    const documented = controllers
      .split("\n")
      .filter((line) => line.startsWith("| `"))
      .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, reason]) => reason));
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
