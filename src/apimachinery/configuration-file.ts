import { DecodeError } from "./decode-error.ts";
import { decodeObject } from "./decode.ts";
import { forbiddenField, invalid, notSupported, type FieldError } from "./field-error.ts";
import type { JsonObject } from "./json-value.ts";
import type { ArraySchema, Field, ObjectSchema } from "./schema.ts";

/** The expected kind of the file, and its supported versions. */
export interface ConfigurationKind<S extends ObjectSchema = ObjectSchema> {
  readonly kind: string;
  readonly apiVersions: readonly string[];
  readonly schema: S;
}

/** The decoded value of a schema of `fieldsSchema`: any field may be absent, and each has its type. */
export type DecodedBy<S> = S extends { readonly type: "string" }
  ? string
  : S extends { readonly type: "boolean" }
    ? boolean
    : S extends { readonly items: infer Items }
      ? readonly DecodedBy<Items>[]
      : S extends { readonly fields: infer Fields }
        ? { readonly [Name in keyof Fields]?: DecodedBy<Fields[Name]> }
        : JsonObject;

/** The schema of an object with certain fields. */
export interface FieldsSchema<Fields> extends ObjectSchema {
  readonly fields: Fields;
}

/**
 * Reads plain values as a configuration file of one kind. Unlike in the API, nothing is ignored: unknown fields and another kind
 * or version are errors, since an operator's mistake would otherwise stay hidden until it takes effect.
 */
export function readConfigurationFile<S extends ObjectSchema>(
  value: unknown,
  { kind, apiVersions, schema }: ConfigurationKind<S>,
): { readonly object: DecodedBy<S>; readonly errors: readonly FieldError[] } {
  try {
    const { object, unknown } = decodeObject(schema, value);
    const { apiVersion = "", kind: found = "" } = object;
    const errors = [
      ...unknown.map((path) => forbiddenField(path, "unknown field")),
      ...(apiVersions.some((one) => one === apiVersion) ? [] : [notSupported("apiVersion", apiVersion, apiVersions)]),
      ...(found === kind ? [] : [notSupported("kind", found, [kind])]),
    ];
    return { object: object as DecodedBy<S>, errors };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return { object: {} as DecodedBy<S>, errors: [invalid(error.path, "", error.message)] };
  }
}

/** The schema of an object with these fields, none of them required. */
export function fieldsSchema<Fields extends Readonly<Record<string, Field["schema"]>>>(
  fields: Fields,
): FieldsSchema<Fields> {
  const properties = Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, { schema }]));
  return { type: "object", properties, fields };
}

/** The schema of a list. */
export function listSchema<Items extends ArraySchema["items"]>(items: Items): ArraySchema & { readonly items: Items } {
  return { type: "array", items };
}
