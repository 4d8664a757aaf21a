import { isJsonArray, isJsonObject, type JsonObject } from "../json-value.ts";
import type { ArraySchema, Schema } from "../schema.ts";
import { endsStep, type Pace } from "../step-budget.ts";
import type { Steps } from "../steps.ts";
import { type PathElement, fieldElement } from "./path-element.ts";
import { elementsOfList, entrySchema, isEmptyValue, shapeOf } from "./shape.ts";
import { fieldsBelow, hasElement, isEmptySet, type FieldSet } from "./field-set.ts";

/**
 * The live object with the applied configuration merged into it; the merge removes nothing. List items keep the order of the live object,
 * applied items their order in the configuration. Source: structured-merge-diff typed.Merge.
 */
export function* mergeObjects(
  schema: Schema,
  { live, applied }: { readonly live: JsonObject; readonly applied: JsonObject },
  pace: Pace,
): Steps<JsonObject> {
  const merged = yield* mergeValues(schema, { live, applied, pace });
  return isJsonObject(merged) ? merged : {};
}

interface Pair<Value = unknown> {
  readonly live: Value;
  readonly applied: Value;
  /** Shared by all pairs of the two objects. */
  readonly pace: Pace;
}

function* mergeValues(schema: Schema, { live, applied, pace }: Pair): Steps<unknown> {
  if (endsStep(pace)) yield;
  const shape = shapeOf(schema, applied ?? live);
  if (shape === "leaf" || (isEmptyValue(live) && isEmptyValue(applied))) return applied === undefined ? live : applied;
  if (shape === "list" && schema.type === "array") {
    return yield* mergeLists(schema, { live: listOrNone(live), applied: listOrNone(applied), pace });
  }
  return yield* mergeMaps(schema, { live: objectOrNone(live), applied: objectOrNone(applied), pace });
}

function* mergeMaps(schema: Schema, { live, applied, pace }: Pair<JsonObject>): Steps<JsonObject> {
  const merged: [string, unknown][] = [];
  // Returns one of the two where it equals the result, which avoids a copy of perhaps thousands of keys.
  let [isLive, isApplied] = [true, true];
  for (const key of Object.keys(live)) {
    const theirs = Object.hasOwn(applied, key) ? applied[key] : undefined;
    const pair = { live: live[key], applied: theirs, pace };
    const value = theirs === undefined ? live[key] : yield* mergeValues(entrySchema(schema, key), pair);
    isLive &&= value === live[key];
    isApplied = false;
    merged.push([key, value]);
  }
  for (const key of Object.keys(applied)) {
    if (Object.hasOwn(live, key)) continue;
    const value = yield* mergeValues(entrySchema(schema, key), { live: undefined, applied: applied[key], pace });
    isLive = false;
    isApplied &&= value === applied[key];
    merged.push([key, value]);
  }
  if (isLive) return live;
  return isApplied ? applied : Object.fromEntries(merged);
}

function* mergeLists(
  schema: ArraySchema,
  { live, applied, pace }: Pair<readonly unknown[]>,
): Steps<readonly unknown[]> {
  const mine = yield* indexed(schema, live, pace);
  const theirs = yield* indexed(schema, applied, pace);
  const shared = theirs.elements.filter((element) => mine.items.has(element));
  const merged: unknown[] = [];
  const done = new Set<PathElement>();
  // Counted and not removed: shifting a list takes time proportional to its length.
  let [applying, taken] = [0, 0];
  const take = function* (element: PathElement): Steps<void> {
    done.add(element);
    applying += 1;
    const pair = { live: mine.items.get(element), applied: theirs.items.get(element), pace };
    merged.push(yield* mergeValues(schema.items, pair));
    if (shared[taken] === element) taken += 1;
  };
  for (const [index, own] of mine.elements.entries()) {
    if (endsStep(pace)) yield;
    if (!theirs.items.has(own)) {
      // Several items with the same path element stay unchanged.
      merged.push(live[index]);
      continue;
    }
    let next = theirs.elements[applying];
    while (next !== undefined && next !== own && !done.has(own) && shared[taken] === own) {
      yield* take(next);
      next = theirs.elements[applying];
    }
    if (next === own) yield* take(own);
  }
  for (const element of theirs.elements.slice(applying)) yield* take(element);
  return merged;
}

interface IndexedList {
  readonly elements: readonly PathElement[];
  /** Undefined for an element that occurs more than once: such items are replaced and not merged. */
  readonly items: ReadonlyMap<PathElement, unknown>;
}

function* indexed(schema: ArraySchema, list: readonly unknown[], pace: Pace): Steps<IndexedList> {
  const elements = yield* elementsOfList(schema, list, pace);
  const items = new Map<PathElement, unknown>();
  for (const [index, element] of elements.entries()) {
    if (endsStep(pace)) yield;
    items.set(element, items.has(element) ? undefined : list[index]);
  }
  return { elements, items };
}

function listOrNone(value: unknown): readonly unknown[] {
  return isJsonArray(value) ? value : [];
}

function objectOrNone(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The object without the given fields and items; containers that become empty are removed too. Source: structured-merge-diff typed.RemoveItems. */
export function* removeItems(schema: Schema, object: JsonObject, removed: Removed): Steps<JsonObject> {
  if (isEmptySet(removed.fields)) return object;
  const rest = yield* removeEntries(schema, object, removed);
  return rest ?? {};
}

interface Removed {
  readonly fields: FieldSet;
  readonly pace: Pace;
}

function* removeBelow(schema: Schema, value: unknown, removed: Removed): Steps<unknown> {
  const shape = shapeOf(schema, value);
  if (shape === "map" && isJsonObject(value)) return yield* removeEntries(schema, value, removed);
  if (shape === "list" && schema.type === "array" && isJsonArray(value)) {
    return yield* removeElements(schema, value, removed);
  }
  return shape === "leaf" && typeof value !== "object" ? value : undefined;
}

function* removeEntries(schema: Schema, object: JsonObject, removed: Removed): Steps<JsonObject | undefined> {
  const kept: [string, unknown][] = [];
  let isSame = true;
  for (const key of Object.keys(object)) {
    const value = object[key];
    if (endsStep(removed.pace)) yield;
    const place = { element: fieldElement(key), schemaOf: () => entrySchema(schema, key) };
    const rest = yield* restOf(value, removed, place);
    isSame &&= rest === value;
    if (rest !== undefined) kept.push([key, rest]);
  }
  if (kept.length === 0) return undefined;
  return isSame ? object : Object.fromEntries(kept);
}

function* removeElements(
  schema: ArraySchema,
  list: readonly unknown[],
  removed: Removed,
): Steps<readonly unknown[] | undefined> {
  const elements = yield* elementsOfList(schema, list, removed.pace);
  const kept: unknown[] = [];
  for (const [index, value] of list.entries()) {
    if (endsStep(removed.pace)) yield;
    const rest = yield* restOf(value, removed, { element: elements[index] ?? "", schemaOf: () => schema.items });
    if (rest !== undefined) kept.push(rest);
  }
  return kept.length === 0 ? undefined : kept;
}

/** The rest of one entry or item; undefined where it is removed. */
function* restOf(
  value: unknown,
  { fields, pace }: Removed,
  { element, schemaOf }: { readonly element: PathElement; readonly schemaOf: () => Schema },
): Steps<unknown> {
  if (hasElement(fields, element)) return undefined;
  const below = fieldsBelow(fields, element);
  return isEmptySet(below) ? value : yield* removeBelow(schemaOf(), value, { fields: below, pace });
}
