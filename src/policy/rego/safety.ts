import type { Term } from "./ast.ts";
import { isDocument, type Goal } from "./goals.ts";
import type { RegoPlace } from "./rego-error.ts";
import { keyOf } from "./values.ts";

/** Variables that have a value, by name. */
export type Bound = ReadonlySet<string>;

/** Variables of a term. */
export function varsOf(term: Term, into: Set<string> = new Set()): Set<string> {
  switch (term.kind) {
    case "var":
      if (!isDocument(term.name)) into.add(term.name);
      break;
    case "ref":
      varsOf(term.head, into);
      for (const part of term.path) varsOf(part, into);
      break;
    case "array":
    case "set":
      for (const item of term.items) varsOf(item, into);
      break;
    case "object":
      for (const [key, value] of term.pairs) {
        varsOf(key, into);
        varsOf(value, into);
      }
      break;
    case "scalar":
    case "call":
    case "comprehension":
      break;
  }
  return into;
}

/** Whether every variable of the term has a value. */
export function isBound(term: Term, bound: Bound): boolean {
  for (const name of varsOf(term)) if (!bound.has(name)) return false;
  return true;
}

/** Whether the term can be matched with a value: what is not a variable, item or member must be bound. */
export function isPattern(term: Term, bound: Bound): boolean {
  switch (term.kind) {
    case "array":
      return term.items.every((item) => isPattern(item, bound));
    case "object":
      return term.pairs.every(([key, value]) => isBound(key, bound) && isPattern(value, bound));
    case "scalar":
    case "var":
      return true;
    case "set":
    case "ref":
    case "call":
    case "comprehension":
      return isBound(term, bound);
  }
}

/** The bound variables after two terms were unified; undefined when too few are bound for that. */
export function unified(left: Term, right: Term, bound: Bound): Bound | undefined {
  if (isBound(left, bound)) return isPattern(right, bound) ? withVars(bound, right) : undefined;
  if (isBound(right, bound)) return isPattern(left, bound) ? withVars(bound, left) : undefined;
  let pending = partsOf(left, right);
  let known = bound;
  while (pending !== undefined && pending.length > 0) {
    const stuck: (readonly [Term, Term])[] = [];
    for (const [a, b] of pending) {
      const after = unified(a, b, known);
      known = after ?? known;
      if (after === undefined) stuck.push([a, b]);
    }
    pending = stuck.length === pending.length ? undefined : stuck;
  }
  return pending === undefined ? undefined : known;
}

/** The terms that are to be unified for two arrays or objects to be; undefined when these cannot be taken apart. */
export function partsOf(left: Term, right: Term): readonly (readonly [Term, Term])[] | undefined {
  if (left.kind === "array" && right.kind === "array")
    return left.items.length === right.items.length
      ? left.items.map((item, at) => [item, right.items[at] ?? item] as const)
      : undefined;
  if (left.kind !== "object" || right.kind !== "object" || left.pairs.length !== right.pairs.length) return undefined;
  const others = new Map(
    right.pairs.map(([key, value]) => [key.kind === "scalar" ? keyOf(key.value) : undefined, value]),
  );
  const parts: (readonly [Term, Term])[] = [];
  for (const [key, value] of left.pairs) {
    const other = key.kind === "scalar" ? others.get(keyOf(key.value)) : undefined;
    if (other === undefined) return undefined;
    parts.push([value, other]);
  }
  return parts;
}

function withVars(bound: Bound, ...terms: readonly (Term | undefined)[]): Bound {
  const after = new Set(bound);
  for (const term of terms) if (term !== undefined) varsOf(term, after);
  return after;
}

/** Goals in an order in which each has what it needs, or those that never do. */
export interface Ordered {
  readonly goals: readonly Goal[];
  readonly bound: Bound;
  readonly stuck: readonly Goal[];
}

/** Puts goals into an order that works, and changes it no more than that needs. `outer` are variables of the bodies around. */
export function order(goals: readonly Goal[], bound: Bound, outer: Bound): Ordered {
  const around = new Set(outer);
  for (const goal of goals) visibleVars(goal, around);
  const ordered: Goal[] = [];
  let known = bound;
  let pending = goals;
  while (pending.length > 0) {
    const stuck = pending.filter((goal) => {
      const after = boundAfter(goal, known, around);
      if (after === undefined) return true;
      known = after;
      ordered.push(goal);
      return false;
    });
    if (stuck.length === pending.length) return { goals: ordered, bound: known, stuck };
    pending = stuck;
  }
  return { goals: ordered, bound: known, stuck: [] };
}

/** Variables that a goal has outside of closures: they are those of the body. */
function visibleVars(goal: Goal, into: Set<string>): void {
  for (const term of termsOf(goal)) varsOf(term, into);
  if ((goal.kind === "not" && !goal.isExplicit) || goal.kind === "with")
    for (const inner of goal.body) visibleVars(inner, into);
}

function termsOf(goal: Goal): readonly Term[] {
  const given = (term: Term | undefined): readonly Term[] => (term === undefined ? [] : [term]);
  switch (goal.kind) {
    case "unify":
      return [goal.left, goal.right];
    case "truth":
      return [goal.term];
    case "scan":
      return [goal.ref, goal.out];
    case "call":
      return [...goal.args, ...given(goal.out)];
    case "closure":
      return [goal.out];
    case "someIn":
      return [...given(goal.key), goal.value, goal.domain];
    case "every":
      return [goal.domain];
    case "not":
      return [];
    case "with":
      return goal.replaced.map(({ value }) => value);
  }
}

