import type { ArraySchema, Field, ObjectSchema, Schema, StringSchema } from "../../apimachinery/schema.ts";
import { published, publishedMeta, typeDescriptions, type TypeDescriptions, standardMetadata } from "./published.ts";

// Short names for the fields of protobuf-backed kinds, so that a message is a few lines. The first argument is always the field number.

/** A string. */
export function str(number: number): Field {
  return { number, schema: { type: "string" } };
}

/** A boolean. */
export function bool(number: number): Field {
  return { number, schema: { type: "boolean" } };
}

/** A 32-bit integer. */
export function int32(number: number): Field {
  return { number, schema: { type: "integer", format: "int32" } };
}

/** A 64-bit integer; a number in JSON. */
export function int64(number: number): Field {
  return { number, schema: { type: "integer", format: "int64" } };
}

/** A time in whole seconds, meta/v1 Time. */
export function time(number: number): Field {
  return formatted(number, "date-time");
}

/** An object that is part of its parent (a Go struct by value): protobuf writers always write it. */
export function object(number: number, schema: ObjectSchema): Field {
  return { number, schema };
}

/** An object that Kubernetes publishes, by its definition name; resolved at first use. */
export function embedded(number: number, name: string, terms: Pick<Field, "description" | "required">): Field {
  return {
    number,
    ...terms,
    get schema() {
      return published(name);
    },
  };
}

/** Conditions, one of each type. */
export function conditions(number: number, description: string): Field {
  const schema: ArraySchema = {
    type: "array",
    get items() {
      return publishedMeta("Condition");
    },
    ...byKey("type"),
  };
  return { number, description, schema };
}

/** How a list is merged: see `byKey` and `atomic`. */
export type ListTrait = Pick<ArraySchema, "listType" | "listMapKeys" | "patchStrategy" | "patchMergeKey">;

/** A list of one schema; later traits override earlier ones. */
export function list(number: number, items: Schema, ...traits: readonly ListTrait[]): Field {
  return { number, schema: Object.assign({ type: "array", items } as const, ...traits) };
}

/** A list of strings. */
export function strings(number: number, ...traits: readonly ListTrait[]): Field {
  return list(number, { type: "string" }, ...traits);
}

/** Server-side apply treats the list as a map by these keys. */
export function byKey(...keys: readonly string[]): ListTrait {
  return { listType: "map", listMapKeys: keys };
}

/** The list is replaced as a whole. */
export const atomic: ListTrait = { listType: "atomic" };

/** A map of strings. */
export function stringMap(number: number): Field {
  return { number, schema: { type: "map", values: { type: "string" } } };
}

/** Required, and written even when it is zero. */
export function required(field: Field): Field {
  return { ...field, required: true };
}

/** A number within these bounds, inclusive. */
export function between(minimum: number, maximum: number, field: Field): Field {
  return limited(field, { minimum, maximum });
}

/** A list of at most this many items. */
export function maxItems(maximum: number, field: Field): Field {
  return limited(field, { maxItems: maximum });
}

/** A string of at most this many code points. */
export function maxLength(maximum: number, field: Field): Field {
  return limited(field, { maxLength: maximum });
}

/** A string of this enumeration. */
export function oneOf(values: readonly string[], field: Field): Field {
  return limited(field, { enum: values });
}

function limited(field: Field, limits: object): Field {
  return { ...field, schema: { ...field.schema, ...limits } };
}

/** Adds the text of `kubectl explain` for the field. */
export function about(description: string, field: Field): Field {
  return { ...field, description };
}

/** A message with `apiVersion` and `kind` in JSON; in protobuf the envelope has them. */
export function typed(name: string, description: string, properties: ObjectSchema["properties"]): ObjectSchema {
  return { type: "object", name, description, properties: { ...typeMeta, ...properties } };
}

const typeMeta: ObjectSchema["properties"] = { apiVersion: typeField("apiVersion"), kind: typeField("kind") };

function typeField(key: keyof TypeDescriptions): Field {
  return {
    schema: { type: "string" },
    get description() {
      return typeDescriptions()[key];
    },
  };
}

function formatted(number: number, format: NonNullable<StringSchema["format"]>): Field {
  return { number, schema: { type: "string", format } };
}

/** A top-level kind: `apiVersion`, `kind`, `metadata` (protobuf field 1) and its own properties. */
export function kind(name: string, description: string, properties: ObjectSchema["properties"]): ObjectSchema {
  return typed(name, description, {
    metadata: embedded(1, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", { description: standardMetadata }),
    ...properties,
  });
}

/** PartialObjectMetadata, which no OpenAPI document of Kubernetes has. Source: k8s.io/apimachinery meta/v1. */
export const partialObjectMetadataSchema: ObjectSchema = kind(
  "io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata",
  "An object reduced to its metadata.",
  {},
);

const accessPrefix = "dev.pratique.access.v1alpha1";

/** A named part of a kind of the access group, with a text for `kubectl explain`. */
export function accessPart(name: string, description: string, properties: ObjectSchema["properties"]): ObjectSchema {
  return { type: "object", name: `${accessPrefix}.${name}`, description, properties };
}

/** A kind of the access group. */
export function accessKindSchema(
  name: string,
  description: string,
  properties: ObjectSchema["properties"],
): ObjectSchema {
  return kind(`${accessPrefix}.${name}`, description, properties);
}
