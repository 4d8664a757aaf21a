import { innerTerms, isDocument, type Term } from "./ast.ts";
import { within, type Bound } from "./bound.ts";
import { bodyTermsOf, termsOf, type Goal } from "./goals.ts";
import type { RegoPlace } from "./rego-error.ts";
import { keyOf } from "./values.ts";

/** Variables of a term. */
export function varsOf(term: Term, into: Set<string> = new Set()): Set<string> {
  if (term.kind !== "var") for (const inner of innerTerms(term)) varsOf(inner, into);
  else if (!isDocument(term.name)) into.add(term.name);
  return into;
}

/** Whether every variable of the term has a value. */
export function isBound(term: Term, bound: Bound): boolean {
  for (const name of varsOf(term)) if (!bound.has(name)) return false;
  return true;
}

/** Whether the term can be matched with a value: anything but a variable, item or member must be bound. */
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

/** Variables that get a value; some may have one already. */
export type Gained = Iterable<string>;

/** The variables that unifying two terms binds; undefined when too little is bound for that. */
export function unified(left: Term, right: Term, bound: Bound): Gained | undefined {
  if (isBound(left, bound)) return isPattern(right, bound) ? varsOf(right) : undefined;
  if (isBound(right, bound)) return isPattern(left, bound) ? varsOf(left) : undefined;
  const parts = partsOf(left, right);
  return parts !== undefined && canUnify(parts, bound) ? varsOf(right, varsOf(left)) : undefined;
}

function canUnify(parts: readonly (readonly [Term, Term])[], bound: Bound): boolean {
  let pending = parts;
  let known = within(bound);
  while (pending.length > 0) {
    const stuck: (readonly [Term, Term])[] = [];
    for (const [a, b] of pending) {
      const gained = unified(a, b, known);
      if (gained === undefined) stuck.push([a, b]);
      else known = known.and(gained);
    }
    if (stuck.length === pending.length) return false;
    pending = stuck;
  }
  return true;
}

/** The pairs of terms to unify for two arrays or objects; undefined when these cannot be split. */
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

function varsOfAll(terms: readonly (Term | undefined)[]): Set<string> {
  const found = new Set<string>();
  for (const term of terms) if (term !== undefined) varsOf(term, found);
  return found;
}

/** Goals in an order that satisfies the needs of each, and those that have none. */
export interface Ordered {
  readonly goals: readonly Goal[];
  readonly bound: Bound;
  /** The variables that the goals bind. */
  readonly gained: readonly string[];
  readonly stuck: readonly Goal[];
}

/**
 * Puts goals into an order that works, with as few changes as possible: passes over the remaining goals repeat,
 * and each goal whose needs are met is appended. `outer` are variables of the enclosing bodies.
 */
export function order(goals: readonly Goal[], bound: Bound, outer: Bound): Ordered {
  const visible = new Set<string>();
  for (const goal of goals) visibleVars(goal, visible);
  const around = within(outer).and(visible);
  const ordered: Goal[] = [];
  const gained: string[] = [];
  const turns = turnsOf(goals);
  let known = within(bound);
  for (let at = turns.next(); at !== undefined; at = turns.next()) {
    const goal = goals[at];
    if (goal === undefined) continue;
    const after = boundAfter(goal, known, around);
    if (after === undefined) {
      turns.wait(at, known);
      continue;
    }
    const names = [...after].filter((name) => !known.has(name));
    known = known.and(names);
    for (const name of names) gained.push(name);
    ordered.push(goal);
    turns.place(at, names);
  }
  return { goals: ordered, bound: known, gained, stuck: turns.left() };
}

/** The queue of goals, by their positions. */
interface Turns {
  readonly next: () => number | undefined;
  /** The goal lacks something: it is retried, in order, when a variable in it is bound. */
  readonly wait: (at: number, known: Bound) => void;
  readonly place: (at: number, gained: readonly string[]) => void;
  readonly left: () => readonly Goal[];
}

/** Passes in the order of the goals, without the goals whose variables are unchanged since their last try. */
function turnsOf(goals: readonly Goal[]): Turns {
  const state: ("queued" | "waiting" | "placed")[] = goals.map(() => "queued");
  const waiting = new Map<string, number[]>();
  const isKnownToWait = new Set<number>();
  // The next one is the last.
  let round = goals.map((_goal, at) => goals.length - 1 - at);
  let later: number[] = [];

  function wake(one: number, from: number): void {
    if (state[one] !== "waiting") return;
    state[one] = "queued";
    if (one < from) later.push(one);
    else insert(round, one);
  }
  return {
    next: () => {
      if (round.length === 0) [round, later] = [later.sort((one, other) => other - one), []];
      return round.pop();
    },
    wait: (at, known) => {
      state[at] = "waiting";
      const goal = goals[at];
      if (goal === undefined || isKnownToWait.has(at)) return;
      isKnownToWait.add(at);
      for (const name of allVars([goal], new Set())) {
        if (known.has(name)) continue;
        const others = waiting.get(name);
        if (others === undefined) waiting.set(name, [at]);
        else others.push(at);
      }
    },
    place: (at, gained) => {
      state[at] = "placed";
      for (const name of gained) {
        for (const one of waiting.get(name) ?? []) wake(one, at);
        waiting.delete(name);
      }
    },
    left: () => goals.filter((_goal, at) => state[at] !== "placed"),
  };
}

