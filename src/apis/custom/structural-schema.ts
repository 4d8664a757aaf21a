import { isJsonArray, isJsonObject, ownValue, type JsonObject } from "../../apimachinery/json-value.ts";
import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import { finish, type Steps } from "../../apimachinery/steps.ts";
import { lazyPattern, type Pattern } from "./pattern.ts";

/** The types that a value of a custom resource can have. */
export type StructuralType = "array" | "boolean" | "integer" | "number" | "object" | "string";

/** One rule of `x-kubernetes-validations`, as written. */
export interface ValidationRule {
  readonly rule: string;
  readonly message: string | undefined;
  readonly messageExpression: string | undefined;
  readonly reason: string | undefined;
  readonly fieldPath: string | undefined;
  readonly optionalOldSelf: boolean | undefined;
}

/**
 * A part of the schema of a CustomResourceDefinition in typed form. The same type serves the structural part and the schemas
 * below `allOf`, `anyOf`, `oneOf` and `not`. All fields are always present, undefined where the schema does not set them.
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
  /** Empty when any value is valid. */
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
  /** A map, since clients choose its keys; empty when the schema declares no properties. */
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
 * The typed form of a schema without `schemaErrors`; a keyword of the wrong type reads as absent. Patterns are
 * compiled once, at first use.
 */
export function readStructural(raw: JsonObject): StructuralSchema {
  return finish(structuralSteps(raw, { places: 0 }));
}

/** The same in steps. */
export function* structuralSteps(raw: JsonObject, pace: Pace): Steps<StructuralSchema> {
  if (endsStep(pace)) yield;
  const node: Draft = { ...silent };
  // Schemas of real kinds have thousands of parts with few keywords: absent ones must cost nothing.
  for (const keyword in raw) {
    if (!Object.hasOwn(raw, keyword)) continue;
    const nested = nestedReaders.get(keyword);
    if (nested === undefined) readers.get(keyword)?.(node, raw[keyword]);
    else yield* nested(node, raw[keyword], pace);
  }
  node.holdsEmbedded ||= node.embeddedResource;
  node.holdsUniqueLists ||= node.listType === "set" || node.listType === "map";
  return node;
}

/** The schemas below `anyOf`, `allOf`, `oneOf` and `not`, each with its path step. */
export function* alternatives(schema: StructuralSchema): Generator<readonly [step: string, schema: StructuralSchema]> {
  for (const keyword of ["anyOf", "allOf", "oneOf"] as const) {
    for (const [index, one] of schema[keyword].entries()) yield [`${keyword}[${index}]`, one];
  }
  if (schema.not !== undefined) yield ["not", schema.not];
}

type Draft = { -readonly [Field in keyof StructuralSchema]: StructuralSchema[Field] };

const nothing: readonly never[] = [];

/** A schema without keywords. */
const silent: StructuralSchema = {
  type: undefined,
  format: undefined,
  title: undefined,
  description: undefined,
  default: undefined,
  example: undefined,
  externalDocs: undefined,
  nullable: false,
  enum: nothing,
  enumScalars: undefined,
  minimum: undefined,
  maximum: undefined,
  exclusiveMinimum: false,
  exclusiveMaximum: false,
  multipleOf: undefined,
  minLength: undefined,
  maxLength: undefined,
  pattern: undefined,
  minItems: undefined,
  maxItems: undefined,
  uniqueItems: false,
  minProperties: undefined,
  maxProperties: undefined,
  required: nothing,
  items: undefined,
  properties: new Map(),
  additionalProperties: undefined,
  allOf: nothing,
  anyOf: nothing,
  oneOf: nothing,
  not: undefined,
  preserveUnknownFields: false,
  embeddedResource: false,
  intOrString: false,
  listType: undefined,
  listMapKeys: nothing,
  mapType: undefined,
  validations: nothing,
  holdsEmbedded: false,
  holdsUniqueLists: false,
};

type Reader = (node: Draft, value: unknown) => void;

const types = ["array", "boolean", "integer", "number", "object", "string"] as const;
const listTypes = ["atomic", "set", "map"] as const;
const mapTypes = ["atomic", "granular"] as const;

function reader<Field extends keyof StructuralSchema>(
  field: Field,
  read: (value: unknown) => StructuralSchema[Field],
): Reader {
  return (node, value) => {
    node[field] = read(value);
  };
}

