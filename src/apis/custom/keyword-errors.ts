import { forbiddenField, invalid, notSupported, required, type FieldError } from "../../apimachinery/field-error.ts";
import { isJsonArray, isJsonObject, type JsonObject } from "../../apimachinery/json-value.ts";
import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import { arrayAt, fieldsAt, isFields, isTrueAt, stringAt, stringsAt, valueAt } from "../json-fields.ts";
import { fieldErrors } from "../field-rules.ts";

/**
 * What each part of a schema says that no CustomResourceDefinition may say, or says in a way that contradicts itself.
 * Source: apiextensions-apiserver ValidateCustomResourceDefinitionOpenAPISchema.
 */
export function* keywordErrors(raw: JsonObject, path: string): Steps<KeywordErrors> {
  const found: Found = { errors: [], isReadable: true, pace: { places: 0 } };
  yield* collect(raw, { path, found, isRoot: true, isMeta: false, noDefaults: undefined });
  return found;
}

/** What is wrong, and whether what is said can still be read as a structural schema. */
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
  /** Why there must be no default here, if so. */
  readonly noDefaults: string | undefined;
}

/** Errors after which the rest of a schema is not looked at. */
const enoughErrors = 1000;

/** Keywords of which there is nothing to say here, whatever their values are. */
const unsuspicious: ReadonlySet<string> = new Set(
  `title description format pattern enum example externalDocs nullable required default
  minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength
  minItems maxItems minProperties maxProperties x-kubernetes-validations`.split(/\s+/),
);

/** Whether a schema is one of the many of which there is nothing to say, and which have nothing below them. */
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
  const inMap = "inside additionalProperties applying to object metadata";
  const change = place.isMeta ? { noDefaults: inMap } : noChange;
  yield* below(place, valueAt(raw, "additionalProperties"), { step: "additionalProperties", change });
  const properties = fieldsAt(raw, "properties");
  for (const name of Object.keys(properties)) {
    yield* below(place, properties[name], { step: `properties[${name}]`, change: metaChange(raw, name, place) });
  }
  yield* below(place, valueAt(raw, "not"), { step: "not" });
  for (const keyword of ["allOf", "oneOf", "anyOf"]) {
    for (const [index, schema] of arrayAt(raw, keyword).entries())
      yield* below(place, schema, { step: `${keyword}[${index}]` });
  }
  const definitions = fieldsAt(raw, "definitions");
  for (const name of Object.keys(definitions)) yield* below(place, definitions[name], { step: `definitions[${name}]` });
  yield* below(place, valueAt(raw, "items"), { step: "items" });
  for (const [index, schema] of arrayAt(raw, "items").entries())
    yield* below(place, schema, { step: `items[${index}]` });
}

function* below(
  place: Place,
  schema: unknown,
  { step, change = noChange }: { readonly step: string; readonly change?: Partial<Place> },
): Steps<void> {
  if (isFields(schema)) yield* collect(schema, { ...place, isRoot: false, ...change, path: `${place.path}.${step}` });
}

const noChange: Partial<Place> = {};

function metaChange(raw: JsonObject, name: string, place: Place): Partial<Place> {
  const isMeta = name === "metadata" || name === "kind" || name === "apiVersion";
  if (!isMeta || !(place.isRoot || isTrueAt(raw, "x-kubernetes-embedded-resource"))) return noChange;
  return place.isRoot ? { isMeta, noDefaults: `in top-level ${name}` } : { isMeta };
}

/** Each of these errors shows all keys. */
const maxErrors = 4;

const types = ["array", "boolean", "integer", "number", "object", "string"];

