import type { JsonObject } from "../apimachinery/json-value.ts";
import type { ArraySchema, ObjectSchema, Schema, StringSchema } from "../apimachinery/schema.ts";
import type { Resource } from "./resource.ts";

/** A rule in CEL, and its message. */
export interface DefinitionRule {
  readonly rule: string;
  readonly message: string;
}

/** Parts of a CustomResourceDefinition beyond those of the kind itself. */
export interface DefinitionOptions {
  /** The path of each column's cell, by the column's name; columns without a path are omitted. */
  readonly paths: Readonly<Record<string, string>>;
  /** Rules on fields of the object, by the field's name; releases before 1.25 do not support rules. */
  readonly rules?: Readonly<Record<string, readonly DefinitionRule[]>>;
}

/** The CustomResourceDefinition by which any Kubernetes of 1.16 or newer serves a built-in kind of the hub. */
export function definitionOf(resource: Resource, options: DefinitionOptions): JsonObject {
  const { group, version, kind, plural, singular, shortNames, categories, scope } = resource;
  const names = { kind, listKind: `${kind}List`, plural, singular, shortNames, categories };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names,
      scope: scope === "Cluster" ? "Cluster" : "Namespaced",
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: rootSchema(resource, options) },
          ...("status" in resource.subresources ? { subresources: { status: {} } } : {}),
          additionalPrinterColumns: printerColumns(resource, options),
        },
      ],
    },
  };
}

const agePath = ".metadata.creationTimestamp";

function printerColumns({ columns }: Resource, { paths }: DefinitionOptions): readonly JsonObject[] {
  return columns.flatMap(({ name, type, description, priority }) => {
    const isAge = name === "Age";
    const jsonPath = isAge ? agePath : Object.hasOwn(paths, name) ? paths[name] : undefined;
    if (jsonPath === undefined) return [];
    const column = { name, type: isAge ? "date" : type, description, jsonPath };
    return [priority === undefined || priority === 0 ? column : { ...column, priority }];
  });
}

/** The API knows the fields that every object has, whatever the definition declares. */
const common: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

function rootSchema({ schema }: Resource, { rules = {} }: DefinitionOptions): JsonObject {
  const { properties = {}, ...root } = objectSchema(schema) as JsonObject & { readonly properties?: JsonObject };
  const own = Object.entries(properties).filter(([name]) => !common.has(name));
  return {
    ...root,
    ...(schema.description === undefined ? {} : { description: schema.description }),
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      ...Object.fromEntries(
        own.map(([name, field]) => {
          const checks = Object.hasOwn(rules, name) ? rules[name] : undefined;
          return [
            name,
            checks === undefined ? field : { ...(field as JsonObject), "x-kubernetes-validations": checks },
          ];
        }),
      ),
    },
  };
}

function objectSchema({ properties, open }: ObjectSchema): JsonObject {
  const fields = Object.entries(properties);
  const required = fields.filter(([, field]) => field.required === true).map(([name]) => name);
  return {
    type: "object",
    ...(required.length === 0 ? {} : { required }),
    properties: Object.fromEntries(
      fields.map(([name, { schema, description }]) => [
        name,
        { ...(description === undefined ? {} : { description }), ...jsonSchema(schema) },
      ]),
    ),
    ...(open === true ? { "x-kubernetes-preserve-unknown-fields": true } : {}),
  };
}

function jsonSchema(schema: Schema): JsonObject {
  switch (schema.type) {
    case "string":
      return stringSchema(schema);
    case "integer":
      return { type: "integer", format: schema.format, ...limitsOf(schema, ["minimum", "maximum"]) };
    case "number":
    case "boolean":
      return { type: schema.type };
    case "array":
      return arraySchema(schema);
    case "map":
      return { type: "object", additionalProperties: jsonSchema(schema.values) };
    case "any":
      return { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    case "object":
      return objectSchema(schema);
  }
}

/** The limits of the schema. */
function limitsOf<S extends Schema>(schema: S, limits: readonly (keyof S)[]): JsonObject {
  return Object.fromEntries(limits.flatMap((name) => (schema[name] === undefined ? [] : [[name, schema[name]]])));
}

function stringSchema(schema: StringSchema): JsonObject {
  const { format } = schema;
  if (format === "int-or-string" || format === "quantity") return { "x-kubernetes-int-or-string": true };
  const isTime = format === "date-time" || format === "micro-time";
  return {
    type: "string",
    ...(isTime ? { format: "date-time" } : format === "byte" ? { format } : {}),
    ...limitsOf(schema, ["enum", "maxLength"]),
  };
}

function arraySchema(schema: ArraySchema): JsonObject {
  const { items, listType, listMapKeys } = schema;
  return {
    type: "array",
    ...limitsOf(schema, ["maxItems"]),
    items: jsonSchema(items),
    ...(listType === undefined ? {} : { "x-kubernetes-list-type": listType }),
    ...(listMapKeys === undefined ? {} : { "x-kubernetes-list-map-keys": listMapKeys }),
  };
}
