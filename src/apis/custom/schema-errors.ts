import { forbiddenField, invalid, type FieldError, typeInvalid } from "../../apimachinery/field-error.ts";
import { type JsonObject, isJsonArray, isJsonObject } from "../../apimachinery/json-value.ts";
import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import { finish, type Steps } from "../../apimachinery/steps.ts";
import { isTrueAt, valueAt } from "../json-fields.ts";
import { defaultErrors, type DefaultRuleErrors } from "./default-errors.ts";
import { keywordErrors } from "./keyword-errors.ts";
import type { SeenPatterns } from "./pattern-errors.ts";
import { structuralErrors } from "./structural-errors.ts";
import { structuralSteps, type StructuralSchema } from "./structural-schema.ts";
import { fieldErrors } from "../field-rules.ts";

/** The context of a schema that is checked. */
export interface SchemaErrorOptions {
  /** Whether its version has the subresource status, which allows fewer keywords at the root. */
  readonly statusSubresource: boolean;
  /** Checks all CEL rules of the schema, given the path of its root; called only when there are no other errors. */
  readonly rules?: (schema: StructuralSchema, path: string) => Steps<readonly FieldError[]>;
  /** The patterns of other versions of the definition; default: none. */
  readonly patterns?: SeenPatterns;
  /** Checks a default against the CEL rules of its schema. */
  readonly defaultRules?: DefaultRuleErrors;
}

/**
 * All errors of the schema of one version of a CustomResourceDefinition: keywords of the wrong type, useless
 * or forbidden ones, a schema that is not structural, invalid patterns, unpruned or invalid defaults. `path` is that of the schema,
 * such as `spec.versions[0].schema.openAPIV3Schema`. The schema is no deeper than decoding allows.
 * Source: apiextensions-apiserver pkg/apis/apiextensions/validation.
 */
export function schemaErrors(raw: JsonObject, path: string, options: SchemaErrorOptions): readonly FieldError[] {
  return finish(schemaErrorSteps(raw, path, options));
}

/** The same in steps. */
export function* schemaErrorSteps(
  raw: JsonObject,
  path: string,
  options: SchemaErrorOptions,
): Steps<readonly FieldError[]> {
  const shape = yield* schemaShapeErrors(raw, path);
  if (shape.length > 0) return shape;
  yield;
  const schema = yield* structuralSteps(raw, { places: 0 });
  yield;
  const keywords = yield* keywordErrors(raw, path);
  const typed = new Set(
    keywords.errors.filter(({ type }) => type === "FieldValueNotSupported").map((error) => error.path),
  );
  const structure = keywords.isReadable ? yield* structureErrors(schema, path, options) : [];
  const errors = [
    ...rootErrors(raw, path, options),
    // An invalid type reads as absent, but it is present.
    ...structure.filter((error) => error.type !== "FieldValueRequired" || !typed.has(error.path)),
    ...keywords.errors,
  ].slice(0, maxErrors);
  return errors.length === 0 && options.rules !== undefined ? yield* options.rules(schema, path) : errors;
}

const maxErrors = 100;

function* structureErrors(
  schema: StructuralSchema,
  path: string,
  options: SchemaErrorOptions,
): Steps<readonly FieldError[]> {
  const errors = yield* structuralErrors(schema, path, options.patterns);
  return errors.length > 0 ? errors : yield* defaultErrors(schema, path, options.defaultRules);
}

/** Keywords that are allowed at the root beside the subresource status, as Kubernetes lists them. */
const allowedWithStatus: readonly string[] =
  `description type format title maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern maxItems minItems
  uniqueItems multipleOf required items properties externalDocs example
  x-kubernetes-preserve-unknown-fields x-kubernetes-validations`.split(/\s+/);

/** The name of a keyword in Go. */
function goName(keyword: string): string {
  return keyword
    .replace("x-kubernetes", "x")
    .replaceAll(/(?:^|-)(.)/g, (_match, letter: string) => letter.toUpperCase());
}

