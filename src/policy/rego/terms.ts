import { isDocument, type RefTerm, type Term } from "./ast.ts";
import { within, type Bound } from "./bound.ts";
import {
  dataCursor,
  enter,
  valueAt,
  type Branching,
  type Cursor,
  type Det,
  type Frame,
  type Match,
} from "./documents.ts";
import { charge, occupy } from "./limits.ts";
import { isBound, partsOf, unified, varsOf } from "./safety.ts";
import { arrayOf, isEqual, objectOf, setOf, sizeOf, isKind, type RegoEntry, type RegoValue } from "./values.ts";

/** The state of the compilation of one rule. */
export interface Unit {
  /** The slot of a variable. */
  readonly slotOf: (name: string) => number;
  readonly rules: Branching;
}

const nothing: Det = () => undefined;

/** The value of a term whose variables are bound. */
export function termValue(term: Term, unit: Unit): Det {
  switch (term.kind) {
    case "scalar": {
      const { value } = term;
      return () => value;
    }
    case "var": {
      const slot = unit.slotOf(term.name);
      return ({ slots }) => slots[slot];
    }
    case "ref":
      return refValue(term, unit);
    case "array":
    case "set":
      return listValue(term, unit);
    case "object":
      return objectValue(term.pairs, unit);
    case "call":
    case "comprehension":
      return nothing;
  }
}

function listValue(term: Extract<Term, { readonly kind: "array" | "set" }>, unit: Unit): Det {
  const items = term.items.map((item) => termValue(item, unit));
  const make = term.kind === "array" ? arrayOf : setOf;
  return (frame) => {
    const values: RegoValue[] = [];
    for (const item of items) {
      const value = item(frame);
      if (value === undefined) return undefined;
      values.push(value);
    }
    return built(make(values), frame);
  };
}

function objectValue(pairs: readonly (readonly [Term, Term])[], unit: Unit): Det {
  const members = pairs.map(([key, value]) => [termValue(key, unit), termValue(value, unit)] as const);
  return (frame) => {
    const entries: RegoEntry[] = [];
    for (const [key, value] of members) {
      const entry = [key(frame), value(frame)] as const;
      if (entry[0] === undefined || entry[1] === undefined) return undefined;
      entries.push([entry[0], entry[1]]);
    }
    return built(objectOf(entries), frame);
  };
}

/** The value, charged. */
export function built<T extends RegoValue>(value: T, { state }: Frame): T {
  occupy(state.meter, sizeOf(value));
  return value;
}

/** Where a reference begins. */
export function headCursor(head: Term, unit: Unit): (frame: Frame) => Cursor | undefined {
  if (head.kind !== "var" || !isDocument(head.name)) return termValue(head, unit);
  if (head.name === "input") return ({ state }) => state.input;
  const { rules } = unit;
  return ({ state }) => dataCursor(rules, state);
}

function refValue(ref: RefTerm, unit: Unit): Det {
  const head = headCursor(ref.head, unit);
  const path = ref.path.map((part) => termValue(part, unit));
  return (frame) => {
    let cursor = head(frame);
    for (const part of path) {
      if (cursor === undefined) return undefined;
      const key = part(frame);
      if (key === undefined) return undefined;
      cursor = enter(cursor, key, frame.state);
    }
    return valueAt(cursor, frame.state);
  };
}

/** Whether two values are equal, charged by the size of the smaller. */
export function paidEqual(a: RegoValue, b: RegoValue, { state }: Frame): boolean {
  if (typeof a === "object" && typeof b === "object") charge(state.meter, Math.min(sizeOf(a), sizeOf(b)));
  return isEqual(a, b);
}

/** Matches values with a pattern and binds its unbound variables. */
export function termMatch(term: Term, unit: Unit, bound: Bound): Match {
  if (term.kind === "var" && !bound.has(term.name) && !isDocument(term.name)) {
    const slot = unit.slotOf(term.name);
    return ({ slots }, value) => {
      slots[slot] = value;
      return true;
    };
  }
  if (!isBound(term, bound)) {
    if (term.kind === "array") return arrayMatch(term.items, unit, bound);
    if (term.kind === "object") return objectMatch(term.pairs, unit, bound);
  }
  const wanted = termValue(term, unit);
  return (frame, value) => {
    const other = wanted(frame);
    return other !== undefined && paidEqual(other, value, frame);
  };
}

function arrayMatch(items: readonly Term[], unit: Unit, bound: Bound): Match {
  let known = within(bound);
  const matches = items.map((item) => {
    const match = termMatch(item, unit, known);
    known = known.and(varsOf(item));
    return match;
  });
  return (frame, value) =>
    isKind(value, "array") &&
    value.items.length === matches.length &&
    matches.every((match, at) => match(frame, value.items[at] ?? null));
}

function objectMatch(pairs: readonly (readonly [Term, Term])[], unit: Unit, bound: Bound): Match {
  let known = within(bound);
  const members = pairs.map(([key, item]) => {
    const match = termMatch(item, unit, known);
    known = known.and(varsOf(item));
    return [termValue(key, unit), match] as const;
  });
  return (frame, value) =>
    isKind(value, "object") &&
    value.entries.size === members.length &&
    members.every(([key, match]) => {
      const name = key(frame);
      const member = name === undefined ? undefined : enter(value, name, frame.state);
      return member !== undefined && match(frame, member as RegoValue);
    });
}

/** Unifies two terms of which enough is bound. */
export function termUnify(
  left: Term,
  right: Term,
  { unit, bound }: { readonly unit: Unit; readonly bound: Bound },
): (frame: Frame) => boolean {
  const [source, pattern] = isBound(left, bound) ? [left, right] : [right, left];
  if (isBound(source, bound)) {
    const value = termValue(source, unit);
    const match = termMatch(pattern, unit, bound);
    return (frame) => {
      const given = value(frame);
      return given !== undefined && match(frame, given);
    };
  }
  const tests: ((frame: Frame) => boolean)[] = [];
  let known = within(bound);
  let pending = partsOf(left, right);
  if (pending === undefined) return () => false;
  while (pending.length > 0) {
    const stuck: (readonly [Term, Term])[] = [];
    for (const [a, b] of pending) {
      const gained = unified(a, b, known);
      if (gained === undefined) stuck.push([a, b]);
      else tests.push(termUnify(a, b, { unit, bound: known }));
      known = known.and(gained ?? []);
    }
    if (stuck.length === pending.length) return () => false;
    pending = stuck;
  }
  return (frame) => tests.every((test) => test(frame));
}
