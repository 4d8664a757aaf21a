import type { Term } from "./ast.ts";
import { inEither, within, type Bound } from "./bound.ts";
import type { CalleeOf } from "./callee.ts";
import {
  enter,
  entriesOf,
  entriesOfValue,
  valueAt,
  type Cursor,
  type Frame,
  type Match,
  type Run,
} from "./documents.ts";
import type { CallGoal, ClosureGoal, EveryGoal, Goal } from "./goals.ts";
import { charge, chargeKey } from "./limits.ts";
import { RegoError } from "./rego-error.ts";
import { isBound, order, unsafeVars, varsOf } from "./safety.ts";
import { built, headCursor, termMatch, termUnify, termValue, type Unit } from "./terms.ts";
import { arrayOf, isEqual, keyOf, objectOf, setOf, type MapKey, type RegoEntry, type RegoValue } from "./values.ts";
import { replacing } from "./with.ts";

/** The context in which goals are compiled. */
export interface Context {
  readonly unit: Unit;
  readonly callee: CalleeOf;
  /** Variables of the enclosing bodies. */
  readonly outer: Bound;
}

/** Goals as one step. */
export interface CompiledBody {
  readonly run: Run;
}

type Next = (frame: Frame, then: () => boolean) => boolean;
type Link = (next: Next) => Run;

/** Orders goals and compiles them. @throws RegoError `rego_unsafe_var_error` for a variable that nothing binds */
export function compileBody(goals: readonly Goal[], bound: Bound, context: Context): CompiledBody {
  const ordered = order(goals, bound, context.outer);
  if (ordered.stuck.length > 0) throw unsafe(ordered.stuck, ordered.bound);
  const outer = inEither(context.outer, ordered.bound);
  const inner = { ...context, outer };
  const links: Link[] = [];
  let known = within(bound);
  for (const goal of ordered.goals) {
    links.push(compileGoal(goal, known, inner));
    known = known.and(order([goal], known, outer).gained);
  }
  const end: Next = (_frame, then) => then();
  return { run: links.reduceRight<Next>((next, link) => link(next), end) };
}

function unsafe(stuck: readonly Goal[], bound: Bound): RegoError {
  const templates = stuck.filter((goal) => goal.kind === "closure" && goal.isTemplate);
  const isTemplate = templates.length > 0;
  const found = unsafeVars(isTemplate ? templates : stuck, bound);
  const text = found.map(({ name }) => `var ${name} is ${isTemplate ? "undeclared" : "unsafe"}`).join("; ");
  const code = isTemplate ? "rego_compile_error" : "rego_unsafe_var_error";
  return new RegoError(code, text === "" ? "var _ is unsafe" : text, found[0]?.at ?? stuck[0]?.at);
}

/** A goal that has one solution at most. */
function once(test: (frame: Frame) => boolean): Link {
  return (next) => (frame, then) => {
    charge(frame.state.meter, 1);
    return test(frame) && next(frame, then);
  };
}

function compileGoal(goal: Goal, bound: Bound, context: Context): Link {
  const { unit } = context;
  switch (goal.kind) {
    case "unify":
      return once(termUnify(goal.left, goal.right, { unit, bound }));
    case "truth": {
      const value = termValue(goal.term, unit);
      return once((frame) => isTrue(value(frame)));
    }
    case "scan":
      return scan(goal, bound, unit);
    case "call":
      return call(goal, bound, context);
    case "closure":
      return closure(goal, bound, context);
    case "someIn":
      return someIn(goal, bound, unit);
    case "every":
      return every(goal, bound, context);
    case "not": {
      const { run } = compileBody(goal.body, bound, context);
      return once((frame) => !run(frame, () => true));
    }
    case "with": {
      const { run } = compileBody(goal.body, bound, context);
      const replace = replacing(goal.replaced, context);
      return (next) => (frame, then) => {
        charge(frame.state.meter, 1);
        const before = frame.state;
        const inside = replace(frame);
        if (inside === undefined) return false;
        frame.state = inside;
        const ended = run(frame, () => {
          frame.state = before;
          const stop = next(frame, then);
          frame.state = inside;
          return stop;
        });
        frame.state = before;
        return ended;
      };
    }
  }
}

function isTrue(value: RegoValue | undefined): boolean {
  return value !== undefined && value !== false;
}

