import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { builtins } from "../../src/policy/rego/builtins.ts";
import { compileRego, type RegoPolicy, type RegoSource } from "../../src/policy/rego/compile.ts";
import { toJsonText } from "../../src/policy/rego/json.ts";
import { RegoError } from "../../src/policy/rego/rego-error.ts";

/** A case as OPA publishes it. */
interface RegoCase {
  readonly note: string;
  readonly query: string;
  readonly modules?: readonly string[];
  readonly data?: unknown;
  readonly input?: unknown;
  readonly input_term?: string;
  readonly want_defined?: boolean;
  readonly want_result?: readonly Readonly<Record<string, unknown>>[] | null;
  readonly want_error_code?: string;
  readonly want_error?: string;
  readonly sort_bindings?: boolean;
  readonly strict_error?: boolean;
}

/** How a case went. */
export type CaseVerdict =
  | { readonly kind: "passed" }
  | { readonly kind: "failed"; readonly why: string }
  /** The built-in function that is not there, or the name of a difference that is documented. */
  | { readonly kind: "outOfScope"; readonly reason: string };

/** One case, where it is from, and how it went. */
export interface CaseReport {
  readonly folder: string;
  readonly note: string;
  readonly verdict: CaseVerdict;
}

const limits = { steps: 20_000_000, room: 80_000_000, timeMs: 20_000 };
const now = (): number => Date.parse("2026-01-01T00:00:00Z");

/**
 * Runs the published cases of one version of the language, `v0` or `v1`, from the sources of OPA. `differences` are notes of cases that ask
 * for something that is documented not to be there, with its name.
 */
export function runRegoCases(
  sources: string,
  version: "v0" | "v1",
  differences: ReadonlyMap<string, string>,
): readonly CaseReport[] {
  const missing = missingBuiltins(sources);
  const root = join(sources, "v1/test/cases/testdata", version);
  return readdirSync(root).flatMap((folder) =>
    casesIn(join(root, folder)).map((each): CaseReport => {
      const known = differences.get(each.note) ?? missing(each);
      const verdict: CaseVerdict = known === undefined ? verdictOf(each) : { kind: "outOfScope", reason: known };
      return { folder, note: each.note, verdict };
    }),
  );
}

function casesIn(folder: string): readonly RegoCase[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".yaml"))
    .flatMap((file) => {
      const read: unknown = parse(readFileSync(join(folder, file), "utf8"), { maxAliasCount: -1 });
      return (read as { readonly cases?: readonly RegoCase[] } | null)?.cases ?? [];
    });
}

/** Tells the function of OPA that a case uses and that is not there. */
function missingBuiltins(sources: string): (each: RegoCase) => string | undefined {
  const read: unknown = JSON.parse(readFileSync(join(sources, "capabilities.json"), "utf8"));
  const offered = new Set(builtins.map(({ name }) => name));
  const all = (read as { readonly builtins: readonly { readonly name: string }[] }).builtins;
  // The last is there in OPA's own tests only.
  const names = [...all.map(({ name }) => name), "test.sleep"].filter((name) => !offered.has(name));
  const patterns = names.map((name) => {
    const text = name.replaceAll(".", "\\.");
    return { name, pattern: new RegExp(`(?<![\\w.])${text}\\s*\\(|\\b(?:as|with)\\s+${text}(?![\\w.])`) };
  });
  return ({ query, modules }) => {
    const text = [query, ...(modules ?? [])].join("\n");
    return patterns.find(({ pattern }) => pattern.test(text))?.name;
  };
}

const plainQuery = /^(data(?:\.[A-Za-z_]\w*)*)\s*=\s*(?!input\b)([a-z]\w*)$/;

interface Answer {
  /** The bindings, in order; undefined where there is none. */
  readonly bindings: readonly string[];
  readonly error: string | undefined;
}

function verdictOf(each: RegoCase): CaseVerdict {
  try {
    return compare(each, answerTo(each));
  } catch (error) {
    if (error instanceof RegoError) return { kind: "failed", why: error.message };
    throw error;
  }
}

