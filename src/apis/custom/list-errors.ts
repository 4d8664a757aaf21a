import { invalid, type FieldError } from "../../apimachinery/field-error.ts";
import { isJsonArray, isJsonObject, type JsonObject } from "../../apimachinery/json-value.ts";
import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import type { StructuralSchema } from "./structural-schema.ts";

/**
 * What repeats in lists of type set, and which keys repeat in lists of type map; each repeated value is named once. The time
 * taken is linear in the size of the value. Source: apiextensions-apiserver pkg/apiserver/schema/listtype.
 */
export function* listErrors(schema: StructuralSchema, value: unknown, path: string): Steps<readonly FieldError[]> {
  const errors: FieldError[] = [];
  yield* collect(schema, value, { path, errors, pace: { places: 0 } });
  return errors;
}

/** A text that two JSON values share if and only if they are equal, whatever the order of their keys. */
export function canonicalText(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (isJsonArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value) ?? "null";
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalText(value[key])}`).join(",")}}`;
}

const maxErrors = 100;

interface Walk {
  readonly path: string;
  readonly errors: FieldError[];
  readonly pace: Pace;
}

function* collect(schema: StructuralSchema, value: unknown, walk: Walk): Steps<void> {
  if (!schema.holdsUniqueLists || walk.errors.length >= maxErrors) return;
  if (endsStep(walk.pace)) yield;
  if (isJsonArray(value)) yield* collectArray(schema, value, walk);
  else if (isJsonObject(value)) yield* collectObject(schema, value, walk);
}

function* collectObject(schema: StructuralSchema, value: JsonObject, walk: Walk): Steps<void> {
  const { path } = walk;
  const { properties, additionalProperties } = schema;
  for (const key of Object.keys(value)) {
    const property = properties.get(key);
    if (property !== undefined) {
      yield* collect(property, value[key], { ...walk, path: path === "" ? key : `${path}.${key}` });
    } else if (typeof additionalProperties === "object") {
      yield* collect(additionalProperties, value[key], { ...walk, path: `${path}[${key}]` });
    }
  }
}

function* collectArray(schema: StructuralSchema, value: readonly unknown[], walk: Walk): Steps<void> {
  const { path, errors } = walk;
  if (schema.listType === "set") errors.push(...(yield* repeated(value, walk, canonicalText)));
  if (schema.listType === "map") errors.push(...(yield* mapErrors(schema, value, walk)));
  if (schema.items?.holdsUniqueLists !== true) return;
  for (const [index, element] of value.entries()) {
    if (errors.length >= maxErrors) return;
    yield* collect(schema.items, element, { ...walk, path: `${path}[${index}]` });
  }
}

function* mapErrors(schema: StructuralSchema, value: readonly unknown[], walk: Walk): Steps<readonly FieldError[]> {
  for (const [index, element] of value.entries()) {
    if (endsStep(walk.pace)) yield;
    if (element === null || isJsonObject(element)) continue;
    return [invalid(`${walk.path}[${index}]`, element, "must be an object for an array of list-type map")];
  }
  const keys = [...new Set(schema.listMapKeys)].sort();
  const labels = keys.map((key) => `${JSON.stringify(key)}:`);
  const text = (element: unknown): string => {
    const parts: string[] = [];
    for (const [index, key] of keys.entries()) {
      if (!isJsonObject(element) || !Object.hasOwn(element, key)) continue;
      parts.push(`${labels[index] ?? ""}${canonicalText(element[key])}`);
    }
    return `{${parts.join(",")}}`;
  };
  return yield* repeated(value, walk, text);
}

/** The elements that share their text with one before; `text` says what of them counts, as JSON. */
function* repeated(
  values: readonly unknown[],
  { path, pace }: Walk,
  text: (value: unknown) => string,
): Steps<readonly FieldError[]> {
  if (values.length < 2) return [];
  const seen = new Map<string, number>();
  const errors: FieldError[] = [];
  for (const [index, value] of values.entries()) {
    if (endsStep(pace)) yield;
    const shown = text(value);
    const times = seen.get(shown) ?? 0;
    seen.set(shown, times + 1);
    if (times === 1 && errors.length < maxErrors) {
      errors.push({ path: `${path}[${index}]`, type: "FieldValueDuplicate", message: `Duplicate value: ${shown}` });
    }
  }
  return errors;
}
