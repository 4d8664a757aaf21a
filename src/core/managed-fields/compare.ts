import { jsonEqual } from "../equal.ts";
import { isJsonArray, isJsonObject, type JsonObject } from "../json-value.ts";
import type { ArraySchema, Schema } from "../schema.ts";
import { insertField, isEmptySet, recursiveDifference, type FieldSet, type FieldSetBuilder } from "./field-set.ts";
import { fieldElement, type PathElement } from "./path-element.ts";
import { elementsOfList, entrySchema, isEmptyValue, namedField, shapeOf, type Shape } from "./shape.ts";

/** What differs between two objects; no field is in more than one of the sets. Source: structured-merge-diff typed.Comparison. */
export interface Comparison {
  readonly removed: FieldSet;
  readonly modified: FieldSet;
  readonly added: FieldSet;
}

/** Compares two objects of one schema, both decoded. */
export function compareObjects(schema: Schema, before: unknown, after: unknown): Comparison {
  const walk: Walk = { path: [], removed: {}, modified: {}, added: {} };
  compareValues(walk, schema, { before, after });
  return walk;
}

/** The comparison without `ignored` fields and what is underneath them. */
export function ignoring({ removed, modified, added }: Comparison, ignored: FieldSet): Comparison {
  return {
    removed: recursiveDifference(removed, ignored),
    modified: recursiveDifference(modified, ignored),
    added: recursiveDifference(added, ignored),
  };
}

/** Whether nothing differs. */
export function isSame({ removed, modified, added }: Comparison): boolean {
  return isEmptySet(removed) && isEmptySet(modified) && isEmptySet(added);
}

interface Walk {
  readonly path: PathElement[];
  readonly removed: FieldSetBuilder;
  readonly modified: FieldSetBuilder;
  readonly added: FieldSetBuilder;
}

/** Undefined is absent, which null is not. */
interface Pair {
  readonly before: unknown;
  readonly after: unknown;
}

function compareValues(walk: Walk, schema: Schema, pair: Pair): void {
  const { before, after } = pair;
  if (before === after) return;
  const shape = schema.type === "any" ? deducedShape(pair) : shapeOf(schema, after);
  if (shape === "leaf" || bothEmpty(before, after)) return compareLeaf(walk, pair);
  if (shape === "mixed") {
    compareLeaf(walk, pair);
    return compareMaps(walk, schema, pair);
  }
  if (shape === "list" && schema.type === "array") {
    // Lists mostly stay as they are, which is cheaper to see than what their items are called.
    if (jsonEqual(before, after)) return;
    compareLists(walk, schema, pair);
  } else {
    compareMaps(walk, schema, pair);
  }
  if (before === undefined) insertField(walk.added, walk.path);
  else if (after === undefined) insertField(walk.removed, walk.path);
}

/** `mixed` for what turns from an object into something else or the other way round. */
function deducedShape({ before, after }: Pair): Shape | "mixed" {
  if (isMapOrNothing(before) && isMapOrNothing(after)) return "map";
  return isJsonObject(before) || isJsonObject(after) ? "mixed" : "leaf";
}

function isMapOrNothing(value: unknown): boolean {
  return value === undefined || value === null || isJsonObject(value);
}

/** The difference between nothing, null and an empty container is kept by owning the field itself. */
function bothEmpty(before: unknown, after: unknown): boolean {
  return isEmptyValue(before) && isEmptyValue(after);
}

function compareLeaf(walk: Walk, { before, after }: Pair): void {
  if (before === undefined) insertField(walk.added, walk.path);
  else if (after === undefined) insertField(walk.removed, walk.path);
  else if (!jsonEqual(before, after)) insertField(walk.modified, walk.path);
}

function compareMaps(walk: Walk, schema: Schema, { before, after }: Pair): void {
  const [one, other] = [objectOrNone(before), objectOrNone(after)];
  for (const key in one) {
    const mine = one[key];
    const theirs = Object.hasOwn(other, key) ? other[key] : undefined;
    if (mine === theirs) continue;
    const stand = theirs === undefined ? standIn(schema, key, after) : undefined;
    compareEntry(walk, schema, { key, before: mine, after: theirs ?? stand });
  }
  for (const key in other) {
    if (Object.hasOwn(one, key)) continue;
    compareEntry(walk, schema, { key, before: standIn(schema, key, before), after: other[key] });
  }
}

function compareEntry(walk: Walk, schema: Schema, { key, ...pair }: Pair & { readonly key: string }): void {
  walk.path.push(fieldElement(key));
  compareValues(walk, entrySchema(schema, key), pair);
  walk.path.pop();
}

/**
 * What stands in a Go struct where the JSON of a built-in kind has nothing: an empty struct, or a list or map that is nil and always
 * written. Such a field itself never comes or goes, as long as the struct is there.
 */
function standIn(schema: Schema, key: string, struct: unknown): unknown {
  const field = isJsonObject(struct) ? namedField(schema, key) : undefined;
  if (field?.number === undefined || field.pointer === true) return undefined;
  const { type } = field.schema;
  if (type === "object") return {};
  return field.required === true && (type === "array" || type === "map") ? null : undefined;
}

function objectOrNone(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function compareLists(walk: Walk, schema: ArraySchema, { before, after }: Pair): void {
  const [one, other] = [itemsByElement(schema, before), itemsByElement(schema, after)];
  for (const element of new Set([...one.keys(), ...other.keys()])) {
    walk.path.push(element);
    compareItems(walk, schema.items, { before: one.get(element) ?? [], after: other.get(element) ?? [] });
    walk.path.pop();
  }
}

/** Compares the items that share one path element; several on one side are owned as one, by the element itself. */
function compareItems(
  walk: Walk,
  schema: Schema,
  { before, after }: { readonly before: readonly unknown[]; readonly after: readonly unknown[] },
): void {
  const [many, manyThen] = [before.length > 1, after.length > 1];
  if (!many && !manyThen) return compareValues(walk, schema, { before: before[0], after: after[0] });
  if (many && manyThen) {
    if (!jsonEqual(before, after)) insertField(walk.modified, walk.path);
    return;
  }
  if (many) {
    if (after.length > 0) compareValues(walk, schema, { before: undefined, after: after[0] });
    insertField(walk.removed, walk.path);
    return;
  }
  if (before.length > 0) compareValues(walk, schema, { before: before[0], after: undefined });
  insertField(walk.added, walk.path);
}

function itemsByElement(schema: ArraySchema, value: unknown): ReadonlyMap<PathElement, readonly unknown[]> {
  const items = new Map<PathElement, unknown[]>();
  if (!isJsonArray(value)) return items;
  for (const [index, element] of elementsOfList(schema, value).entries()) {
    const same = items.get(element);
    if (same === undefined) items.set(element, [value[index]]);
    else same.push(value[index]);
  }
  return items;
}