/** The case with its input as JSON, where the term is that; a set is none. */
function withPlainInput(each: RegoCase): RegoCase {
  const { input_term, ...rest } = each;
  if (input_term === undefined) return each;
  try {
    return { ...rest, input: JSON.parse(input_term) };
  } catch {
    return each;
  }
}

function answerTo(given: RegoCase): Answer {
  const each = withPlainInput(given);
  const modules = (each.modules ?? []).map((text, at): RegoSource => ({ file: `test-${at}.rego`, text }));
  const plain = each.input_term === undefined ? plainQuery.exec(each.query) : null;
  const [, path = "", name = ""] = plain ?? [];
  if (plain !== null) {
    const { value, error } = ask(compileRego(modules), path, each);
    return { bindings: value === undefined ? [] : [stable({ [name]: value })], error };
  }
  const text = queryModule(each);
  const { value, error } = ask(compileRego([...modules, text]), "data.query_of_case.bindings", each);
  return { bindings: Array.isArray(value) ? value.map(stable) : [], error };
}

/** The query as a rule whose members are its bindings. */
function queryModule({ query, want_result, input_term }: RegoCase): RegoSource {
  const names = Object.keys(want_result?.[0] ?? {});
  const pairs = names.map((name) => `${JSON.stringify(name)}: ${name}`).join(", ");
  const given = input_term === undefined ? "" : ` with input as ${input_term}`;
  const text = `package query_of_case\n\nbindings contains {${pairs}} if {\n\t${query.trim()}${given}\n}\n`;
  return { file: "query.rego", text };
}

interface Asked {
  readonly value: unknown;
  readonly error: string | undefined;
}

function ask(policy: RegoPolicy, path: string, { input, data, strict_error }: RegoCase): Asked {
  const isStrict = strict_error === true;
  const outcome = policy.prepare(path)({ input, data: data ?? {}, limits, now, isStrict });
  if ("error" in outcome) return { value: undefined, error: outcome.error.message };
  const value: unknown = outcome.value === undefined ? undefined : JSON.parse(toJsonText(outcome.value));
  return { value, error: undefined };
}

function compare(each: RegoCase, { bindings, error }: Answer): CaseVerdict {
  const failed = (why: string): CaseVerdict => ({ kind: "failed", why });
  const { want_error: text, want_error_code: code, want_result: wanted, want_defined: isDefined } = each;
  if (text !== undefined || code !== undefined) {
    if (error === undefined) return failed(`no error, but ${bindings.join(", ")}`);
    // OPA tells no columns.
    const told = error.replace(/^([^:]+:\d+):\d+: /, "$1: ");
    const isSame = (part: string | undefined): boolean => part === undefined || told.includes(part);
    return isSame(text) && isSame(code) ? { kind: "passed" } : failed(error);
  }
  if (error !== undefined) return failed(error);
  if (wanted === undefined)
    return bindings.length > 0 === (isDefined ?? true) ? { kind: "passed" } : failed("defined, or not");
  const order = each.sort_bindings === true ? sortedWithin : stable;
  const shown = new Set((wanted ?? []).map(order));
  const given = new Set(bindings.map((binding) => order(JSON.parse(binding))));
  const isSame = shown.size === given.size && [...shown].every((binding) => given.has(binding));
  return isSame ? { kind: "passed" } : failed(`${[...given].join(", ")} in place of ${[...shown].join(", ")}`);
}

/** Text that is the same for the same JSON. */
function stable(json: unknown): string {
  return JSON.stringify(arranged(json, (items) => items));
}

/** The same, with the members of lists in any order. */
function sortedWithin(json: unknown): string {
  return JSON.stringify(arranged(json, (items) => [...items].sort(byText)));
}

function byText(a: unknown, b: unknown): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}

function arranged(json: unknown, items: (list: readonly unknown[]) => readonly unknown[]): unknown {
  if (Array.isArray(json)) return items(json.map((item: unknown) => arranged(item, items)));
  if (typeof json !== "object" || json === null) return json;
  const entries = Object.entries(json).map(([key, value]) => [key, arranged(value, items)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
