import { isJsonArray, isJsonObject, ownValue, type JsonObject } from "../../apimachinery/json-value.ts";
import type { StructuralSchema } from "./structural-schema.ts";

/**
 * The object with the defaults of the schema where a property is missing. A null that the schema does not allow gives way to the
 * default, or goes when there is none; nulls in lists stay, for validation to refuse. What has not changed is shared with
 * `object`, and defaults are shared with the schema; neither is ever changed.
 * Source: apiextensions-apiserver pkg/apiserver/schema/defaulting.
 */
export function withDefaults(schema: StructuralSchema, object: JsonObject): JsonObject {
  return defaultedObject(schema, object);
}

function defaultedValue(schema: StructuralSchema | undefined, value: unknown): unknown {
  if (schema === undefined) return value;
  if (isJsonObject(value)) return defaultedObject(schema, value);
  return isJsonArray(value) ? defaultedArray(schema, value) : value;
}

function defaultedObject(schema: StructuralSchema, value: JsonObject): JsonObject {
  let result: Map<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    const member = value[key];
    const memberSchema = schema.properties.get(key) ?? additionalSchema(schema);
    const next =
      member === null && memberSchema?.nullable === false
        ? defaultedValue(memberSchema, memberSchema.default)
        : defaultedValue(memberSchema, member);
    if (next === member) continue;
    result ??= new Map(Object.entries(value));
    if (next === undefined) result.delete(key);
    else result.set(key, next);
  }
  for (const [key, property] of schema.properties) {
    if (property.default === undefined || ownValue(value, key) !== undefined) continue;
    result ??= new Map(Object.entries(value));
    result.set(key, defaultedValue(property, property.default));
  }
  return result === undefined ? value : Object.fromEntries(result);
}

function defaultedArray(schema: StructuralSchema, value: readonly unknown[]): readonly unknown[] {
  const { items } = schema;
  if (items === undefined) return value;
  let result: unknown[] | undefined;
  for (const [index, element] of value.entries()) {
    const filled = element === null && !items.nullable ? (items.default ?? null) : element;
    const next = defaultedValue(items, filled);
    if (next === element) continue;
    result ??= [...value];
    result[index] = next;
  }
  return result ?? value;
}

function additionalSchema(schema: StructuralSchema): StructuralSchema | undefined {
  return typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined;
}
