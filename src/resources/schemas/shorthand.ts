import type { ArraySchema, Field, ObjectSchema, Schema, StringSchema } from "../../core/schema.ts";

// Short names for the fields of protobuf-backed kinds, so that a message is a few lines. The first argument is always the field number.

/** Text. */
export function str(number: number): Field {
  return { number, schema: { type: "string" } };
}

/** True or false. */
export function bool(number: number): Field {
  return { number, schema: { type: "boolean" } };
}

/** A 32-bit integer. */
export function int32(number: number): Field {
  return { number, schema: { type: "integer", format: "int32" } };
}

/** A 64-bit integer; JSON holds it as a number. */
export function int64(number: number): Field {
  return { number, schema: { type: "integer", format: "int64" } };
}

/** Base64 in JSON, bytes in protobuf. */
export function bytes(number: number): Field {
  return formatted(number, "byte");
}

/** A time in whole seconds, meta/v1 Time. */
export function time(number: number): Field {
  return formatted(number, "date-time");
}

/** A time in microseconds, meta/v1 MicroTime. */
export function microTime(number: number): Field {
  return formatted(number, "micro-time");
}

/** An amount with a suffix, such as `100m` or `1Gi`. */
export function quantity(number: number): Field {
  return formatted(number, "quantity");
}

/** A number or a text, such as a port or its name. */
export function intOrString(number: number): Field {
  return formatted(number, "int-or-string");
}

/** Any JSON (RawExtension, FieldsV1). */
export function anything(number: number): Field {
  return { number, schema: { type: "any" } };
}

/** An object that is part of its parent (a Go struct by value): protobuf writers always write it. */
export function object(number: number, schema: ObjectSchema): Field {
  return { number, schema };
}

/** How a list is merged: see `byKey`, `asSet`, `atomic` and `mergeBy`. */
export type ListTrait = Pick<ArraySchema, "listType" | "listMapKeys" | "patchStrategy" | "patchMergeKey">;

/** A list of one schema; traits later in the row win. */
export function list(number: number, items: Schema, ...traits: readonly ListTrait[]): Field {
  return { number, schema: Object.assign({ type: "array", items } as const, ...traits) };
}

/** A list of texts. */
export function strings(number: number, ...traits: readonly ListTrait[]): Field {
  return list(number, { type: "string" }, ...traits);
}

/** A list of 32-bit integers. */
export function int32s(number: number, ...traits: readonly ListTrait[]): Field {
  return list(number, { type: "integer", format: "int32" }, ...traits);
}

/** A list of 64-bit integers. */
export function int64s(number: number, ...traits: readonly ListTrait[]): Field {
  return list(number, { type: "integer", format: "int64" }, ...traits);
}

/** Server-side apply treats the list as a map by these keys. */
export function byKey(...keys: readonly string[]): ListTrait {
  return { listType: "map", listMapKeys: keys };
}

/** Server-side apply treats the list as a set of scalars. */
export const asSet: ListTrait = { listType: "set" };

/** The list is replaced as a whole. */
export const atomic: ListTrait = { listType: "atomic" };

/** Strategic merge joins elements with the same value under `key`. */
export function mergeBy(key: string): ListTrait {
  return { patchStrategy: "merge", patchMergeKey: key };
}

/** As `mergeBy`, and an element of the patch may name the only keys to keep. */
export function mergeRetaining(key: string): ListTrait {
  return { patchStrategy: "merge,retainKeys", patchMergeKey: key };
}

/** Strategic merge joins scalars as a set. */
export const mergeAsSet: ListTrait = { patchStrategy: "merge" };

/** Texts to values of one schema. */
export function mapOf(number: number, values: Schema): Field {
  return { number, schema: { type: "map", values } };
}

/** Texts to texts. */
export function stringMap(number: number): Field {
  return mapOf(number, { type: "string" });
}

/** Texts to bytes, base64 in JSON. */
export function bytesMap(number: number): Field {
  return mapOf(number, { type: "string", format: "byte" });
}

/** Resource names to amounts (ResourceList). */
export function quantities(number: number): Field {
  return mapOf(number, { type: "string", format: "quantity" });
}

/** Names to lists of texts (ExtraValue). */
export function extraMap(number: number): Field {
  return mapOf(number, { type: "array", items: { type: "string" }, wrapped: true });
}

/** Absence differs from the zero value (a Go pointer). */
export function pointer(field: Field): Field {
  return { ...field, pointer: true };
}

/** Must be present, and is written even when it is zero. */
export function required(field: Field): Field {
  return { ...field, required: true };
}

/** The fields of this object stand in its parent in JSON; the key is a label only. */
export function inline(field: Field): Field {
  return { ...field, inline: true };
}

/** Adds what `kubectl explain` says of the field. */
export function about(description: string, field: Field): Field {
  return { ...field, description };
}

/** A named part of a kind. */
export function message(name: string, properties: ObjectSchema["properties"]): ObjectSchema {
  return { type: "object", name, properties };
}

/** A named part of a kind that `kubectl explain` has a sentence for. */
export function described(name: string, description: string, properties: ObjectSchema["properties"]): ObjectSchema {
  return { type: "object", name, description, properties };
}

/** Server-side apply owns and replaces the message as a whole. */
export function whole(schema: ObjectSchema): ObjectSchema {
  return { ...schema, mapType: "atomic" };
}

/** A map that server-side apply owns and replaces as a whole. */
export function wholeMap(field: Field): Field {
  return field.schema.type === "map" ? { ...field, schema: { ...field.schema, mapType: "atomic" } } : field;
}

/** What the key of an element is when it does not say. */
export function keyDefault(value: string | number, field: Field): Field {
  return { ...field, keyDefault: value };
}

/** A message that says its `apiVersion` and `kind` in JSON; in protobuf the envelope does. */
export function typed(name: string, description: string, properties: ObjectSchema["properties"]): ObjectSchema {
  return { type: "object", name, description, properties: { ...typeMeta, ...properties } };
}

const typeMeta: ObjectSchema["properties"] = {
  apiVersion: { schema: { type: "string" }, description: "Group and version of this representation." },
  kind: { schema: { type: "string" }, description: "The kind of this object, in CamelCase." },
};

function formatted(number: number, format: NonNullable<StringSchema["format"]>): Field {
  return { number, schema: { type: "string", format } };
}
