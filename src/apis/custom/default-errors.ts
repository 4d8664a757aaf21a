import { jsonEqual } from "../../apimachinery/equal.ts";
import { invalid, type FieldError } from "../../apimachinery/field-error.ts";
import { isJsonArray, isJsonObject } from "../../apimachinery/json-value.ts";
import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import { embeddedErrors } from "./validate-value.ts";
import { pruned, isMetaField } from "./settle.ts";
import type { StructuralSchema } from "./structural-schema.ts";
import { valueSchemaErrors } from "./value-schema-errors.ts";

/** Checks the default of a schema against the CEL rules of that schema. */
export type DefaultRuleErrors = (
  schema: StructuralSchema,
  value: unknown,
  path: string,
) => Steps<readonly FieldError[]>;

/**
 * Errors of the defaults of the structural schema of a resource: fields that would be pruned, values that the schema itself
 * rejects, invalid metadata. Values of `additionalProperties` have no defaults that could be checked.
 * Source: apiextensions-apiserver pkg/apiserver/schema/defaulting ValidateDefaults.
 */
export function* defaultErrors(
  schema: StructuralSchema,
  path: string,
  rules?: DefaultRuleErrors,
): Steps<readonly FieldError[]> {
  const errors: FieldError[] = [];
  const resource: StructuralSchema = { ...schema, embeddedResource: true, holdsEmbedded: true };
  yield* collect(resource, path, { rules, errors, pace: { places: 0 }, ...surrounding(resource), isMeta: false });
  return errors;
}

/** Maximum number of errors before the rest of a schema is skipped. */
const enoughErrors = 1000;
/** The cost of checking a default, relative to visiting a place. */
const placesOfDefault = 4;

interface Walk {
  readonly rules: DefaultRuleErrors | undefined;
  readonly errors: FieldError[];
  readonly pace: Pace;
  /** The resource that contains the place. */
  readonly resource: StructuralSchema;
  /** That resource with only a value at the place. */
  readonly around: (value: unknown) => unknown;
  /** Whether the place is in apiVersion, kind or metadata of the resource. */
  readonly isMeta: boolean;
}

function surrounding(resource: StructuralSchema): Pick<Walk, "resource" | "around"> {
  const around = (value: unknown): unknown =>
    isJsonObject(value) ? { apiVersion: "validation/v1", kind: "Validation", ...value } : value;
  return { resource, around };
}

function* collect(schema: StructuralSchema, path: string, above: Walk): Steps<void> {
  if (above.errors.length >= enoughErrors) return;
  if (endsStep(above.pace, schema.default === undefined ? 1 : placesOfDefault)) yield;
  const walk = schema.embeddedResource ? { ...above, ...surrounding(schema), isMeta: false } : above;
  const { items, properties } = schema;
  if (schema.default !== undefined) walk.errors.push(...(yield* errorsOfDefault(schema, `${path}.default`, walk)));
  if (items !== undefined) {
    yield* collect(items, `${path}.items`, { ...walk, around: (value) => walk.around([value]) });
  }
  for (const [name, property] of properties) {
    yield* collect(property, `${path}.properties[${name}]`, {
      ...walk,
      isMeta: walk.isMeta || (schema.embeddedResource && isMetaField(name)),
      around: (value) => walk.around(Object.fromEntries([[name, value]])),
    });
  }
}

function* errorsOfDefault(schema: StructuralSchema, path: string, walk: Walk): Steps<readonly FieldError[]> {
  const value = schema.default;
  const metaErrors = yield* walk.isMeta ? metadataErrors(value, path, walk) : embeddedErrors(schema, value, path);
  const errors = [
    ...(walk.isMeta ? [] : prunedErrors(schema, path)),
    ...(metaErrors.length > 0 ? metaErrors : yield* valueSchemaErrors(schema, value, { path, stored: undefined })),
  ];
  return errors.length === 0 && walk.rules !== undefined ? yield* walk.rules(schema, value, path) : errors;
}

function* metadataErrors(value: unknown, path: string, { resource, around }: Walk): Steps<readonly FieldError[]> {
  const found = yield* embeddedErrors(resource, around(value), "");
  const texts = found.map((error) => `${error.path}: ${error.message}`);
  if (texts.length === 0) return [];
  const all = texts.length === 1 ? (texts[0] ?? "") : `[${texts.join(", ")}]`;
  return [invalid(path, value, `must result in valid metadata: ${all}`)];
}

function prunedErrors(schema: StructuralSchema, path: string): readonly FieldError[] {
  const value = schema.default;
  if (!isJsonObject(value) && !isJsonArray(value)) return [];
  // A list is pruned inside an object.
  const held = { default: value };
  const holder: StructuralSchema = { ...schema, ...plainHolder, properties: new Map([["default", schema]]) };
  const isPruned = jsonEqual(pruned(holder, held, { isResourceRoot: false, embeddedMetadata: "kept" }).object, held);
  return isPruned ? [] : [invalid(path, value, "must not have unknown fields")];
}

const plainHolder = { additionalProperties: undefined, preserveUnknownFields: false, embeddedResource: false } as const;