function rootErrors(raw: JsonObject, path: string, options: SchemaErrorOptions): readonly FieldError[] {
  return fieldErrors(
    options.statusSubresource && rootErrorsWithStatus(raw, path),
    isTrueAt(raw, "nullable") && forbiddenField(`${path}.nullable`, "nullable cannot be true at the root"),
  );
}

function rootErrorsWithStatus(raw: JsonObject, path: string): readonly FieldError[] {
  const type = valueAt(raw, "type") ?? "";
  if (type !== "" && type !== "object") {
    const why = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    return [invalid(`${path}.type`, type, why)];
  }
  const stray = Object.keys(raw).some(
    (key) => (key === "default" || isSchemaKeyword(key)) && !allowedWithStatus.includes(key) && !isZero(raw[key]),
  );
  if (!stray) return [];
  const list = allowedWithStatus.map(goName).join(" ");
  const why = `only [${list}] fields are allowed at the root of the schema if the status subresource is enabled`;
  return [invalid(path, raw, why)];
}

/** Go does not distinguish these from absence. */
function isZero(value: unknown): boolean {
  return value === undefined || value === null || value === false || value === "";
}

/**
 * Keywords whose values are of the wrong type, which Go would not decode; unknown keywords are ignored.
 * Source: apiextensions v1 JSONSchemaProps.
 */
function* schemaShapeErrors(raw: JsonObject, path: string): Steps<readonly FieldError[]> {
  const walk: Walk = { errors: [], pace: { places: 0 } };
  yield* collect(raw, path, walk);
  return walk.errors;
}

interface Walk {
  readonly errors: FieldError[];
  readonly pace: Pace;
}

const maxShapeErrors = 32;

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

const keywords: Readonly<Record<Shape, string>> = {
  text: "id $schema $ref description type format title pattern x-kubernetes-list-type x-kubernetes-map-type",
  number: "maximum minimum multipleOf",
  integer: "maxLength minLength maxItems minItems maxProperties minProperties",
  boolean: `exclusiveMaximum exclusiveMinimum uniqueItems nullable x-kubernetes-preserve-unknown-fields
    x-kubernetes-embedded-resource x-kubernetes-int-or-string`,
  texts: "required x-kubernetes-list-map-keys",
  array: "enum",
  object: "externalDocs dependencies",
  schema: "not",
  schemas: "allOf anyOf oneOf",
  "schemas by name": "properties patternProperties definitions",
  "schema or boolean": "additionalProperties additionalItems",
  "schema or schemas": "items",
  rules: "x-kubernetes-validations",
};

const shapes: ReadonlyMap<string, Shape> = new Map(
  Object.entries(keywords).flatMap(([shape, names]) => names.split(/\s+/).map((name) => [name, shape as Shape])),
);

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
    if (errors.length >= maxShapeErrors) return;
    const at = `${path}.${keyword}`;
    if (!hasShape[shape](value)) errors.push(typeInvalid(at, value, wording[shape]));
    else for (const [step, schema] of schemasOf(shape, value)) yield* collectSchema(schema, at + step, walk);
  }
}

/** The schemas in the value of a keyword, each with its path step. */
function schemasOf(shape: Shape, value: unknown): readonly (readonly [step: string, schema: unknown])[] {
  if (!shape.startsWith("schema")) return [];
  if (isJsonArray(value)) return value.map((schema, index) => [`[${index}]`, schema]);
  if (!isJsonObject(value)) return [];
  return shape === "schemas by name"
    ? Object.entries(value).map(([name, schema]) => [`[${name}]`, schema])
    : [["", value]];
}

function* collectSchema(schema: unknown, path: string, walk: Walk): Steps<void> {
  if (isJsonObject(schema)) yield* collect(schema, path, walk);
  else if (schema !== null) walk.errors.push(typeInvalid(path, schema, wording.schema));
}

/** Whether a key is a keyword whose value is of a known type. */
function isSchemaKeyword(key: string): boolean {
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
