import { leadingNames, type Import, type Module, type Rule, type Term } from "./ast.ts";
import { compileRule, type CompiledSource, type RuleSource } from "./compile-rule.ts";
import { dataCursor, enter, valueAt, type Branching, type Cursor, type Group, type State } from "./documents.ts";
import { ruleGroup, type GroupKind, type GroupRules } from "./group.ts";
import { fromJson } from "./json.ts";
import { newMeter, type RegoLimits } from "./limits.ts";
import { parseModule, parseQuery } from "./parse-module.ts";
import { checkRecursion } from "./recursion.ts";
import { RegoError } from "./rego-error.ts";
import { objectOf, type RegoValue } from "./values.ts";

/** A source file of a policy. */
export interface RegoSource {
  readonly file: string;
  readonly text: string;
}

/** The input of one evaluation. */
export interface RegoQuestion {
  /** JSON as it was parsed; without it `input` is undefined. */
  readonly input?: unknown;
  /** Documents under `data` besides those of rules. */
  readonly data?: unknown;
  readonly limits: RegoLimits;
  /** A clock in milliseconds: for the time limit, and `time.now_ns`. */
  readonly now: () => number;
  /** Whether a failing built-in function ends the evaluation; else it has no value, as in OPA. */
  readonly isStrict?: boolean;
}

/** The outcome of an evaluation; `undefined` is no value. */
export type RegoOutcome = { readonly value: RegoValue | undefined } | { readonly error: RegoError };

/** A compiled policy, which can be queried any number of times. */
export interface RegoPolicy {
  /** Queries a path under `data`: `data.k8s.allow`. Throws only RegoError, for an invalid query. */
  readonly prepare: (query: string) => (question: RegoQuestion) => RegoOutcome;
  /** The full paths of the rules that are no functions, in order. */
  readonly rules: readonly string[];
}

/**
 * Reads, checks and compiles modules.
 * @throws RegoError for the first error, with its position
 */
export function compileRego(sources: readonly RegoSource[]): RegoPolicy {
  try {
    return compileModules(sources);
  } catch (error) {
    if (error instanceof RangeError) throw new RegoError("size", "the policy is nested deeper than it may be");
    throw error;
  }
}

function compileModules(sources: readonly RegoSource[]): RegoPolicy {
  const modules = sources.map(({ file, text }) => parseModule(text, file));
  const rules: Branching = { children: new Map(), group: undefined };
  for (const module of modules) branchAt(rules, module.package);
  const groups = collectGroups(modules);
  const compiled = new Map<string, GroupRules>();
  for (const { path, kind, arity } of groups.values()) {
    const name = path.join(".");
    branchAt(rules, path).group = ruleGroup({
      path: `data.${name}`,
      kind,
      arity,
      rules: () => compiled.get(name) ?? { rules: [], fallback: undefined },
    });
  }
  refuseOverlaps(groups);
  const namesOf = namesOfPackages(modules);
  const dependencies = new Map<Group, readonly CompiledSource[]>();
  for (const [name, { path, sources: members }] of groups) {
    const found = members.map((source) => [source, compileRule(source, namesOf(source.module), rules)] as const);
    const fallback = found.find(([{ rule }]) => rule.isDefault)?.[1].compiled;
    const others = found.filter(([{ rule }]) => !rule.isDefault).map(([, each]) => each.compiled);
    compiled.set(name, { rules: others, fallback });
    const { group } = branchAt(rules, path);
    if (group !== undefined)
      dependencies.set(
        group,
        found.map(([, each]) => each),
      );
  }
  checkRecursion(dependencies, rules);
  const names = [...groups.values()]
    .filter(({ arity }) => arity === undefined)
    .map(({ path }) => `data.${path.join(".")}`);
  return { prepare: (query) => prepare(query, rules), rules: names.sort() };
}

/** Below the name of a rule, only the rule's own head may define members. */
function refuseOverlaps(groups: ReadonlyMap<string, GroupSources>): void {
  const byPath = new Map([...groups.values()].map((each) => [each.path.join("\0"), each]));
  for (const { path } of groups.values()) {
    for (let length = 1; length < path.length; length++) {
      const above = byPath.get(path.slice(0, length).join("\0"));
      const text = `rule data.${above?.path.join(".")} conflicts with: data.${path.join(".")}`;
      if (above !== undefined) throw new RegoError("rego_type_error", text, above.sources[0]?.rule.at);
    }
  }
}

function branchAt(rules: Branching, path: readonly string[]): Branching {
  let at = rules;
  for (const part of path) {
    const next = at.children.get(part) ?? { children: new Map(), group: undefined };
    at.children.set(part, next);
    at = next;
  }
  return at;
}

