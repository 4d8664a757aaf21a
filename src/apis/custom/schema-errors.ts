import { forbiddenField, invalid, type FieldError } from "../../apimachinery/field-error.ts";
import type { JsonObject } from "../../apimachinery/json-value.ts";
import { finish, type Steps } from "../../apimachinery/steps.ts";
import { isTrueAt, valueAt } from "../json-fields.ts";
import { defaultErrors, type DefaultRuleErrors } from "./default-errors.ts";
import { keywordErrors } from "./keyword-errors.ts";
import { isSchemaKeyword, schemaShapeErrors } from "./schema-shape-errors.ts";
import type { SeenPatterns } from "./pattern-errors.ts";
import { structuralErrors } from "./structural-errors.ts";
import { structuralSteps, type StructuralSchema } from "./structural-schema.ts";

/** What else there is to know of a schema that is checked. */
export interface SchemaErrorOptions {
  /** Whether its version has the subresource status, which allows less at the root. */
  readonly statusSubresource: boolean;
  /** Checks all CEL rules of the schema, given the path of its root; called only when nothing else is wrong. */
  readonly rules?: (schema: StructuralSchema, path: string) => Steps<readonly FieldError[]>;
  /** The patterns of other versions of the definition; default: none. */
  readonly patterns?: SeenPatterns;
  /** Holds a default against the CEL rules of its schema. */
  readonly defaultRules?: DefaultRuleErrors;
}

/**
 * Everything for which Kubernetes refuses the schema of one version of a CustomResourceDefinition: keywords of the wrong type, of
 * no use or forbidden, what is not structural, patterns that are none, defaults that are not pruned or not valid. `path` is where the schema
 * stands, such as `spec.versions[0].schema.openAPIV3Schema`. The schema nests no deeper than decoding allows.
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
    // A type that is none reads as absent, but it is there.
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

/** Keywords that may stand at the root beside a status that is validated by itself, as Kubernetes lists them. */
const allowedWithStatus: Readonly<Record<string, string>> = {
  description: "Description",
  type: "Type",
  format: "Format",
  title: "Title",
  maximum: "Maximum",
  exclusiveMaximum: "ExclusiveMaximum",
  minimum: "Minimum",
  exclusiveMinimum: "ExclusiveMinimum",
  maxLength: "MaxLength",
  minLength: "MinLength",
  pattern: "Pattern",
  maxItems: "MaxItems",
  minItems: "MinItems",
  uniqueItems: "UniqueItems",
  multipleOf: "MultipleOf",
  required: "Required",
  items: "Items",
  properties: "Properties",
  externalDocs: "ExternalDocs",
  example: "Example",
  "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
  "x-kubernetes-validations": "XValidations",
};

function rootErrors(raw: JsonObject, path: string, options: SchemaErrorOptions): readonly FieldError[] {
  return [
    ...(options.statusSubresource ? rootErrorsWithStatus(raw, path) : []),
    ...(isTrueAt(raw, "nullable") ? [forbiddenField(`${path}.nullable`, "nullable cannot be true at the root")] : []),
  ];
}

function rootErrorsWithStatus(raw: JsonObject, path: string): readonly FieldError[] {
  const type = valueAt(raw, "type") ?? "";
  if (type !== "" && type !== "object") {
    const why = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    return [invalid(`${path}.type`, type, why)];
  }
  const stray = Object.keys(raw).some(
    (key) => (key === "default" || isSchemaKeyword(key)) && !Object.hasOwn(allowedWithStatus, key) && !isZero(raw[key]),
  );
  if (!stray) return [];
  const list = Object.values(allowedWithStatus).join(" ");
  const why = `only [${list}] fields are allowed at the root of the schema if the status subresource is enabled`;
  return [invalid(path, raw, why)];
}

/** Go does not tell these from absence. */
function isZero(value: unknown): boolean {
  return value === undefined || value === null || value === false || value === "";
}
