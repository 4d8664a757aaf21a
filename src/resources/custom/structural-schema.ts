import { isJsonArray, isJsonObject, ownValue, type JsonObject } from "../../core/json-value.ts";
import { lazyPattern, type Pattern } from "./pattern.ts";

/** The types that a value of a custom resource can have. */
export type StructuralType = "array" | "boolean" | "integer" | "number" | "object" | "string";

/** One rule of `x-kubernetes-validations`, as it was written. */
export interface ValidationRule {
  readonly rule: string;
  readonly message: string | undefined;
  readonly messageExpression: string | undefined;
  readonly reason: string | undefined;
  readonly fieldPath: string | undefined;
  readonly optionalOldSelf: boolean | undefined;
}

/**
 * A part of the schema of a CustomResourceDefinition, read into typed form. The same type serves the structural part and what
 * stands below `allOf`, `anyOf`, `oneOf` and `not`. All fields are always present, undefined where the schema is silent.
 * Source: apiextensions v1 JSONSchemaProps, apiextensions-apiserver pkg/apiserver/schema Structural.
 */
export interface StructuralSchema {
  readonly type: StructuralType | undefined;
  readonly format: string | undefined;
  readonly title: string | undefined;
  readonly description: string | undefined;
  /** Never null: `default: null` is no default. */
  readonly default: unknown;
  readonly example: unknown;
  readonly externalDocs: JsonObject | undefined;
  readonly nullable: boolean;
  /** Empty when any value will do. */
  readonly enum: readonly unknown[];
  /** Those of `enum` that are no objects and lists; undefined where `enum` is empty. */
  readonly enumScalars: ReadonlySet<unknown> | undefined;
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
  readonly exclusiveMinimum: boolean;
  readonly exclusiveMaximum: boolean;
  readonly multipleOf: number | undefined;
  readonly minLength: number | undefined;
  readonly maxLength: number | undefined;
  readonly pattern: Pattern | undefined;
  readonly minItems: number | undefined;
  readonly maxItems: number | undefined;
  readonly uniqueItems: boolean;
  readonly minProperties: number | undefined;
  readonly maxProperties: number | undefined;
  readonly required: readonly string[];
  readonly items: StructuralSchema | undefined;
  /** A map, since its keys are chosen by others; empty when the schema names no properties. */
  readonly properties: ReadonlyMap<string, StructuralSchema>;
  readonly additionalProperties: StructuralSchema | boolean | undefined;
  readonly allOf: readonly StructuralSchema[];
  readonly anyOf: readonly StructuralSchema[];
  readonly oneOf: readonly StructuralSchema[];
  readonly not: StructuralSchema | undefined;
  /** `x-kubernetes-preserve-unknown-fields`. */
  readonly preserveUnknownFields: boolean;
  /** `x-kubernetes-embedded-resource`. */
  readonly embeddedResource: boolean;
  /** `x-kubernetes-int-or-string`. */
  readonly intOrString: boolean;
  /** `x-kubernetes-list-type`; undefined behaves as atomic. */
  readonly listType: "atomic" | "set" | "map" | undefined;
  readonly listMapKeys: readonly string[];
  /** `x-kubernetes-map-type`; undefined behaves as granular. */
  readonly mapType: "atomic" | "granular" | undefined;
  /** `x-kubernetes-validations`. */
  readonly validations: readonly ValidationRule[];
  /** Whether this or something structurally below is an embedded resource. */
  readonly holdsEmbedded: boolean;
  /** Whether this or something structurally below is a list of type set or map. */
  readonly holdsUniqueLists: boolean;
}

/**
 * The typed form of a schema in which `schemaErrors` found nothing; what is of the wrong type reads as absent. Patterns are
 * compiled when a value meets them first, and once.
 */
export function readStructural(raw: JsonObject): StructuralSchema {
  const items = schemaAt(raw, "items");
  const properties = schemasByName(raw);
  const additionalProperties = additionalAt(raw);
  const embeddedResource = isTrueAt(raw, "x-kubernetes-embedded-resource");
  const listType = oneOf(textAt(raw, "x-kubernetes-list-type"), ["atomic", "set", "map"] as const);
  const below = [
    ...properties.values(),
    ...(items === undefined ? [] : [items]),
    ...(typeof additionalProperties === "object" ? [additionalProperties] : []),
  ];
  return {
    type: oneOf(textAt(raw, "type"), types),
    ...readTexts(raw),
    ...readBounds(raw),
    default: ownValue(raw, "default") ?? undefined,
    example: ownValue(raw, "example") ?? undefined,
    nullable: isTrueAt(raw, "nullable"),
    ...readEnum(raw),
    uniqueItems: isTrueAt(raw, "uniqueItems"),
    required: textsAt(raw, "required"),
    items,
    properties,
    additionalProperties,
    allOf: objectsAt(raw, "allOf").map(readStructural),
    anyOf: objectsAt(raw, "anyOf").map(readStructural),
    oneOf: objectsAt(raw, "oneOf").map(readStructural),
    not: schemaAt(raw, "not"),
    preserveUnknownFields: isTrueAt(raw, "x-kubernetes-preserve-unknown-fields"),
    embeddedResource,
    intOrString: isTrueAt(raw, "x-kubernetes-int-or-string"),
    listType,
    listMapKeys: textsAt(raw, "x-kubernetes-list-map-keys"),
    mapType: oneOf(textAt(raw, "x-kubernetes-map-type"), ["atomic", "granular"] as const),
    validations: objectsAt(raw, "x-kubernetes-validations").map(readRule),
    holdsEmbedded: embeddedResource || below.some((schema) => schema.holdsEmbedded),
    holdsUniqueLists: listType === "set" || listType === "map" || below.some((schema) => schema.holdsUniqueLists),
  };
}

