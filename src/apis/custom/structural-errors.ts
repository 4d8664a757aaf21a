import { forbiddenField, invalid, required, type FieldError } from "../../apimachinery/field-error.ts";
import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import { newSeenPatterns, patternErrors, type SeenPatterns } from "./pattern-errors.ts";
import { type StructuralSchema, alternatives } from "./structural-schema.ts";
import { fieldErrors, type FieldResult } from "../field-rules.ts";

/**
 * Why a schema is not structural: missing types, forbidden keywords below `allOf` and the like,
 * value rules without a schema, invalid patterns. Sorted by path. Source: apiextensions-apiserver pkg/apiserver/schema ValidateStructural.
 */
export function* structuralErrors(
  schema: StructuralSchema,
  path: string,
  patterns: SeenPatterns = newSeenPatterns(),
): Steps<readonly FieldError[]> {
  const errors: FieldError[] = [];
  const pace: Pace = { places: 0 };
  yield* checkStructural(schema, { path, level: "root", errors, pace });
  yield* checkCompleteness(schema, schema, { structuralPath: path, path, errors, pace });
  errors.push(...(yield* patternErrors(schema, path, patterns)));
  return errors
    .map((error) => ({ error, text: `${error.path}: ${error.message}` }))
    .sort((one, other) => (one.text < other.text ? -1 : 1))
    .map(({ error }) => error);
}

/** Maximum number of errors before the rest of a schema is skipped. */
const enoughErrors = 1000;

interface Place {
  readonly path: string;
  readonly level: "root" | "item" | "field";
  readonly errors: FieldError[];
  readonly pace: Pace;
}

function* checkStructural(schema: StructuralSchema, place: Place): Steps<void> {
  const { path, level, errors, pace } = place;
  if (errors.length >= enoughErrors) return;
  if (endsStep(pace)) yield;
  const { items, additionalProperties } = schema;
  if (items !== undefined) yield* checkStructural(items, below(place, "items", "item"));
  for (const [name, property] of schema.properties) {
    yield* checkStructural(property, below(place, `properties[${name}]`, "field"));
  }
  if (typeof additionalProperties === "object") {
    yield* checkStructural(additionalProperties, below(place, "additionalProperties", "field"));
  }
  errors.push(...intOrStringErrors(schema, path));
  yield* checkValueRules(schema, place, {
    skipAnyOf: isIntOrString(schema.anyOf),
    skipFirstOfAll: schema.allOf.slice(0, 1).some(({ anyOf }) => isIntOrString(anyOf)),
  });
  errors.push(...typeErrors(schema, place));
  if (level === "root") errors.push(...rootErrors(schema, path));
  if (level === "root" || schema.embeddedResource) errors.push(...metaTypeErrors(schema, place));
}

function below(place: Place, step: string, level: Place["level"] = place.level): Place {
  return { ...place, path: `${place.path}.${step}`, level };
}

function intOrStringErrors(schema: StructuralSchema, path: string): readonly FieldError[] {
  if (!schema.intOrString) return [];
  const why = "must be false if x-kubernetes-int-or-string is true";
  return fieldErrors(
    schema.preserveUnknownFields && invalid(`${path}.x-kubernetes-preserve-unknown-fields`, true, why),
    schema.embeddedResource && invalid(`${path}.x-kubernetes-embedded-resource`, true, why),
  );
}

const mustHaveType = {
  root: "must not be empty at the root",
  item: "must not be empty for specified array items",
  field: "must not be empty for specified object fields",
} as const;

function typeErrors(schema: StructuralSchema, { path, level }: Place): readonly FieldError[] {
  const { type, intOrString, preserveUnknownFields } = schema;
  const at = `${path}.type`;
  return fieldErrors(
    type === "array" && schema.items === undefined && required(`${path}.items`, "must be specified"),
    schema.embeddedResource
      ? embeddedErrors(schema, path)
      : type === undefined && !intOrString && !preserveUnknownFields && required(at, mustHaveType[level]),
    level === "root" && type !== undefined && type !== "object" && invalid(at, type, "must be object at the root"),
  );
}

function embeddedErrors(schema: StructuralSchema, path: string): FieldResult {
  const { type, properties, additionalProperties, preserveUnknownFields } = schema;
  const isOther = "must be object if x-kubernetes-embedded-resource is true";
  const isMap = "must not be used if x-kubernetes-embedded-resource is set";
  const isBare =
    "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
  return [
    type === undefined && required(`${path}.type`, isOther),
    type !== undefined && type !== "object" && invalid(`${path}.type`, type, isOther),
    additionalProperties !== undefined && forbiddenField(`${path}.additionalProperties`, isMap),
    !preserveUnknownFields && properties.size === 0 && required(`${path}.properties`, isBare),
  ];
}

function metaTypeErrors(schema: StructuralSchema, { path }: Place): readonly FieldError[] {
  const wanted = [
    ["kind", "string"],
    ["apiVersion", "string"],
    ["metadata", "object"],
  ] as const;
  return wanted.flatMap(([name, type]) => {
    const property = schema.properties.get(name);
    if (property === undefined || property.type === type) return [];
    return [invalid(`${path}.properties[${name}].type`, property.type ?? "", `must be ${type}`)];
  });
}

/** Keywords that metadata of the root may have; all others would restrict the metadata of every object. */
const metadataAllows: ReadonlySet<keyof StructuralSchema> = new Set([
  "type",
  "default",
  "properties",
  "holdsEmbedded",
  "holdsUniqueLists",
] as const);

