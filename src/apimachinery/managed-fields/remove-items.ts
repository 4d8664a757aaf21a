import { isJsonArray, isJsonObject, type JsonObject } from "../json-value.ts";
import type { ArraySchema, Schema } from "../schema.ts";
import { endsStep, type Pace } from "../step-budget.ts";
import type { Steps } from "../steps.ts";
import { fieldsBelow, hasElement, isEmptySet, type FieldSet } from "./field-set.ts";
import { fieldElement, type PathElement } from "./path-element.ts";
import { elementsOfList, entrySchema, shapeOf } from "./shape.ts";

/** The object without the given fields and items; containers that are left without content go too. Source: structured-merge-diff typed.RemoveItems. */
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

/** What stays of one entry or item; undefined where it goes. */
function* restOf(
  value: unknown,
  { fields, pace }: Removed,
  { element, schemaOf }: { readonly element: PathElement; readonly schemaOf: () => Schema },
): Steps<unknown> {
  if (hasElement(fields, element)) return undefined;
  const below = fieldsBelow(fields, element);
  return isEmptySet(below) ? value : yield* removeBelow(schemaOf(), value, { fields: below, pace });
}