function readEnum(raw: JsonObject): Pick<StructuralSchema, "enum" | "enumScalars"> {
  const values = arrayAt(raw, "enum");
  const scalars = values.length === 0 ? undefined : new Set(values.filter((value) => typeof value !== "object"));
  return { enum: values, enumScalars: scalars };
}

const types = ["array", "boolean", "integer", "number", "object", "string"] as const;

function readTexts(
  raw: JsonObject,
): Pick<StructuralSchema, "format" | "title" | "description" | "pattern" | "externalDocs"> {
  const pattern = textAt(raw, "pattern");
  const externalDocs = ownValue(raw, "externalDocs");
  return {
    format: textAt(raw, "format"),
    title: textAt(raw, "title"),
    description: textAt(raw, "description"),
    pattern: pattern === undefined ? undefined : lazyPattern(pattern),
    externalDocs: isJsonObject(externalDocs) ? externalDocs : undefined,
  };
}

type Bounds =
  | "minimum"
  | "maximum"
  | "exclusiveMinimum"
  | "exclusiveMaximum"
  | "multipleOf"
  | "minLength"
  | "maxLength"
  | "minItems"
  | "maxItems"
  | "minProperties"
  | "maxProperties";

function readBounds(raw: JsonObject): Pick<StructuralSchema, Bounds> {
  return {
    minimum: numberAt(raw, "minimum"),
    maximum: numberAt(raw, "maximum"),
    exclusiveMinimum: isTrueAt(raw, "exclusiveMinimum"),
    exclusiveMaximum: isTrueAt(raw, "exclusiveMaximum"),
    multipleOf: numberAt(raw, "multipleOf"),
    minLength: numberAt(raw, "minLength"),
    maxLength: numberAt(raw, "maxLength"),
    minItems: numberAt(raw, "minItems"),
    maxItems: numberAt(raw, "maxItems"),
    minProperties: numberAt(raw, "minProperties"),
    maxProperties: numberAt(raw, "maxProperties"),
  };
}

function readRule(raw: JsonObject): ValidationRule {
  const optionalOldSelf = ownValue(raw, "optionalOldSelf");
  return {
    rule: textAt(raw, "rule") ?? "",
    message: textAt(raw, "message"),
    messageExpression: textAt(raw, "messageExpression"),
    reason: textAt(raw, "reason"),
    fieldPath: textAt(raw, "fieldPath"),
    optionalOldSelf: typeof optionalOldSelf === "boolean" ? optionalOldSelf : undefined,
  };
}

const none: ReadonlyMap<string, StructuralSchema> = new Map();

function schemasByName(raw: JsonObject): ReadonlyMap<string, StructuralSchema> {
  const found = ownValue(raw, "properties");
  if (!isJsonObject(found)) return none;
  const properties = new Map<string, StructuralSchema>();
  for (const [name, schema] of Object.entries(found)) {
    properties.set(name, readStructural(isJsonObject(schema) ? schema : {}));
  }
  return properties;
}

function additionalAt(raw: JsonObject): StructuralSchema | boolean | undefined {
  const found = ownValue(raw, "additionalProperties");
  return typeof found === "boolean" ? found : schemaAt(raw, "additionalProperties");
}

function schemaAt(raw: JsonObject, key: string): StructuralSchema | undefined {
  const found = ownValue(raw, key);
  return isJsonObject(found) ? readStructural(found) : undefined;
}

// Schemas of real kinds have thousands of parts with some forty keywords to ask each for: what is absent must cost little.

/** Go keeps no difference between an empty text and none. */
function textAt(raw: JsonObject, key: string): string | undefined {
  const text = ownValue(raw, key);
  return typeof text === "string" && text !== "" ? text : undefined;
}

function isTrueAt(raw: JsonObject, key: string): boolean {
  return ownValue(raw, key) === true;
}

function numberAt(raw: JsonObject, key: string): number | undefined {
  const number = ownValue(raw, key);
  return typeof number === "number" ? number : undefined;
}

const empty: readonly unknown[] = [];

function arrayAt(raw: JsonObject, key: string): readonly unknown[] {
  const array = ownValue(raw, key);
  return isJsonArray(array) ? array : empty;
}

function textsAt(raw: JsonObject, key: string): readonly string[] {
  return arrayAt(raw, key).filter((element) => typeof element === "string");
}

function objectsAt(raw: JsonObject, key: string): readonly JsonObject[] {
  return arrayAt(raw, key).map((element) => (isJsonObject(element) ? element : {}));
}

function oneOf<T extends string>(text: string | undefined, allowed: readonly T[]): T | undefined {
  return allowed.find((one) => one === text);
}
