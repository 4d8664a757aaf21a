import { forbiddenField, invalid, required, type FieldError } from "../../apimachinery/field-error.ts";
import { isJsonArray, isJsonObject, type JsonObject } from "../../apimachinery/json-value.ts";
import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import { arrayAt, fieldsAt, isFields, isTrueAt, stringAt, stringsAt, valueAt } from "../json-fields.ts";
import { fieldErrors, type FieldResult, unsupported, optionalOneOf } from "../field-rules.ts";

/**
 * Errors of each part of a schema: keywords that a CustomResourceDefinition may not have, or that contradict each other.
 * Source: apiextensions-apiserver ValidateCustomResourceDefinitionOpenAPISchema.
 */
export function* keywordErrors(raw: JsonObject, path: string): Steps<KeywordErrors> {
  const found: Found = { errors: [], isReadable: true, pace: { places: 0 } };
  yield* collect(raw, { path, found, isRoot: true, isMeta: false, noDefaults: undefined });
  return found;
}

/** The errors, and whether the schema can still be read as a structural schema. */
export interface KeywordErrors {
  readonly errors: readonly FieldError[];
  readonly isReadable: boolean;
}

interface Found {
  readonly errors: FieldError[];
  isReadable: boolean;
  readonly pace: Pace;
}

interface Place {
  readonly path: string;
  readonly found: Found;
  readonly isRoot: boolean;
  /** Whether this is part of apiVersion, kind or metadata of a resource. */
  readonly isMeta: boolean;
  /** Why a default is forbidden here, if it is. */
  readonly noDefaults: string | undefined;
}

/** Maximum number of errors before the rest of a schema is skipped. */
const enoughErrors = 1000;

/** Keywords without checks here, whatever their values. */
const unsuspicious: ReadonlySet<string> = new Set(
  `title description format pattern enum example externalDocs nullable required default
  minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength
  minItems maxItems minProperties maxProperties x-kubernetes-validations`.split(/\s+/),
);

/** Whether a schema is one of the many without checks, and without schemas below. */
function isPlainLeaf(raw: JsonObject, { isMeta, noDefaults }: Place): boolean {
  if (isMeta || noDefaults !== undefined) return false;
  for (const keyword of Object.keys(raw)) {
    if (keyword === "type" ? !isKnownType(raw[keyword]) : !unsuspicious.has(keyword)) return false;
  }
  return true;
}

function isKnownType(type: unknown): boolean {
  return typeof type === "string" && types.includes(type);
}

function* collect(raw: JsonObject, place: Place): Steps<void> {
  const { path, found } = place;
  if (endsStep(found.pace)) yield;
  if (found.errors.length >= enoughErrors || isPlainLeaf(raw, place)) return;
  const unreadable = unreadableErrors(raw, path);
  if (unreadable.length > 0) found.isReadable = false;
  found.errors.push(
    ...unreadable,
    ...placeErrors(raw, place),
    ...objectErrors(raw, path),
    ...listTypeErrors(raw, path),
  );
  for (const [step, schema, change = {}] of schemasBelow(raw, place)) {
    if (isFields(schema)) yield* collect(schema, { ...place, isRoot: false, ...change, path: `${path}.${step}` });
  }
}

function* schemasBelow(
  raw: JsonObject,
  place: Place,
): Generator<readonly [step: string, schema: unknown, change?: Partial<Place>]> {
  const inMap = { noDefaults: "inside additionalProperties applying to object metadata" };
  yield ["additionalProperties", valueAt(raw, "additionalProperties"), place.isMeta ? inMap : {}];
  for (const [name, schema] of Object.entries(fieldsAt(raw, "properties"))) {
    yield [`properties[${name}]`, schema, metaChange(raw, name, place)];
  }
  yield ["not", valueAt(raw, "not")];
  for (const keyword of ["allOf", "oneOf", "anyOf"]) {
    for (const [index, schema] of arrayAt(raw, keyword).entries()) yield [`${keyword}[${index}]`, schema];
  }
  for (const [name, schema] of Object.entries(fieldsAt(raw, "definitions"))) yield [`definitions[${name}]`, schema];
  yield ["items", valueAt(raw, "items")];
  for (const [index, schema] of arrayAt(raw, "items").entries()) yield [`items[${index}]`, schema];
}