function scan(goal: Extract<Goal, { readonly kind: "scan" }>, bound: Bound, unit: Unit): Link {
  const head = headCursor(goal.ref.head, unit);
  let known = within(bound);
  const steps = goal.ref.path.map((part) => {
    const step = isBound(part, known)
      ? { key: termValue(part, unit), match: undefined }
      : { key: undefined, match: termMatch(part, unit, known) };
    known = known.and(varsOf(part));
    return step;
  });
  const out = termMatch(goal.out, unit, known);
  return (next) => (frame, then) => {
    const walk = (cursor: Cursor | undefined, at: number): boolean => {
      charge(frame.state.meter, 1);
      if (cursor === undefined) return false;
      const step = steps[at];
      if (step === undefined) {
        const value = valueAt(cursor, frame.state);
        return value !== undefined && out(frame, value) && next(frame, then);
      }
      if (step.key !== undefined) {
        const key = step.key(frame);
        return key !== undefined && walk(enter(cursor, key, frame.state), at + 1);
      }
      for (const [key, inner] of entriesOf(cursor, frame.state)) {
        charge(frame.state.meter, 1);
        if (step.match(frame, key) && walk(inner, at + 1)) return true;
      }
      return false;
    };
    return walk(head(frame), 0);
  };
}

function someIn(goal: Extract<Goal, { readonly kind: "someIn" }>, bound: Bound, unit: Unit): Link {
  const domain = termValue(goal.domain, unit);
  const key = goal.key === undefined ? undefined : termMatch(goal.key, unit, bound);
  const known = goal.key === undefined ? bound : within(bound).and(varsOf(goal.key));
  const value = termMatch(goal.value, unit, known);
  return (next) => (frame, then) => {
    const given = domain(frame);
    if (given === undefined) return false;
    for (const [name, member] of entriesOfValue(given)) {
      charge(frame.state.meter, 1);
      if ((key?.(frame, name) ?? true) && value(frame, member) && next(frame, then)) return true;
    }
    return false;
  };
}

function every(goal: EveryGoal, bound: Bound, context: Context): Link {
  const { unit } = context;
  const domain = termValue(goal.domain, unit);
  const key = goal.key === undefined ? undefined : termMatch(goal.key, unit, bound);
  const value = termMatch(goal.value, unit, bound);
  const inside = within(bound).and(
    [goal.key, goal.value].flatMap((term) => (term === undefined ? [] : [...varsOf(term)])),
  );
  const { run } = compileBody(goal.body, inside, context);
  return once((frame) => {
    const given = domain(frame);
    if (given === undefined || given === null || typeof given !== "object") return false;
    for (const [name, member] of entriesOfValue(given)) {
      charge(frame.state.meter, 1);
      key?.(frame, name);
      value(frame, member);
      if (!run(frame, () => true)) return false;
    }
    return true;
  });
}

function closure(goal: ClosureGoal, bound: Bound, context: Context): Link {
  const { unit } = context;
  const { run } = compileBody(goal.body, bound, context);
  const item = termValue(goal.item, unit);
  const key = goal.key === undefined ? undefined : termValue(goal.key, unit);
  const match = termMatch(goal.out, unit, bound);
  return once((frame) => {
    const values: RegoValue[] = [];
    const entries = new Map<MapKey, RegoEntry>();
    run(frame, () => {
      charge(frame.state.meter, 1);
      const value = item(frame);
      const name = key?.(frame);
      if (value === undefined || (key !== undefined && name === undefined)) return false;
      if (name !== undefined) {
        chargeKey(frame.state.meter, name);
        addEntry(entries, [name, value]);
      } else values.push(value);
      return false;
    });
    const result =
      goal.makes === "array" ? arrayOf(values) : goal.makes === "set" ? setOf(values) : objectOf(entries.values());
    return match(frame, built(result, frame));
  });
}

function addEntry(entries: Map<MapKey, RegoEntry>, entry: RegoEntry): void {
  const key = keyOf(entry[0]);
  const before = entries.get(key);
  if (before !== undefined && !isEqual(before[1], entry[1]))
    throw new RegoError("eval_conflict_error", "object keys must be unique");
  entries.set(key, entry);
}

function call(goal: CallGoal, bound: Bound, context: Context): Link {
  const { unit } = context;
  const { arity, each, one } = context.callee(goal);
  const hasOutput = goal.out === undefined && goal.args.length === arity + 1;
  const inputs = hasOutput ? goal.args.slice(0, -1) : goal.args;
  const out: Term | undefined = hasOutput ? goal.args.at(-1) : goal.out;
  const args = inputs.map((arg) => termValue(arg, unit));
  const match: Match = out === undefined ? (_frame, value) => value !== false : termMatch(out, unit, bound);
  const given = (frame: Frame): readonly RegoValue[] | undefined => {
    const values: RegoValue[] = [];
    for (const arg of args) {
      const value = arg(frame);
      if (value === undefined) return undefined;
      values.push(value);
    }
    return values;
  };
  if (each !== undefined) {
    return (next) => (frame, then) => {
      const values = given(frame);
      if (values === undefined) return false;
      for (const value of each(values, frame.state)) {
        charge(frame.state.meter, 1);
        if (match(frame, value) && next(frame, then)) return true;
      }
      return false;
    };
  }
  return once((frame) => {
    const values = given(frame);
    const value = values === undefined ? undefined : one(values, frame.state);
    return value !== undefined && match(frame, value);
  });
}