/** All variables of goals, those of closures too. */
function allVars(goals: readonly Goal[], into: Set<string>): Set<string> {
  for (const goal of goals) {
    for (const term of termsOf(goal)) varsOf(term, into);
    if ("body" in goal) allVars(goal.body, into);
    if (goal.kind === "closure") {
      varsOf(goal.item, into);
      if (goal.key !== undefined) varsOf(goal.key, into);
    }
  }
  return into;
}

/** The variables that are bound after a goal; undefined when it lacks some of those that it needs. */
function boundAfter(goal: Goal, bound: Bound, around: Bound): Bound | undefined {
  switch (goal.kind) {
    case "unify":
      return unified(goal.left, goal.right, bound);
    case "truth":
      return boundIf(isBound(goal.term, bound), bound);
    case "scan":
      return afterScan(goal, bound);
    case "call":
      return afterCall(goal, bound);
    case "someIn":
      return afterSomeIn(goal, bound);
    case "closure":
      return boundIf(isPattern(goal.out, bound) && closureRuns(goal, bound, around), withVars(bound, goal.out));
    case "every":
      return boundIf(isBound(goal.domain, bound) && closureRuns(goal, bound, around), bound);
    case "not": {
      const isReady = goal.isExplicit || namedVars(goal.body).every((name) => bound.has(name));
      return boundIf(isReady && closureRuns(goal, bound, around), bound);
    }
    case "with":
      return afterWith(goal, bound, around);
  }
}

function boundIf(condition: boolean, bound: Bound): Bound | undefined {
  return condition ? bound : undefined;
}

type GoalOf<K extends Goal["kind"]> = Extract<Goal, { readonly kind: K }>;

function afterCall(goal: GoalOf<"call">, bound: Bound): Bound | undefined {
  if (!goal.args.every((arg) => isBound(arg, bound))) return afterOutput(goal, bound);
  return goal.out === undefined || isPattern(goal.out, bound) ? withVars(bound, goal.out) : undefined;
}

function afterSomeIn({ key, value, domain }: GoalOf<"someIn">, bound: Bound): Bound | undefined {
  if (!isBound(domain, bound)) return undefined;
  return [key, value].every((term) => term === undefined || isPattern(term, bound))
    ? withVars(bound, key, value)
    : undefined;
}

function afterWith(goal: GoalOf<"with">, bound: Bound, around: Bound): Bound | undefined {
  if (!goal.replaced.every(({ value }) => isBound(value, bound))) return undefined;
  const { stuck, bound: after } = order(goal.body, bound, around);
  return stuck.length === 0 ? after : undefined;
}

function afterScan({ ref, out }: Extract<Goal, { readonly kind: "scan" }>, bound: Bound): Bound | undefined {
  if (!isBound(ref.head, bound)) return undefined;
  let known = bound;
  for (const part of ref.path) {
    if (!isPattern(part, known)) return undefined;
    known = withVars(known, part);
  }
  return isPattern(out, known) ? withVars(known, out) : undefined;
}

/** A call may name its output as a last argument. */
function afterOutput({ args, out }: Extract<Goal, { readonly kind: "call" }>, bound: Bound): Bound | undefined {
  const last = args.at(-1);
  if (out !== undefined || last === undefined || !isPattern(last, bound)) return undefined;
  return args.slice(0, -1).every((arg) => isBound(arg, bound)) ? withVars(bound, last) : undefined;
}

/** Variables that the source names, outside of closures. */
function namedVars(goals: readonly Goal[]): readonly string[] {
  const names = new Set<string>();
  for (const goal of goals) visibleVars(goal, names);
  return [...names].filter((name) => !name.startsWith("%"));
}

function closureRuns(
  goal: Extract<Goal, { readonly kind: "closure" | "every" | "not" }>,
  bound: Bound,
  around: Bound,
): boolean {
  const inside = goal.kind === "every" ? withVars(bound, goal.key, goal.value) : bound;
  if (goal.kind === "closure" && goal.isTemplate && !namedVars(goal.body).every((name) => bound.has(name)))
    return false;
  if (goal.kind !== "not" || goal.isExplicit) {
    for (const name of allVars([goal], new Set()))
      if (around.has(name) && !inside.has(name) && !isOut(goal, name)) return false;
  }
  const { stuck, bound: after } = order(goal.body, inside, around);
  if (stuck.length > 0) return false;
  return goal.kind !== "closure" || [goal.item, goal.key].every((term) => term === undefined || isBound(term, after));
}

function isOut(goal: Goal, name: string): boolean {
  return goal.kind === "closure" && varsOf(goal.out).has(name);
}

/** A variable without a value, and where it stands. */
export interface Unsafe {
  readonly name: string;
  readonly at: RegoPlace;
}

/** Why goals are stuck: the variables that nothing gives a value, as the source names them. */
export function unsafeVars(stuck: readonly Goal[], bound: Bound): readonly Unsafe[] {
  const found = new Map<string, Unsafe>();
  for (const goal of stuck) {
    const names = [...allVars([goal], new Set())].filter((name) => !bound.has(name));
    const named = names.filter((name) => !/^[%$]/.test(name));
    for (const name of named.length > 0 ? named : names) {
      const shown = /^[%$]/.test(name) ? "_" : name.replace(/@\d+$/, "");
      if (!found.has(shown)) found.set(shown, { name: shown, at: goal.at });
    }
  }
  return [...found.values()];
}
