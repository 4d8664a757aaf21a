import { isJsonArray, isJsonObject, type JsonObject } from "../json-value.ts";
import type { ArraySchema, Schema } from "../schema.ts";
import { fieldsBelow, hasElement, isEmptySet, type FieldSet } from "./field-set.ts";
import { fieldElement, type PathElement } from "./path-element.ts";
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
  let isSame = true;
  for (const key of Object.keys(object)) {
    const value = object[key];
    const rest = restOf(value, fields, { element: fieldElement(key), schemaOf: () => entrySchema(schema, key) });
    isSame &&= rest === value;
    if (rest !== undefined) kept.push([key, rest]);
  }
  if (kept.length === 0) return undefined;
  return isSame ? object : Object.fromEntries(kept);
}

function removeElements(
  schema: ArraySchema,
  list: readonly unknown[],
  fields: FieldSet,
): readonly unknown[] | undefined {
  const elements = elementsOfList(schema, list);
  const kept: unknown[] = [];
  for (const [index, value] of list.entries()) {
    const rest = restOf(value, fields, { element: elements[index] ?? "", schemaOf: () => schema.items });
    if (rest !== undefined) kept.push(rest);
  }
  return kept.length === 0 ? undefined : kept;
}

/** What stays of one entry or item; undefined where it goes. */
function restOf(
  value: unknown,
  fields: FieldSet,
  { element, schemaOf }: { readonly element: PathElement; readonly schemaOf: () => Schema },
): unknown {
  if (hasElement(fields, element)) return undefined;
  const below = fieldsBelow(fields, element);
  return isEmptySet(below) ? value : removeBelow(schemaOf(), value, below);
}
