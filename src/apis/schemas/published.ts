import type {
  AnyForm,
  AnySchema,
  ArraySchema,
  Field,
  MapSchema,
  ObjectSchema,
  Schema,
  StringSchema,
} from "../../apimachinery/schema.ts";
import { kubernetesDefinitions } from "../generated/kubernetes-definitions.ts";

/** A schema in the data file: other definitions by their names, those of the same package from the dot on. */
export type PublishedSchema =
  | Exclude<Schema, ArraySchema | MapSchema | ObjectSchema | AnySchema>
  | (Omit<ArraySchema, "items"> & { readonly items: PublishedSchema })
  | (Omit<MapSchema, "values"> & { readonly values: PublishedSchema })
  | { readonly ref: string };

/** A field in the data file. Inline without a number is TypeMeta, which is no message of its own in protobuf. */
export type PublishedField = Omit<Field, "schema"> & { readonly schema: PublishedSchema };

/** A definition in the data file. */
export type PublishedDefinition =
  | StringSchema
  | (Omit<ObjectSchema, "name" | "properties"> & { readonly properties: Readonly<Record<string, PublishedField>> })
  | (Omit<AnySchema, "name" | "forms"> & { readonly forms?: readonly PublishedForm[] });

/** One of several forms of a value, in the data file. */
export type PublishedForm = Omit<AnyForm, "schema"> & { readonly schema: PublishedSchema };

interface Definitions {
  /** The JSON of each definition, by its name. */
  readonly texts: ReadonlyMap<string, string>;
  /** Cache of the schemas. Each is created once, since the protobuf codecs are kept by the identity of the schema. */
  readonly schemas: Map<string, ObjectSchema | AnySchema>;
}

let loaded: Definitions | undefined;

/** The data file is read at first use, so that a program that uses none of it does not load it. */
function definitions(): Definitions {
  loaded ??= { texts: new Map(Object.entries(kubernetesDefinitions())), schemas: new Map() };
  return loaded;
}

/**
 * The schema of a kind of Kubernetes, or of a part of one, by its name in OpenAPI, such as `io.k8s.api.core.v1.Pod`, as the release
 * that `generate/inputs.mts` names publishes it. It is created at first use, with everything that it refers to.
 * @throws TypeError for a name that the kinds of `generate/kinds.mts` do not refer to, or one that is no object.
 */
export function published(name: string): ObjectSchema {
  const schema = schemaOf(name);
  if (schema.type === "object") return schema;
  throw new TypeError(`${name} is not an object`);
}

/** The same for a type of k8s.io/apimachinery meta/v1, such as `ObjectMeta`. */
export function publishedMeta(type: string): ObjectSchema {
  return published(`io.k8s.apimachinery.pkg.apis.meta.v1.${type}`);
}

/** Kubernetes' descriptions of the fields that every object has, those of custom kinds included. */
export interface TypeDescriptions {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: string;
}

/** Source: meta/v1 TypeMeta and PartialObjectMetadata. */
export function typeDescriptions(): TypeDescriptions {
  const { apiVersion, kind } = publishedMeta("TypeMeta").properties;
  return { apiVersion: apiVersion?.description ?? "", kind: kind?.description ?? "", metadata: standardMetadata };
}

/** Kubernetes' description of the metadata of an object. */
export const standardMetadata: string =
  "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/** Whether a definition of this name is published. */
export function isPublished(name: string): boolean {
  return definitions().texts.has(name);
}

/** The description of a definition, such as Quantity. @throws TypeError for a name that is not published. */
export function publishedDescription(name: string): string | undefined {
  return definitionNamed(name).description;
}

function definitionNamed(name: string): PublishedDefinition {
  const text = definitions().texts.get(name);
  if (text === undefined) throw new TypeError(`${name} is not published`);
  return JSON.parse(text) as PublishedDefinition;
}

function schemaOf(name: string): ObjectSchema | AnySchema {
  const { schemas } = definitions();
  const existing = schemas.get(name);
  if (existing !== undefined) return existing;
  const definition = definitionNamed(name);
  if (definition.type === "string") throw new TypeError(`${name} is not an object`);
  // Cached before it is complete, since a definition may refer to itself.
  const schema = { ...definition, name } as ObjectSchema | AnySchema;
  schemas.set(name, schema);
  if (definition.type === "object") {
    const fields = Object.entries(definition.properties).flatMap(([key, field]) => resolvedFields(key, field, name));
    return Object.assign(schema, { properties: Object.fromEntries(fields) });
  }
  const forms = definition.forms?.map((form) => ({ ...form, schema: resolved(form.schema, name) }));
  return forms === undefined ? schema : Object.assign(schema, { forms });
}

/** One field; for TypeMeta, which is no message of its own, its fields. */
function resolvedFields(key: string, field: PublishedField, of: string): readonly (readonly [string, Field])[] {
  const schema = resolved(field.schema, of);
  const isTypeMeta = field.inline === true && field.number === undefined;
  return isTypeMeta && schema.type === "object" ? typeFields(schema) : [[key, { ...field, schema }]];
}

/** The fields of TypeMeta, which in protobuf the envelope has: they have no numbers. */
function typeFields({ properties }: ObjectSchema): readonly (readonly [string, Field])[] {
  return ["apiVersion", "kind"].flatMap((key) => {
    const { number: _number, ...field } = properties[key] ?? {};
    return "schema" in field ? [[key, field] as const] : [];
  });
}

/** The schema with its references resolved, seen from the definition `of`. */
function resolved(schema: PublishedSchema, of: string): Schema {
  if ("ref" in schema) {
    const { ref } = schema;
    return schemaOf(ref.startsWith(".") ? `${of.slice(0, of.lastIndexOf("."))}${ref}` : ref);
  }
  if (schema.type === "array") return { ...schema, items: resolved(schema.items, of) };
  return schema.type === "map" ? { ...schema, values: resolved(schema.values, of) } : schema;
}