/** Inserts a number into an ascending list. */
function insert(list: number[], one: number): void {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle] ?? 0) > one) low = middle + 1;
    else high = middle;
  }
  list.splice(low, 0, one);
}

/** Variables that a goal has outside of closures: they are those of the body. */
function visibleVars(goal: Goal, into: Set<string>): void {
  for (const term of termsOf(goal)) varsOf(term, into);
  if ((goal.kind === "not" && !goal.isExplicit) || goal.kind === "with")
    for (const inner of goal.body) visibleVars(inner, into);
}

/** All variables of goals, those of closures too. */
function allVars(goals: readonly Goal[], into: Set<string>): Set<string> {
  for (const goal of goals) {
    for (const term of [...termsOf(goal), ...bodyTermsOf(goal)]) varsOf(term, into);
    if ("body" in goal) allVars(goal.body, into);
  }
  return into;
}

type GoalOf<K extends Goal["kind"]> = Extract<Goal, { readonly kind: K }>;
type After<K extends Goal["kind"]> = (goal: GoalOf<K>, bound: Bound, around: Bound) => Gained | undefined;

const after: { readonly [K in Goal["kind"]]: After<K> } = {
  unify: ({ left, right }, bound) => unified(left, right, bound),
  truth: ({ term }, bound) => gainedIf(isBound(term, bound)),
  scan: afterScan,
  call: afterCall,
  someIn: afterSomeIn,
  closure: (goal, bound, around) => gainedIf(isPattern(goal.out, bound) && closureRuns(goal, bound, around), goal.out),
  every: (goal, bound, around) => gainedIf(isBound(goal.domain, bound) && closureRuns(goal, bound, around)),
  not: (goal, bound, around) => {
    const isReady = goal.isExplicit || namedVars(goal.body).every((name) => bound.has(name));
    return gainedIf(isReady && closureRuns(goal, bound, around));
  },
  with: afterWith,
};

/** The variables that a goal binds; undefined when it lacks some of its needs. */
function boundAfter(goal: Goal, bound: Bound, around: Bound): Gained | undefined {
  return after[goal.kind](goal as never, bound, around);
}

function gainedIf(condition: boolean, ...terms: readonly (Term | undefined)[]): Gained | undefined {
  return condition ? varsOfAll(terms) : undefined;
}

function afterCall(goal: GoalOf<"call">, bound: Bound): Gained | undefined {
  if (!goal.args.every((arg) => isBound(arg, bound))) return afterOutput(goal, bound);
  return gainedIf(goal.out === undefined || isPattern(goal.out, bound), goal.out);
}

function afterSomeIn({ key, value, domain }: GoalOf<"someIn">, bound: Bound): Gained | undefined {
  if (!isBound(domain, bound)) return undefined;
  return gainedIf(
    [key, value].every((term) => term === undefined || isPattern(term, bound)),
    key,
    value,
  );
}

function afterWith(goal: GoalOf<"with">, bound: Bound, around: Bound): Gained | undefined {
  if (!goal.replaced.every(({ value }) => isBound(value, bound))) return undefined;
  const { stuck, gained } = order(goal.body, bound, around);
  return stuck.length === 0 ? gained : undefined;
}

function afterScan({ ref, out }: GoalOf<"scan">, bound: Bound): Gained | undefined {
  if (!isBound(ref.head, bound)) return undefined;
  let known = within(bound);
  for (const part of ref.path) {
    if (!isPattern(part, known)) return undefined;
    known = known.and(varsOf(part));
  }
  return gainedIf(isPattern(out, known), ...ref.path, out);
}

/** A call may name its output as a last argument. */
function afterOutput({ args, out }: GoalOf<"call">, bound: Bound): Gained | undefined {
  const last = args.at(-1);
  if (out !== undefined || last === undefined || !isPattern(last, bound)) return undefined;
  return gainedIf(
    args.slice(0, -1).every((arg) => isBound(arg, bound)),
    last,
  );
}

/** Variables that the source names, outside of closures. */
function namedVars(goals: readonly Goal[]): readonly string[] {
  const names = new Set<string>();
  for (const goal of goals) visibleVars(goal, names);
  return [...names].filter((name) => !name.startsWith("%"));
}

function closureRuns(goal: GoalOf<"closure" | "every" | "not">, bound: Bound, around: Bound): boolean {
  const inside = goal.kind === "every" ? within(bound).and(varsOfAll(bodyTermsOf(goal))) : bound;
  if (goal.kind === "closure" && goal.isTemplate && !namedVars(goal.body).every((name) => bound.has(name)))
    return false;
  const lacks = (name: string): boolean => around.has(name) && !inside.has(name) && !isOut(goal, name);
  if ((goal.kind !== "not" || goal.isExplicit) && [...allVars([goal], new Set())].some(lacks)) return false;
  const { stuck, bound: known } = order(goal.body, inside, around);
  if (stuck.length > 0) return false;
  return goal.kind !== "closure" || bodyTermsOf(goal).every((term) => isBound(term, known));
}

function isOut(goal: Goal, name: string): boolean {
  return goal.kind === "closure" && varsOf(goal.out).has(name);
}

/** A variable without a value, and its position. */
export interface Unsafe {
  readonly name: string;
  readonly at: RegoPlace;
}

/** Why goals are stuck: the unbound variables, as the source names them. */
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