const textFields = ["format", "title", "description"] as const;
const flags = ["nullable", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems"] as const;
const sizes = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"] as const;
const numbers = ["minimum", "maximum", "multipleOf", ...sizes] as const;

/** The parser of each keyword's value. */
const readers: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ...textFields.map((field) => [field, reader(field, text)] as const),
  ...flags.map((field) => [field, reader(field, isTrue)] as const),
  ...numbers.map((field) => [field, reader(field, number)] as const),
  ["type", reader("type", (value) => oneOf(value, types))],
  ["default", reader("default", (value) => value ?? undefined)],
  ["example", reader("example", (value) => value ?? undefined)],
  ["externalDocs", reader("externalDocs", (value) => (isJsonObject(value) ? value : undefined))],
  ["enum", readEnum],
  ["pattern", readPattern],
  ["required", reader("required", texts)],
  ["x-kubernetes-preserve-unknown-fields", reader("preserveUnknownFields", isTrue)],
  ["x-kubernetes-embedded-resource", reader("embeddedResource", isTrue)],
  ["x-kubernetes-int-or-string", reader("intOrString", isTrue)],
  ["x-kubernetes-list-type", reader("listType", (value) => oneOf(value, listTypes))],
  ["x-kubernetes-list-map-keys", reader("listMapKeys", texts)],
  ["x-kubernetes-map-type", reader("mapType", (value) => oneOf(value, mapTypes))],
  ["x-kubernetes-validations", reader("validations", (value) => objects(value).map(readRule))],
]);

type NestedReader = (node: Draft, value: unknown, pace: Pace) => Steps<void>;

/** The parsers of keywords that contain schemas. */
const nestedReaders: ReadonlyMap<string, NestedReader> = new Map<string, NestedReader>([
  [
    "items",
    function* (node, value, pace) {
      node.items = below(node, yield* schema(value, pace));
    },
  ],
  ["properties", readProperties],
  ["additionalProperties", readAdditional],
  ["allOf", alternativesReader("allOf")],
  ["anyOf", alternativesReader("anyOf")],
  ["oneOf", alternativesReader("oneOf")],
  [
    "not",
    function* (node, value, pace) {
      node.not = yield* schema(value, pace);
    },
  ],
]);

function* readAdditional(node: Draft, value: unknown, pace: Pace): Steps<void> {
  node.additionalProperties = typeof value === "boolean" ? value : below(node, yield* schema(value, pace));
}

function alternativesReader(keyword: "allOf" | "anyOf" | "oneOf"): NestedReader {
  return function* (node, value, pace) {
    const schemas: StructuralSchema[] = [];
    for (const one of objects(value)) schemas.push(yield* structuralSteps(one, pace));
    node[keyword] = schemas;
  };
}

function readEnum(node: Draft, value: unknown): void {
  const values = array(value);
  if (values.length === 0) return;
  node.enum = values;
  node.enumScalars = new Set(values.filter((one) => typeof one !== "object"));
}

function readPattern(node: Draft, value: unknown): void {
  const source = text(value);
  if (source !== undefined) node.pattern = lazyPattern(source);
}

function* readProperties(node: Draft, value: unknown, pace: Pace): Steps<void> {
  if (!isJsonObject(value)) return;
  const properties = new Map<string, StructuralSchema>();
  for (const name of Object.keys(value)) {
    properties.set(name, below(node, (yield* schema(value[name], pace)) ?? silent));
  }
  node.properties = properties;
}

/** Updates the summary flags of `node` from a part structurally below it. */
function below<Part extends StructuralSchema | undefined>(node: Draft, part: Part): Part {
  if (part?.holdsEmbedded === true) node.holdsEmbedded = true;
  if (part?.holdsUniqueLists === true) node.holdsUniqueLists = true;
  return part;
}

function readRule(raw: JsonObject): ValidationRule {
  const optionalOldSelf = ownValue(raw, "optionalOldSelf");
  return {
    rule: text(ownValue(raw, "rule")) ?? "",
    message: text(ownValue(raw, "message")),
    messageExpression: text(ownValue(raw, "messageExpression")),
    reason: text(ownValue(raw, "reason")),
    fieldPath: text(ownValue(raw, "fieldPath")),
    optionalOldSelf: typeof optionalOldSelf === "boolean" ? optionalOldSelf : undefined,
  };
}

function* schema(value: unknown, pace: Pace): Steps<StructuralSchema | undefined> {
  return isJsonObject(value) ? yield* structuralSteps(value, pace) : undefined;
}

/** Go does not distinguish an empty text from an absent one. */
function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function isTrue(value: unknown): boolean {
  return value === true;
}

function number(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function array(value: unknown): readonly unknown[] {
  return isJsonArray(value) ? value : nothing;
}

function texts(value: unknown): readonly string[] {
  return array(value).filter((element) => typeof element === "string");
}

function objects(value: unknown): readonly JsonObject[] {
  return array(value).map((element) => (isJsonObject(element) ? element : {}));
}

function oneOf<T extends string>(value: unknown, allowed: readonly T[]): T | undefined {
  return allowed.find((one) => one === value);
}
