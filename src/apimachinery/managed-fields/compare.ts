import { jsonEqual } from "../equal.ts";
import { isJsonArray, isJsonObject, type JsonObject } from "../json-value.ts";
import { writesZero, type ArraySchema, type Schema } from "../schema.ts";
import { endsStep, type Pace } from "../step-budget.ts";
import type { Steps } from "../steps.ts";
import {
  addTo,
  isEmptySet,
  nodeOfLevel,
  noFields,
  recursiveDifference,
  type FieldSet,
  type Level,
} from "./field-set.ts";
import { fieldElement, type PathElement } from "./path-element.ts";
import { elementsOfList, entrySchema, isEmptyValue, namedField, shapeOf, type Shape } from "./shape.ts";

/** The differences between two objects; no field is in more than one of the sets. Source: structured-merge-diff typed.Comparison. */
export interface Comparison {
  readonly removed: FieldSet;
  readonly modified: FieldSet;
  readonly added: FieldSet;
}

/** Compares two objects of one schema, both decoded. Takes time proportional to the differences, and one pass over the rest. */
export function* compareObjects(
  schema: Schema,
  { before, after }: { readonly before: unknown; readonly after: unknown },
  pace: Pace,
): Steps<Comparison> {
  const { removed, modified, added } = yield* compareValues(schema, { before, after, pace });
  return { removed: removed ?? noFields, modified: modified ?? noFields, added: added ?? noFields };
}

/** The comparison without `ignored` fields and the fields below them. */
export function* ignoring({ removed, modified, added }: Comparison, ignored: FieldSet, pace: Pace): Steps<Comparison> {
  return {
    removed: yield* recursiveDifference(removed, ignored, pace),
    modified: yield* recursiveDifference(modified, ignored, pace),
    added: yield* recursiveDifference(added, ignored, pace),
  };
}

/** Whether nothing differs. */
export function isSame({ removed, modified, added }: Comparison): boolean {
  return isEmptySet(removed) && isEmptySet(modified) && isEmptySet(added);
}

/** The differences at one path and below it: the nodes of that path in the sets; undefined for none. */
interface Difference {
  readonly removed?: FieldSet | undefined;
  readonly modified?: FieldSet | undefined;
  readonly added?: FieldSet | undefined;
}

const none: Difference = {};
const removedItself: Difference = { removed: noFields };
const modifiedItself: Difference = { modified: noFields };
const addedItself: Difference = { added: noFields };

/** Undefined is absent, which null is not. */
interface Pair {
  readonly before: unknown;
  readonly after: unknown;
  /** Shared by all pairs of the two objects. */
  readonly pace: Pace;
}

function* compareValues(schema: Schema, pair: Pair): Steps<Difference> {
  const { before, after, pace } = pair;
  if (endsStep(pace)) yield;
  if (before === after) return none;
  const shape = schema.type === "any" ? deducedShape(pair) : shapeOf(schema, after);
  if (shape === "leaf" || bothEmpty(before, after)) return compareLeaf(pair);
  if (shape === "mixed") return yield* compareMaps(schema, pair, compareLeaf(pair));
  const itself = presence(pair);
  if (shape !== "list" || schema.type !== "array") return yield* compareMaps(schema, pair, itself);
  // Most lists do not change, which is cheaper to check than to index their items.
  return jsonEqual(before, after) ? none : yield* compareLists(schema, pair, itself);
}

/** `mixed` where one of the two is an object and the other is not. */
function deducedShape({ before, after }: Pair): Shape | "mixed" {
  if (isMapOrNothing(before) && isMapOrNothing(after)) return "map";
  return isJsonObject(before) || isJsonObject(after) ? "mixed" : "leaf";
}

function isMapOrNothing(value: unknown): boolean {
  return value === undefined || value === null || isJsonObject(value);
}

/** A difference between absent, null and an empty container is owned by the field itself. */
function bothEmpty(before: unknown, after: unknown): boolean {
  return isEmptyValue(before) && isEmptyValue(after);
}

function compareLeaf(pair: Pair): Difference {
  const itself = presence(pair);
  return itself !== none || jsonEqual(pair.before, pair.after) ? itself : modifiedItself;
}

/** Whether the path itself is added or removed. */
function presence({ before, after }: Pair): Difference {
  if (before === undefined) return addedItself;
  return after === undefined ? removedItself : none;
}

/** The differences one level down, by set. */
interface Levels {
  removed: Level | undefined;
  modified: Level | undefined;
  added: Level | undefined;
}

