import type { RE2JS } from "re2js";
import { charge, chargeKey, type Meter } from "./limits.ts";
import {
  isInteger,
  compareValues,
  entryOf,
  keyOf,
  objectOf,
  sortedEntries,
  sortedMembers,
  isKind,
  type RegoEntry,
  type RegoValue,
} from "./values.ts";

/** The rules of one name. */
export interface Group {
  /** `data.a.b`. */
  readonly path: string;
  readonly arity: number | undefined;
  /** The value of the rules; functions have none. */
  readonly evaluate: (state: State) => RegoValue | undefined;
  readonly call: (args: readonly RegoValue[], state: State) => RegoValue | undefined;
}

/** The tree of rules under `data`. */
export interface Branching {
  readonly children: Map<string, Branching>;
  group: Group | undefined;
}

/** Values that `with` overlays on `data`, by path. */
export interface Overlay {
  readonly value: RegoValue | undefined;
  readonly children: ReadonlyMap<string, Overlay>;
}

/** A path under `data` that has rules at it or below it. */
interface Place {
  readonly kind: "place";
  readonly rules: Branching | undefined;
  readonly base: RegoValue | undefined;
  readonly overlay: Overlay | undefined;
}

/** A value, or a place that may evaluate to one. */
export type Cursor = RegoValue | Place;

/** The document `data`. */
export function dataCursor(rules: Branching, state: State): Cursor {
  return valueOrPlace({ kind: "place", rules, base: state.data, overlay: state.overlay }, state) ?? null;
}

function isPlace(cursor: Cursor): cursor is Place {
  return typeof cursor === "object" && cursor !== null && cursor.kind === "place";
}

/** The value of a place that has its own, else the place. */
function valueOrPlace(place: Place, state: State): Cursor | undefined {
  const { rules, base, overlay } = place;
  if (overlay !== undefined) return overlay.value === undefined ? place : overlay.value;
  if (rules === undefined) return isKind(base, "object") ? place : base;
  if (rules.group === undefined) return place;
  if (rules.group.arity !== undefined) return undefined;
  const value = rules.group.evaluate(state);
  return value === undefined ? base : value;
}

/** The place or value under a key; undefined where there is none. */
export function enter(cursor: Cursor, key: RegoValue, state: State): Cursor | undefined {
  charge(state.meter, 1);
  chargeKey(state.meter, key);
  if (!isPlace(cursor)) return memberOf(cursor, key);
  const base = cursor.base === undefined ? undefined : baseMember(cursor.base, key);
  if (typeof key !== "string") return base;
  const rules = cursor.rules?.children.get(key);
  const overlay = cursor.overlay?.children.get(key);
  return valueOrPlace({ kind: "place", rules, base, overlay }, state);
}

/** A number finds a member of a document by its text. */
function baseMember(base: RegoValue, key: RegoValue): RegoValue | undefined {
  const found = memberOf(base, key);
  return found === undefined && typeof key === "number" && isKind(base, "object") ? memberOf(base, String(key)) : found;
}

/** The value under a key of a value. */
export function memberOf(value: RegoValue, key: RegoValue): RegoValue | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  switch (value.kind) {
    case "array":
      return typeof key === "number" && isInteger(key) && key >= 0 ? value.items[key] : undefined;
    case "object":
      return entryOf(value, key);
    case "set":
      return value.members.get(keyOf(key));
  }
}

/** The members of a place or value, in order. */
export function* entriesOf(cursor: Cursor, state: State): Generator<readonly [RegoValue, Cursor]> {
  if (!isPlace(cursor)) return yield* entriesOfValue(cursor);
  const { rules, overlay, base = null } = cursor;
  if (rules === undefined && overlay === undefined) return yield* entriesOfValue(base);
  for (const key of [...keysOf(cursor)].sort(compareValues)) {
    const inner = enter(cursor, key, state);
    if (inner !== undefined) yield [key, inner];
  }
}

function keysOf({ rules, overlay, base = null }: Place): Set<RegoValue> {
  const keys = new Set<RegoValue>([...(rules?.children.keys() ?? []), ...(overlay?.children.keys() ?? [])]);
  for (const [key] of entriesOfValue(base)) keys.add(key);
  return keys;
}

/** The keys and members of a composite, in order. */
export function* entriesOfValue(value: RegoValue): Generator<readonly [RegoValue, RegoValue]> {
  if (typeof value !== "object" || value === null) return;
  if (value.kind === "array") yield* value.items.entries();
  else if (value.kind === "object") yield* sortedEntries(value);
  else for (const member of sortedMembers(value)) yield [member, member];
}

/** The value of a place: an object of all members below. */
export function valueAt(cursor: Cursor | undefined, state: State): RegoValue | undefined {
  if (cursor === undefined || !isPlace(cursor)) return cursor;
  if (cursor.base !== undefined && cursor.rules === undefined && cursor.overlay === undefined) return cursor.base;
  const entries: RegoEntry[] = [];
  for (const [key, inner] of entriesOf(cursor, state)) {
    charge(state.meter, 1);
    const value = valueAt(inner, state);
    if (value !== undefined) entries.push([key, withBase(cursor, key, value)]);
  }
  return objectOf(entries);
}

/** Where a rule and a document have the same path, the parent shows the document, and of objects the members of both. */
function withBase({ base, overlay, rules }: Place, key: RegoValue, value: RegoValue): RegoValue {
  if (base === undefined || typeof key !== "string" || rules?.children.get(key)?.group === undefined) return value;
  const below = overlay?.children.has(key) === true ? undefined : memberOf(base, key);
  return below === undefined ? value : mergeDocuments(below, value);
}

function mergeDocuments(first: RegoValue, second: RegoValue): RegoValue {
  if (!isKind(first, "object") || !isKind(second, "object")) return first;
  const entries = new Map(second.entries);
  for (const [key, [name, value]] of first.entries) {
    const other = second.entries.get(key)?.[1];
    entries.set(key, [name, other === undefined ? value : mergeDocuments(value, other)]);
  }
  return objectOf(entries.values());
}

/** What replaces a function: a value, or another function. */
export type Mock = { readonly value: RegoValue } | { readonly call: Callee };

/** Calls a function with its arguments; undefined where it has no value for them. */
export type Callee = (args: readonly RegoValue[], state: State) => RegoValue | undefined;

/** The state of an evaluation. A `with` creates another one. */
export interface State {
  readonly meter: Meter;
  readonly input: RegoValue | undefined;
  /** The documents of the policy. */
  readonly data: RegoValue;
  /** The overlay on `data`. */
  readonly overlay: Overlay | undefined;
  readonly mocks: ReadonlyMap<string, Mock> | undefined;
  /** Documents of rules that were evaluated; `pending` during the evaluation. */
  readonly cache: Map<Group, { readonly value: RegoValue | undefined } | "pending">;
  /** The time of the evaluation in nanoseconds. */
  readonly nowNs: bigint;
  /** Whether a failing built-in function ends the evaluation; else it has no value. */
  readonly isStrict: boolean;
  readonly patterns: Map<string, RE2JS>;
}

/** The variables of a rule during its evaluation. */
export interface Frame {
  readonly slots: (RegoValue | undefined)[];
  state: State;
}

/** A compiled term; undefined where it has no value. */
export type Det = (frame: Frame) => RegoValue | undefined;

/** Runs goals and calls `then` for each solution; true ends the search. */
export type Run = (frame: Frame, then: () => boolean) => boolean;

/** Whether a value matches; may bind variables. */
export type Match = (frame: Frame, value: RegoValue) => boolean;
