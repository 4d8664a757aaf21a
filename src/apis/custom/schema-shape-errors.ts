import { typeInvalid, type FieldError } from "../../apimachinery/field-error.ts";
import { isJsonArray, isJsonObject, type JsonObject } from "../../apimachinery/json-value.ts";
import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import type { Steps } from "../../apimachinery/steps.ts";

/**
 * Keywords whose values are of the wrong type, which Go would not decode; keywords that no schema has are passed over.
 * Source: apiextensions v1 JSONSchemaProps.
 */
export function* schemaShapeErrors(raw: JsonObject, path: string): Steps<readonly FieldError[]> {
  const walk: Walk = { errors: [], pace: { places: 0 } };
  yield* collect(raw, path, walk);
  return walk.errors;
}

interface Walk {
  readonly errors: FieldError[];
  readonly pace: Pace;
}

const maxErrors = 32;

type Shape =
  | "text"
  | "number"
  | "integer"
  | "boolean"
  | "texts"
  | "array"
  | "object"
  | "schema"
  | "schemas"
  | "schemas by name"
  | "schema or boolean"
  | "schema or schemas"
  | "rules";

const shapes: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  ["id", "text"],
  ["$schema", "text"],
  ["$ref", "text"],
  ["description", "text"],
  ["type", "text"],
  ["format", "text"],
  ["title", "text"],
  ["pattern", "text"],
  ["x-kubernetes-list-type", "text"],
  ["x-kubernetes-map-type", "text"],
  ["maximum", "number"],
  ["minimum", "number"],
  ["multipleOf", "number"],
  ["maxLength", "integer"],
  ["minLength", "integer"],
  ["maxItems", "integer"],
  ["minItems", "integer"],
  ["maxProperties", "integer"],
  ["minProperties", "integer"],
  ["exclusiveMaximum", "boolean"],
  ["exclusiveMinimum", "boolean"],
  ["uniqueItems", "boolean"],
  ["nullable", "boolean"],
  ["x-kubernetes-preserve-unknown-fields", "boolean"],
  ["x-kubernetes-embedded-resource", "boolean"],
  ["x-kubernetes-int-or-string", "boolean"],
  ["required", "texts"],
  ["x-kubernetes-list-map-keys", "texts"],
  ["enum", "array"],
  ["externalDocs", "object"],
  ["dependencies", "object"],
  ["not", "schema"],
  ["allOf", "schemas"],
  ["anyOf", "schemas"],
  ["oneOf", "schemas"],
  ["properties", "schemas by name"],
  ["patternProperties", "schemas by name"],
  ["definitions", "schemas by name"],
  ["additionalProperties", "schema or boolean"],
  ["additionalItems", "schema or boolean"],
  ["items", "schema or schemas"],
  ["x-kubernetes-validations", "rules"],
]);

const wording: Readonly<Record<Shape, string>> = {
  text: "must be a string",
  number: "must be a number",
  integer: "must be an integer",
  boolean: "must be a boolean",
  texts: "must be an array of strings",
  array: "must be an array",
  object: "must be an object",
  schema: "must be a schema",
  schemas: "must be an array of schemas",
  "schemas by name": "must be an object of schemas",
  "schema or boolean": "must be a schema or a boolean",
  "schema or schemas": "must be a schema",
  rules: "must be an array of objects",
};

function* collect(raw: JsonObject, path: string, walk: Walk): Steps<void> {
  const { errors, pace } = walk;
  if (endsStep(pace)) yield;
  for (const keyword of Object.keys(raw)) {
    const value = raw[keyword];
    const shape = shapes.get(keyword);
    if (shape === undefined || value === null) continue;
    if (errors.length >= maxErrors) return;
    const at = `${path}.${keyword}`;
    if (!hasShape[shape](value)) errors.push(typeInvalid(at, value, wording[shape]));
    else if (shape === "schemas by name" && isJsonObject(value)) {
      for (const name of Object.keys(value)) yield* collectSchema(value[name], `${at}[${name}]`, walk);
    } else if (isJsonArray(value) && (shape === "schemas" || shape === "schema or schemas")) {
      for (const [index, schema] of value.entries()) yield* collectSchema(schema, `${at}[${index}]`, walk);
    } else if (isJsonObject(value) && shape.startsWith("schema")) yield* collect(value, at, walk);
  }
}

function* collectSchema(schema: unknown, path: string, walk: Walk): Steps<void> {
  if (isJsonObject(schema)) yield* collect(schema, path, walk);
  else if (schema !== null) walk.errors.push(typeInvalid(path, schema, wording.schema));
}

/** Whether a key is one that a schema can have and whose value is of a known type. */
export function isSchemaKeyword(key: string): boolean {
  return shapes.has(key);
}

const hasShape: Readonly<Record<Shape, (value: unknown) => boolean>> = {
  text: (value) => typeof value === "string",
  number: (value) => typeof value === "number" && Number.isFinite(value),
  integer: (value) => Number.isSafeInteger(value),
  boolean: (value) => typeof value === "boolean",
  texts: (value) => isJsonArray(value) && value.every((one) => typeof one === "string"),
  array: isJsonArray,
  object: isJsonObject,
  schema: isJsonObject,
  schemas: isJsonArray,
  "schemas by name": isJsonObject,
  "schema or boolean": (value) => isJsonObject(value) || typeof value === "boolean",
  "schema or schemas": (value) => isJsonObject(value) || isJsonArray(value),
  rules: (value) => isJsonArray(value) && value.every(isJsonObject),
};