const unsupported: readonly (readonly [string, (value: unknown) => boolean])[] = [
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
  for (const [keyword, isUsed] of unsupported) {
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
  const errors: FieldError[] = [];
  if (type !== "" && !types.includes(type)) errors.push(notSupported(`${path}.type`, type, types));
  if (type === "null") {
    errors.push(forbiddenField(`${path}.type`, "type cannot be set to null, use nullable as an alternative"));
  }
  if (noDefaults !== undefined && (valueAt(raw, "default") ?? undefined) !== undefined) {
    errors.push(forbiddenField(`${path}.default`, `must not be set ${noDefaults}`));
  }
  if (isMeta && isTrueAt(raw, "x-kubernetes-embedded-resource")) {
    const why = "must not be used inside of resource meta";
    errors.push(forbiddenField(`${path}.x-kubernetes-embedded-resource`, why));
  }
  if (isTrueAt(raw, "uniqueItems")) {
    const why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
    errors.push(forbiddenField(`${path}.uniqueItems`, why));
  }
  return errors;
}

function objectErrors(raw: JsonObject, path: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  const additional = valueAt(raw, "additionalProperties") ?? undefined;
  const mapType = valueAt(raw, "x-kubernetes-map-type") ?? undefined;
  if (additional !== undefined && additional !== true && Object.keys(fieldsAt(raw, "properties")).length > 0) {
    const why = "additionalProperties and properties are mutual exclusive";
    errors.push(forbiddenField(`${path}.additionalProperties`, why));
  }
  if (mapType === undefined) return errors;
  return fieldErrors(
    errors,
    mustBeOfType(raw, { path, type: "object", why: "must be object if x-kubernetes-map-type is specified" }),
    mapType !== "atomic" &&
      mapType !== "granular" &&
      notSupported(`${path}.x-kubernetes-map-type`, mapType, ["atomic", "granular"]),
  );
}

function mustBeOfType(
  raw: JsonObject,
  rule: { readonly path: string; readonly type: string; readonly why: string },
): readonly FieldError[] {
  const type = stringAt(raw, "type");
  const at = `${rule.path}.type`;
  if (type === rule.type) return [];
  return [type === "" ? required(at, rule.why) : invalid(at, type, rule.why)];
}

function listTypeErrors(raw: JsonObject, path: string): readonly FieldError[] {
  const listType = valueAt(raw, "x-kubernetes-list-type") ?? undefined;
  const keys = stringsAt(raw, "x-kubernetes-list-map-keys");
  const at = `${path}.x-kubernetes-list-type`;
  const errors: FieldError[] = [];
  if (listType !== undefined) {
    const why = "must be array if x-kubernetes-list-type is specified";
    const typeErrors = mustBeOfType(raw, { path, type: "array", why });
    errors.push(...typeErrors);
    if (typeErrors.length === 0 && listType === "set") errors.push(...setItemErrors(raw, path));
    if (listType !== "atomic" && listType !== "set" && listType !== "map") {
      errors.push(notSupported(at, listType, ["atomic", "set", "map"]));
    }
  }
  if (keys.length > 0 && listType !== "map") {
    const why = "must be map if x-kubernetes-list-map-keys is non-empty";
    errors.push(listType === undefined ? required(at, why) : invalid(at, listType, why));
  }
  return [
    ...errors,
    ...(listType === "map" ? mapItemErrors(raw, keys, path) : []),
    ...nullableItemErrors(raw, listType, path),
  ];
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

/** The items of a set are replaced as a whole, so that what they hold must be so too. */
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

function mapItemErrors(raw: JsonObject, keys: readonly string[], path: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  const items = valueAt(raw, "items") ?? undefined;
  const keysAt = `${path}.x-kubernetes-list-map-keys`;
  if (keys.length === 0) errors.push(required(keysAt, "must not be empty if x-kubernetes-list-type is map"));
  if (items === undefined) {
    errors.push(required(`${path}.items`, "must have a schema if x-kubernetes-list-type is map"));
  }
  if (!isFields(items)) return errors;
  const type = stringAt(items, "type");
  if (type !== "object") {
    const why = "must be object if parent array's x-kubernetes-list-type is map";
    return [...errors, invalid(`${path}.items.type`, type, why)];
  }
  for (const key of new Set(keys)) {
    const property = valueAt(items, "properties", key);
    const propertyType = stringAt(property, "type");
    if (errors.length >= maxErrors) break;
    if (property === undefined) errors.push(invalid(keysAt, keys, "entries must all be names of item properties"));
    else if (propertyType === "array" || propertyType === "object") {
      const why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      errors.push(invalid(`${path}.items.properties[${key}].type`, type, why));
    }
  }
  if (new Set(keys).size < keys.length) errors.push(invalid(keysAt, keys, "must not contain duplicate entries"));
  return errors;
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
