import type { Field, ObjectSchema, Schema } from "../../apimachinery/schema.ts";
import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import { finish, type Steps } from "../../apimachinery/steps.ts";
import { definitionNameOf, type KindName } from "../openapi-schemas.ts";
import { kind as kindSchema } from "../schemas/shorthand.ts";
import type { StructuralSchema } from "./structural-schema.ts";

/**
 * The schema of a custom kind in the form of built-in kinds, for code that walks objects by their types: server-side apply, tables.
 * Lists are atomic by default, and values below `x-kubernetes-preserve-unknown-fields` are open.
 */
export function coreSchemaOf(schema: StructuralSchema, kind: KindName): ObjectSchema {
  return finish(coreSchemaSteps(schema, kind));
}

/** The same in steps. */
export function* coreSchemaSteps(schema: StructuralSchema, kind: KindName): Steps<ObjectSchema> {
  const { description, properties, ...rest } = yield* objectSchema(schema, { places: 0 });
  const named = kindSchema(definitionNameOf(kind), description ?? `${kind.kind} is a custom resource.`, properties);
  // The fields that each object has override what the schema declares for them.
  return { ...rest, ...named, properties: { ...named.properties, ...ofEveryObject(named.properties) } };
}

const typeFields = kindSchema("", "", {}).properties;

function ofEveryObject(properties: ObjectSchema["properties"]): ObjectSchema["properties"] {
  return Object.fromEntries(Object.entries(typeFields).map(([key, field]) => [key, { ...properties[key], ...field }]));
}

function* objectSchema(schema: StructuralSchema, pace: Pace): Steps<ObjectSchema> {
  const needed = new Set(schema.required);
  const fields: [string, Field][] = [];
  for (const [name, property] of schema.properties) {
    const field: Field = {
      schema: yield* schemaOf(property, pace),
      ...descriptionOf(property),
      ...(needed.has(name) ? { required: true } : {}),
      ...(property.default === undefined ? {} : { default: property.default }),
    };
    fields.push([name, field]);
  }
  const own = Object.fromEntries(fields);
  const isOpen = schema.preserveUnknownFields || (schema.additionalProperties ?? false) !== false;
  return {
    type: "object",
    ...descriptionOf(schema),
    properties: schema.embeddedResource ? { ...own, ...typeFields } : own,
    ...(isOpen ? { open: true } : {}),
    ...(schema.mapType === undefined ? {} : { mapType: schema.mapType }),
  };
}

function* schemaOf(schema: StructuralSchema, pace: Pace): Steps<Schema> {
  if (endsStep(pace)) yield;
  const { type } = schema;
  if (schema.intOrString) return { type: "string", format: "int-or-string", ...descriptionOf(schema) };
  if (type === "array") return yield* arraySchema(schema, pace);
  if (type === "object") return (yield* mapSchema(schema, pace)) ?? (yield* objectSchema(schema, pace));
  if (type !== "integer") return { type: type ?? "any", ...descriptionOf(schema) };
  return { type, format: schema.format === "int32" ? "int32" : "int64", ...descriptionOf(schema) };
}

function* arraySchema(schema: StructuralSchema, pace: Pace): Steps<Schema> {
  const { items, listType = "atomic", listMapKeys } = schema;
  return {
    type: "array",
    ...descriptionOf(schema),
    items: items === undefined ? { type: "any" } : yield* schemaOf(items, pace),
    listType,
    ...(listType === "map" ? { listMapKeys } : {}),
  };
}

function* mapSchema(schema: StructuralSchema, pace: Pace): Steps<Schema | undefined> {
  const { additionalProperties, mapType } = schema;
  if (additionalProperties === undefined || additionalProperties === false || schema.properties.size > 0)
    return undefined;
  return {
    type: "map",
    ...descriptionOf(schema),
    values: additionalProperties === true ? { type: "any" } : yield* schemaOf(additionalProperties, pace),
    ...(mapType === undefined ? {} : { mapType }),
  };
}

function descriptionOf({ description }: StructuralSchema): { readonly description?: string } {
  return description === undefined ? {} : { description };
}