function metaChange(raw: JsonObject, name: string, place: Place): Partial<Place> {
  const isMeta = name === "metadata" || name === "kind" || name === "apiVersion";
  if (!isMeta || !(place.isRoot || isTrueAt(raw, "x-kubernetes-embedded-resource"))) return {};
  return place.isRoot ? { isMeta, noDefaults: `in top-level ${name}` } : { isMeta };
}

/** Each of these errors shows all keys. */
const maxErrors = 4;

const types = ["array", "boolean", "integer", "number", "object", "string"];

const unsupportedKeywords: readonly (readonly [string, (value: unknown) => boolean])[] = [
  ["id", (value) => value !== ""],
  ["additionalItems", () => true],
  ["patternProperties", (value) => isJsonObject(value) && Object.keys(value).length > 0],
  ["definitions", (value) => isJsonObject(value) && Object.keys(value).length > 0],
  ["dependencies", () => true],
  ["$ref", () => true],
  ["$schema", (value) => value !== ""],
];

function unreadableErrors(raw: JsonObject, path: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  for (const [keyword, isUsed] of unsupportedKeywords) {
    const value = valueAt(raw, keyword) ?? undefined;
    if (value !== undefined && isUsed(value)) {
      errors.push(forbiddenField(`${path}.${keyword}`, `${keyword} is not supported`));
    }
  }
  if (isJsonArray(valueAt(raw, "items"))) {
    errors.push(forbiddenField(`${path}.items`, "items must be a schema object and not an array"));
  }
  if (valueAt(raw, "x-kubernetes-preserve-unknown-fields") === false) {
    errors.push(invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, "must be true or undefined"));
  }
  return errors;
}

function placeErrors(raw: JsonObject, { path, isMeta, noDefaults }: Place): readonly FieldError[] {
  const type = stringAt(raw, "type");
  const notNull = "type cannot be set to null, use nullable as an alternative";
  const notUnique = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
  const hasDefault = (valueAt(raw, "default") ?? undefined) !== undefined;
  const isEmbedded = isTrueAt(raw, "x-kubernetes-embedded-resource");
  return fieldErrors(
    type !== "" && unsupported(`${path}.type`, type, types),
    type === "null" && forbiddenField(`${path}.type`, notNull),
    noDefaults !== undefined && hasDefault && forbiddenField(`${path}.default`, `must not be set ${noDefaults}`),
    isMeta &&
      isEmbedded &&
      forbiddenField(`${path}.x-kubernetes-embedded-resource`, "must not be used inside of resource meta"),
    isTrueAt(raw, "uniqueItems") && forbiddenField(`${path}.uniqueItems`, notUnique),
  );
}

function objectErrors(raw: JsonObject, path: string): readonly FieldError[] {
  const additional = valueAt(raw, "additionalProperties") ?? undefined;
  const mapType = valueAt(raw, "x-kubernetes-map-type") ?? undefined;
  const isMap = additional !== undefined && additional !== true;
  return fieldErrors(
    isMap &&
      Object.keys(fieldsAt(raw, "properties")).length > 0 &&
      forbiddenField(`${path}.additionalProperties`, "additionalProperties and properties are mutual exclusive"),
    mapType !== undefined && [
      typeError(raw, { path, type: "object", why: "must be object if x-kubernetes-map-type is specified" }),
      optionalOneOf(`${path}.x-kubernetes-map-type`, mapType, ["atomic", "granular"]),
    ],
  );
}

function typeError(
  raw: JsonObject,
  rule: { readonly path: string; readonly type: string; readonly why: string },
): FieldError | undefined {
  const type = stringAt(raw, "type");
  const at = `${rule.path}.type`;
  if (type === rule.type) return undefined;
  return type === "" ? required(at, rule.why) : invalid(at, type, rule.why);
}