function namesOfPackages(modules: readonly Module[]): (module: Module) => {
  readonly package: readonly string[];
  readonly rules: ReadonlySet<string>;
  readonly imports: ReadonlyMap<string, Import>;
} {
  const byPackage = new Map<string, Set<string>>();
  for (const module of modules) {
    const key = module.package.join("\0");
    const names = byPackage.get(key) ?? new Set();
    byPackage.set(key, names);
    for (const { path } of module.rules) {
      const [first] = path;
      if (first?.kind === "scalar" && typeof first.value === "string") names.add(first.value);
    }
  }
  return (module) => ({
    package: module.package,
    rules: byPackage.get(module.package.join("\0")) ?? new Set(),
    imports: new Map(module.imports.map((each) => [each.alias, each])),
  });
}

interface GroupSources {
  readonly path: readonly string[];
  readonly kind: GroupKind;
  readonly arity: number | undefined;
  readonly sources: readonly RuleSource[];
}

/** Rules by their common name. Where one has variables in its head, rules below its name are members of it. */
function collectGroups(modules: readonly Module[]): ReadonlyMap<string, GroupSources> {
  const partial = new Set<string>();
  for (const module of modules) {
    for (const { path } of module.rules) {
      const prefix = leadingNames(path);
      if (prefix.length < path.length) partial.add([...module.package, ...prefix].join("."));
    }
  }
  const groups = new Map<string, GroupSources>();
  for (const module of modules) {
    for (const rule of module.rules) {
      const prefix = leadingNames(rule.path);
      const cut = prefix.findIndex((_part, at) =>
        partial.has([...module.package, ...prefix.slice(0, at + 1)].join(".")),
      );
      const length = cut === -1 ? prefix.length : cut + 1;
      const path = [...module.package, ...prefix.slice(0, length)];
      const keys = rule.path.slice(length);
      const source: RuleSource = { module, rule, keys };
      const name = path.join(".");
      const before = groups.get(name);
      const added = grouped(path, source, before);
      groups.set(name, added);
    }
  }
  return groups;
}

function refuseDocument({ path, at }: Rule): void {
  const [root = ""] = leadingNames(path);
  if (root === "input" || root === "data")
    throw new RegoError("rego_compile_error", `rules must not shadow ${root} (use a different rule name)`, at);
}

function kindOf({ rule, keys }: RuleSource): GroupKind {
  if (rule.args !== undefined) return "complete";
  if (keys.length > 0) return "object";
  return rule.member === undefined ? "complete" : "set";
}

function grouped(path: readonly string[], source: RuleSource, before: GroupSources | undefined): GroupSources {
  const { rule } = source;
  refuseDocument(rule);
  const added: GroupSources = { path, kind: kindOf(source), arity: rule.args?.length, sources: [source] };
  if (before === undefined) return added;
  refuseConflict(rule, added, before);
  return { ...before, kind: added.kind === "object" ? "object" : before.kind, sources: [...before.sources, source] };
}

function refuseConflict(rule: Rule, added: GroupSources, before: GroupSources): void {
  const name = `data.${added.path.join(".")}`;
  const isFallback = rule.isDefault || before.sources.every((each) => each.rule.isDefault);
  const isMixed = before.kind !== added.kind && !(isFallback && [before.kind, added.kind].includes("object"));
  if (isMixed || before.arity !== added.arity)
    throw new RegoError("rego_type_error", `conflicting rules ${name} found`, rule.at);
  if (rule.isDefault && before.sources.some((each) => each.rule.isDefault))
    throw new RegoError("rego_type_error", `multiple default rules ${name} found`, rule.at);
}

function prepare(query: string, rules: Branching): (question: RegoQuestion) => RegoOutcome {
  const path = pathOf(parseQuery(query));
  let data: { readonly from: unknown; readonly value: RegoValue } = { from: undefined, value: objectOf([]) };
  return (question) => {
    try {
      if (question.data !== data.from && question.data !== undefined)
        data = { from: question.data, value: fromJson(question.data) };
      const state = newState(question, data.value);
      let cursor: Cursor | undefined = dataCursor(rules, state);
      for (const key of path) cursor = cursor === undefined ? undefined : enter(cursor, key, state);
      return { value: valueAt(cursor, state) };
    } catch (error) {
      if (error instanceof RegoError) return { error };
      if (error instanceof RangeError)
        return { error: new RegoError("eval_cancel_error", "a value is nested deeper than it may be") };
      throw error;
    }
  };
}

function pathOf(query: Term): readonly RegoValue[] {
  const problem = new RegoError("rego_parse_error", "a query is a place under data, such as data.k8s.allow");
  const { head, path } = query.kind === "ref" ? query : { head: query, path: [] };
  if (head.kind !== "var" || head.name !== "data") throw problem;
  return path.map((part) => {
    if (part.kind !== "scalar") throw problem;
    return part.value;
  });
}

function newState({ input, limits, now, isStrict }: RegoQuestion, data: RegoValue): State {
  return {
    meter: newMeter(limits, now),
    input: input === undefined ? undefined : fromJson(input),
    data,
    overlay: undefined,
    mocks: undefined,
    cache: new Map(),
    nowNs: BigInt(Math.trunc(now())) * 1_000_000n,
    isStrict: isStrict ?? false,
    patterns: new Map(),
  };
}