function rootErrors(schema: StructuralSchema, path: string): readonly FieldError[] {
  const metadata = schema.properties.get("metadata");
  const why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
  return fieldErrors(
    schema.additionalProperties !== undefined &&
      forbiddenField(`${path}.additionalProperties`, "must not be used at the root"),
    metadata !== undefined && !isPlainMetadata(metadata) && forbiddenField(`${path}.properties[metadata]`, why),
  );
}

function isPlainMetadata(metadata: StructuralSchema): boolean {
  return (
    [...metadata.properties.keys()].every((name) => name === "name" || name === "generateName") &&
    Object.entries(metadata).every(
      ([keyword, value]) => metadataAllows.has(keyword as keyof StructuralSchema) || isEmpty(value),
    )
  );
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === false || (Array.isArray(value) && value.length === 0);
}

/** Which parts have the one form in which types are allowed there. */
interface Skips {
  readonly skipAnyOf: boolean;
  readonly skipFirstOfAll: boolean;
}

/** Checks the schemas below `allOf` and the like. */
function* checkValueRules(schema: StructuralSchema, place: Place, skips: Skips): Steps<void> {
  for (const [step, one] of alternatives(schema)) {
    if (skips.skipAnyOf && step.startsWith("anyOf")) continue;
    yield* checkNested(one, below(place, step), skips.skipFirstOfAll && step === "allOf[0]");
  }
}

/** The one form in which types are allowed below `anyOf`: an integer, or a text. */
function isIntOrString([first, second, ...more]: readonly StructuralSchema[]): boolean {
  return more.length === 0 && isBare(first, "integer") && isBare(second, "string");
}

function isBare(schema: StructuralSchema | undefined, type: "integer" | "string"): boolean {
  return (
    schema?.type === type &&
    schema.properties.size === 0 &&
    Object.entries(schema).every(([keyword, value]) => keyword === "type" || keyword === "properties" || isEmpty(value))
  );
}

function* checkNested(schema: StructuralSchema, place: Place, skipAnyOf = false): Steps<void> {
  const { path, errors, pace } = place;
  if (errors.length >= enoughErrors) return;
  if (endsStep(pace)) yield;
  yield* checkValueRules(schema, place, { skipAnyOf, skipFirstOfAll: false });
  if (schema.items !== undefined) yield* checkNested(schema.items, below(place, "items"));
  for (const [name, property] of schema.properties) {
    yield* checkNested(property, below(place, `properties[${name}]`, "field"));
  }
  for (const [keyword, isUsed, why] of forbiddenWithin(schema)) {
    if (isUsed) errors.push(forbiddenField(`${path}.${keyword}`, `must be ${why} to be structural`));
  }
  // allOf could otherwise restrict metadata.
  if (schema.properties.has("metadata")) {
    errors.push(forbiddenField(`${path}.properties[metadata]`, "must not be specified in a nested context"));
  }
}

function forbiddenWithin(schema: StructuralSchema): readonly (readonly [string, boolean, string])[] {
  const { additionalProperties } = schema;
  return [
    ["type", schema.type !== undefined, "empty"],
    ["additionalProperties", additionalProperties !== undefined && additionalProperties !== false, "undefined"],
    ["default", schema.default !== undefined, "undefined"],
    ["title", schema.title !== undefined, "empty"],
    ["description", schema.description !== undefined, "empty"],
    ["nullable", schema.nullable, "false"],
    ["x-kubernetes-preserve-unknown-fields", schema.preserveUnknownFields, "false"],
    ["x-kubernetes-embedded-resource", schema.embeddedResource, "false"],
    ["x-kubernetes-int-or-string", schema.intOrString, "false"],
    ["x-kubernetes-list-map-keys", schema.listMapKeys.length > 0, "empty"],
    ["x-kubernetes-list-type", schema.listType !== undefined, "undefined"],
    ["x-kubernetes-map-type", schema.mapType !== undefined, "undefined"],
    ["x-kubernetes-validations", schema.validations.length > 0, "empty"],
  ];
}

interface Pair {
  /** The path where the structural schema of the place is, or would be. */
  readonly structuralPath: string;
  /** The path of the value rule that needs it. */
  readonly path: string;
  readonly errors: FieldError[];
  readonly pace: Pace;
}

/** Checks that each value rule below `allOf` and the like has a structural schema. */
function* checkCompleteness(rules: StructuralSchema, structure: StructuralSchema | undefined, pair: Pair): Steps<void> {
  for (const [step, one] of alternatives(rules)) {
    yield* checkNestedCompleteness(one, structure, { ...pair, path: `${pair.path}.${step}` });
  }
}

function* checkNestedCompleteness(
  rules: StructuralSchema,
  structure: StructuralSchema | undefined,
  pair: Pair,
): Steps<void> {
  const { structuralPath, path, errors, pace } = pair;
  if (errors.length >= enoughErrors) return;
  if (endsStep(pace)) yield;
  if (structure === undefined) {
    errors.push(required(structuralPath, `because it is defined in ${path}`));
    return;
  }
  yield* checkCompleteness(rules, structure, pair);
  const next = (step: string): Pair => ({
    structuralPath: `${structuralPath}.${step}`,
    path: `${path}.${step}`,
    errors,
    pace,
  });
  if (rules.items !== undefined) yield* checkNestedCompleteness(rules.items, structure.items, next("items"));
  for (const [name, property] of rules.properties) {
    yield* checkNestedCompleteness(property, structure.properties.get(name), next(`properties[${name}]`));
  }
}
