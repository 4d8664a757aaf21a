import { invalid, type FieldError } from "../../core/field-error.ts";
import { isJsonArray, isJsonObject, type JsonObject } from "../../core/json-value.ts";
import type { StructuralSchema } from "./structural-schema.ts";

/**
 * What repeats in lists of type set, and which keys repeat in lists of type map; each repeated value is named once. The time
 * taken is linear in the size of the value. Source: apiextensions-apiserver pkg/apiserver/schema/listtype.
 */
export function listErrors(schema: StructuralSchema, value: unknown, path: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  collect(schema, value, { path, errors });
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

const maximumErrors = 100;

interface Walk {
  readonly path: string;
  readonly errors: FieldError[];
}

function collect(schema: StructuralSchema, value: unknown, walk: Walk): void {
  if (!schema.holdsUniqueLists || walk.errors.length >= maximumErrors) return;
  if (isJsonArray(value)) collectArray(schema, value, walk);
  else if (isJsonObject(value)) collectObject(schema, value, walk);
}

function collectObject(schema: StructuralSchema, value: JsonObject, { path, errors }: Walk): void {
  const { properties, additionalProperties } = schema;
  for (const key of Object.keys(value)) {
    const property = properties.get(key);
    if (property !== undefined) collect(property, value[key], { path: path === "" ? key : `${path}.${key}`, errors });
    else if (typeof additionalProperties === "object") {
      collect(additionalProperties, value[key], { path: `${path}[${key}]`, errors });
    }
  }
}

function collectArray(schema: StructuralSchema, value: readonly unknown[], { path, errors }: Walk): void {
  if (schema.listType === "set") errors.push(...repeated(value, path, canonicalText));
  if (schema.listType === "map") errors.push(...mapErrors(schema, value, path));
  if (schema.items?.holdsUniqueLists !== true) return;
  for (const [index, element] of value.entries()) {
    if (errors.length >= maximumErrors) return;
    collect(schema.items, element, { path: `${path}[${index}]`, errors });
  }
}

function mapErrors(schema: StructuralSchema, value: readonly unknown[], path: string): readonly FieldError[] {
  const stray = value.findIndex((element) => element !== null && !isJsonObject(element));
  if (stray >= 0) {
    return [invalid(`${path}[${stray}]`, value[stray], "must be an object for an array of list-type map")];
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
  return repeated(value, path, text);
}

/** The elements that share their text with one before; `text` says what of them counts, as JSON. */
function repeated(values: readonly unknown[], path: string, text: (value: unknown) => string): readonly FieldError[] {
  if (values.length < 2) return [];
  const seen = new Map<string, number>();
  const errors: FieldError[] = [];
  for (const [index, value] of values.entries()) {
    const shown = text(value);
    const times = seen.get(shown) ?? 0;
    seen.set(shown, times + 1);
    if (times === 1 && errors.length < maximumErrors) {
      errors.push({ path: `${path}[${index}]`, type: "FieldValueDuplicate", message: `Duplicate value: ${shown}` });
    }
  }
  return errors;
}
