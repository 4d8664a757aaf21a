import { DecodeError } from "./decode-error.ts";
import { decodeObject } from "./decode.ts";
import { forbiddenField, invalid, notSupported, type FieldError } from "./field-error.ts";
import type { JsonObject } from "./json-value.ts";
import type { ArraySchema, Field, ObjectSchema } from "./schema.ts";

/** Which file is meant: its kind, and the versions of it that are read. */
export interface ConfigurationKind {
  readonly kind: string;
  readonly apiVersions: readonly string[];
  readonly schema: ObjectSchema;
}

/**
 * Reads plain values as a configuration file of one kind. Unlike the API, nothing is passed over: unknown fields and another kind
 * or version are errors, as an operator's mistake would otherwise go unseen until it matters.
 */
export function readConfigurationFile(
  value: unknown,
  { kind, apiVersions, schema }: ConfigurationKind,
): { readonly object: JsonObject; readonly errors: readonly FieldError[] } {
  try {
    const { object, unknown } = decodeObject(schema, value);
    const { apiVersion = "", kind: found = "" } = object;
    const errors = [
      ...unknown.map((path) => forbiddenField(path, "unknown field")),
      ...(apiVersions.some((one) => one === apiVersion) ? [] : [notSupported("apiVersion", apiVersion, apiVersions)]),
      ...(found === kind ? [] : [notSupported("kind", found, [kind])]),
    ];
    return { object, errors };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return { object: {}, errors: [invalid(error.path, "", error.message)] };
  }
}

/** The schema of an object with these fields, none of them required. */
export function fieldsSchema(fields: Readonly<Record<string, Field["schema"]>>): ObjectSchema {
  return {
    type: "object",
    properties: Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, { schema }])),
  };
}

/** The schema of a list. */
export function listSchema(items: ArraySchema["items"]): ArraySchema {
  return { type: "array", items };
}
