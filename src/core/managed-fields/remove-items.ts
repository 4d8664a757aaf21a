import { isJsonArray, isJsonObject, type JsonObject } from "../json-value.ts";
import type { ArraySchema, Schema } from "../schema.ts";
import { fieldsBelow, hasElement, isEmptySet, type FieldSet } from "./field-set.ts";
import { fieldElement } from "./path-element.ts";
import { elementsOfList, entrySchema, shapeOf } from "./shape.ts";

/** The object without the given fields and items; containers that are left without content go too. Source: structured-merge-diff typed.RemoveItems. */
export function removeItems(schema: Schema, object: JsonObject, fields: FieldSet): JsonObject {
  if (isEmptySet(fields)) return object;
  const rest = removeEntries(schema, object, fields);
  return rest ?? {};
}

function removeBelow(schema: Schema, value: unknown, fields: FieldSet): unknown {
  const shape = shapeOf(schema, value);
  if (shape === "map" && isJsonObject(value)) return removeEntries(schema, value, fields);
  if (shape === "list" && schema.type === "array" && isJsonArray(value)) return removeElements(schema, value, fields);
  return shape === "leaf" && typeof value !== "object" ? value : undefined;
}

function removeEntries(schema: Schema, object: JsonObject, fields: FieldSet): JsonObject | undefined {
  const kept: [string, unknown][] = [];
  for (const [key, value] of Object.entries(object)) {
    const element = fieldElement(key);
    if (hasElement(fields, element)) continue;
    const below = fieldsBelow(fields, element);
    const rest = isEmptySet(below) ? value : removeBelow(entrySchema(schema, key), value, below);
    if (rest !== undefined) kept.push([key, rest]);
  }
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

function removeElements(
  schema: ArraySchema,
  list: readonly unknown[],
  fields: FieldSet,
): readonly unknown[] | undefined {
  const elements = elementsOfList(schema, list);
  const kept: unknown[] = [];
  for (const [index, value] of list.entries()) {
    const element = elements[index] ?? "";
    if (hasElement(fields, element)) continue;
    const below = fieldsBelow(fields, element);
    const rest = isEmptySet(below) ? value : removeBelow(schema.items, value, below);
    if (rest !== undefined) kept.push(rest);
  }
  return kept.length === 0 ? undefined : kept;
}
