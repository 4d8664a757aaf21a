import { isJsonArray, isJsonObject, type JsonObject } from "../json-value.ts";
import type { ArraySchema, Schema } from "../schema.ts";
import { insertField, type FieldSet, type FieldSetBuilder } from "./field-set.ts";
import { fieldElement, type PathElement } from "./path-element.ts";
import { elementsOfList, entrySchema, namedField, shapeOf } from "./shape.ts";

/** Every leaf and every item that an object names: what its applier owns. Source: structured-merge-diff typed.ToFieldSet. */
export function fieldsOf(schema: Schema, value: unknown): FieldSet {
  const walk: Walk = { path: [], set: {} };
  addFields(walk, schema, value);
  return walk.set;
}

interface Walk {
  readonly path: PathElement[];
  readonly set: FieldSetBuilder;
}

function addFields(walk: Walk, schema: Schema, value: unknown): void {
  const shape = shapeOf(schema, value);
  if (shape === "leaf") insertField(walk.set, walk.path);
  else if (shape === "map" && isJsonObject(value)) addEntries(walk, schema, value);
  else if (schema.type === "array" && isJsonArray(value)) addItems(walk, schema, value);
}

function addEntries(walk: Walk, schema: Schema, value: JsonObject): void {
  for (const [key, entry] of Object.entries(value)) {
    walk.path.push(fieldElement(key));
    addFields(walk, entrySchema(schema, key), entry);
    if (namedField(schema, key) === undefined || isNothing(entry)) insertField(walk.set, walk.path);
    walk.path.pop();
  }
}

/** A named field is owned through what is underneath it, and by itself only where there is nothing. */
function isNothing(value: unknown): boolean {
  return value === null || (isJsonObject(value) && Object.keys(value).length === 0);
}

function addItems(walk: Walk, schema: ArraySchema, list: readonly unknown[]): void {
  const elements = elementsOfList(schema, list);
  const counts = new Map<PathElement, number>();
  for (const element of elements) counts.set(element, (counts.get(element) ?? 0) + 1);
  for (const [index, element] of elements.entries()) {
    walk.path.push(element);
    if (counts.get(element) === 1) addFields(walk, schema.items, list[index]);
    insertField(walk.set, walk.path);
    walk.path.pop();
  }
}