function put(levels: Levels, element: PathElement, { removed, modified, added }: Difference): void {
  if (removed !== undefined) addTo((levels.removed ??= { elements: [], nodes: [] }), element, removed);
  if (modified !== undefined) addTo((levels.modified ??= { elements: [], nodes: [] }), element, modified);
  if (added !== undefined) addTo((levels.added ??= { elements: [], nodes: [] }), element, added);
}

/** The differences below a path together with those at the path itself. */
function* joined({ removed, modified, added }: Levels, itself: Difference, pace: Pace): Steps<Difference> {
  if (removed === undefined && modified === undefined && added === undefined) return itself;
  return {
    removed: removed === undefined ? itself.removed : yield* nodeOfLevel(itself.removed !== undefined, removed, pace),
    modified:
      modified === undefined ? itself.modified : yield* nodeOfLevel(itself.modified !== undefined, modified, pace),
    added: added === undefined ? itself.added : yield* nodeOfLevel(itself.added !== undefined, added, pace),
  };
}

function* compareMaps(schema: Schema, { before, after, pace }: Pair, itself: Difference): Steps<Difference> {
  const [one, other] = [objectOrNone(before), objectOrNone(after)];
  const levels: Levels = { removed: undefined, modified: undefined, added: undefined };
  for (const key in one) {
    const mine = one[key];
    const theirs = Object.hasOwn(other, key) ? other[key] : undefined;
    if (mine === theirs) continue;
    const zero = theirs === undefined ? standIn(schema, key, after) : undefined;
    const found = yield* compareValues(entrySchema(schema, key), { before: mine, after: theirs ?? zero, pace });
    if (found !== none) put(levels, fieldElement(key), found);
  }
  for (const key in other) {
    if (Object.hasOwn(one, key)) continue;
    const pair = { before: standIn(schema, key, before), after: other[key], pace };
    const found = yield* compareValues(entrySchema(schema, key), pair);
    if (found !== none) put(levels, fieldElement(key), found);
  }
  return yield* joined(levels, itself, pace);
}

/**
 * The value in a Go struct where the JSON of a built-in kind is absent: an empty struct, or a list or map that is nil and always
 * written. Such a field itself is never added or removed while the struct exists.
 */
function standIn(schema: Schema, key: string, struct: unknown): unknown {
  const field = isJsonObject(struct) ? namedField(schema, key) : undefined;
  if (field?.number === undefined || field.pointer === true) return undefined;
  const { type } = field.schema;
  if (type === "object") return {};
  return writesZero(field) && (type === "array" || type === "map") ? null : undefined;
}

function objectOrNone(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function* compareLists(schema: ArraySchema, { before, after, pace }: Pair, itself: Difference): Steps<Difference> {
  const one = yield* itemsByElement(schema, before, pace);
  const other = yield* itemsByElement(schema, after, pace);
  const levels: Levels = { removed: undefined, modified: undefined, added: undefined };
  for (const [element, items] of one) {
    put(
      levels,
      element,
      yield* compareItems(schema.items, { before: items, after: other.get(element) ?? noItems, pace }),
    );
  }
  for (const [element, items] of other) {
    if (one.has(element)) continue;
    put(levels, element, yield* compareItems(schema.items, { before: noItems, after: items, pace }));
  }
  return yield* joined(levels, itself, pace);
}

const noItems: readonly unknown[] = [];

/** Compares the items that share one path element; several on one side are owned as one, by the element itself. */
function* compareItems(
  schema: Schema,
  {
    before,
    after,
    pace,
  }: { readonly before: readonly unknown[]; readonly after: readonly unknown[]; readonly pace: Pace },
): Steps<Difference> {
  const [many, manyThen] = [before.length > 1, after.length > 1];
  if (!many && !manyThen) return yield* compareValues(schema, { before: before[0], after: after[0], pace });
  if (many && manyThen) return jsonEqual(before, after) ? none : modifiedItself;
  if (many) {
    const rest = after.length > 0 ? yield* compareValues(schema, { before: undefined, after: after[0], pace }) : none;
    return { ...rest, removed: noFields };
  }
  const rest = before.length > 0 ? yield* compareValues(schema, { before: before[0], after: undefined, pace }) : none;
  return { ...rest, added: noFields };
}

function* itemsByElement(
  schema: ArraySchema,
  value: unknown,
  pace: Pace,
): Steps<ReadonlyMap<PathElement, readonly unknown[]>> {
  const items = new Map<PathElement, unknown[]>();
  if (!isJsonArray(value)) return items;
  for (const [index, element] of (yield* elementsOfList(schema, value, pace)).entries()) {
    if (endsStep(pace)) yield;
    const same = items.get(element);
    if (same === undefined) items.set(element, [value[index]]);
    else same.push(value[index]);
  }
  return items;
}