function listTypeErrors(raw: JsonObject, path: string): readonly FieldError[] {
  const listType = valueAt(raw, "x-kubernetes-list-type") ?? undefined;
  const keys = stringsAt(raw, "x-kubernetes-list-map-keys");
  const at = `${path}.x-kubernetes-list-type`;
  if (listType === undefined) {
    return keys.length > 0 ? [required(at, "must be map if x-kubernetes-list-map-keys is non-empty")] : [];
  }
  const why = "must be array if x-kubernetes-list-type is specified";
  return fieldErrors(
    typeError(raw, { path, type: "array", why }) ?? (listType === "set" && setItemErrors(raw, path)),
    optionalOneOf(at, listType, ["atomic", "set", "map"]),
    keys.length > 0 &&
      listType !== "map" &&
      invalid(at, listType, "must be map if x-kubernetes-list-map-keys is non-empty"),
    listType === "map" && mapItemErrors(raw, keys, path),
    nullableItemErrors(raw, listType, path),
  );
}

function nullableItemErrors(raw: JsonObject, listType: unknown, path: string): readonly FieldError[] {
  const items = valueAt(raw, "items");
  if ((listType !== "map" && listType !== "set") || !isFields(items)) return [];
  const why = `cannot be nullable when x-kubernetes-list-type is ${listType}`;
  const keys = stringsAt(raw, "x-kubernetes-list-map-keys");
  return fieldErrors(
    isTrueAt(items, "nullable") && forbiddenField(`${path}.items.nullable`, why),
    listType === "map" && mapKeyErrors(items, keys, `${path}.items`),
  );
}

/** The items of a set are replaced as a whole, so their parts must be atomic too. */
function setItemErrors(raw: JsonObject, path: string): readonly FieldError[] {
  const items = fieldsAt(raw, "items");
  const listType = valueAt(items, "x-kubernetes-list-type") ?? null;
  const why = "must be atomic as item of a list with x-kubernetes-list-type=set";
  const type = stringAt(items, "type");
  if (type === "array" && listType !== null && listType !== "atomic") {
    return [invalid(`${path}.items.x-kubernetes-list-type`, listType, why)];
  }
  if (type !== "object" || valueAt(items, "x-kubernetes-map-type") === "atomic") return [];
  // Kubernetes shows the list type here, which is mostly null.
  return [invalid(`${path}.items.x-kubernetes-map-type`, listType, why)];
}

function mapItemErrors(raw: JsonObject, keys: readonly string[], path: string): FieldResult {
  const items = valueAt(raw, "items") ?? undefined;
  const keysAt = `${path}.x-kubernetes-list-map-keys`;
  return [
    keys.length === 0 && required(keysAt, "must not be empty if x-kubernetes-list-type is map"),
    items === undefined && required(`${path}.items`, "must have a schema if x-kubernetes-list-type is map"),
    isFields(items) && mapKeysErrors(items, keys, { path: `${path}.items`, keysAt }),
  ];
}

function mapKeysErrors(
  items: JsonObject,
  keys: readonly string[],
  { path, keysAt }: { readonly path: string; readonly keysAt: string },
): FieldResult {
  const type = stringAt(items, "type");
  if (type !== "object") {
    return invalid(`${path}.type`, type, "must be object if parent array's x-kubernetes-list-type is map");
  }
  const found = [...new Set(keys)].map((key) => {
    const property = valueAt(items, "properties", key);
    if (property === undefined) return invalid(keysAt, keys, "entries must all be names of item properties");
    const isScalar = !["array", "object"].includes(stringAt(property, "type"));
    const why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
    return !isScalar && invalid(`${path}.properties[${key}].type`, type, why);
  });
  return [
    fieldErrors(found).slice(0, maxErrors),
    new Set(keys).size < keys.length && invalid(keysAt, keys, "must not contain duplicate entries"),
  ];
}

function mapKeyErrors(items: JsonObject, keys: readonly string[], path: string): readonly FieldError[] {
  const needed = new Set(stringsAt(items, "required"));
  return keys.flatMap((key) => {
    const property = valueAt(items, "properties", key);
    if (!isFields(property)) return [];
    const at = `${path}.properties[${key}]`;
    const why = "this property is in x-kubernetes-list-map-keys, so it";
    return fieldErrors(
      !needed.has(key) &&
        (valueAt(property, "default") ?? undefined) === undefined &&
        required(`${at}.default`, `${why} must have a default or be a required property`),
      isTrueAt(property, "nullable") && forbiddenField(`${at}.nullable`, `${why} cannot be nullable`),
    );
  });
}
