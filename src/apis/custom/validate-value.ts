import { DecodeError } from "../../apimachinery/decode-error.ts";
import { decodeObject } from "../../apimachinery/decode.ts";
import { invalid, required, type FieldError } from "../../apimachinery/field-error.ts";
import { isJsonArray, isJsonObject, ownValue, type JsonObject } from "../../apimachinery/json-value.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import { finish, type Steps } from "../../apimachinery/steps.ts";
import { stringAt, valueAt } from "../json-fields.ts";
import { dns1035LabelProblems, validateObjectMeta } from "../object-validation.ts";
import { publishedMeta } from "../schemas/published.ts";
import { memberSchema } from "./correlation.ts";
import type { StructuralSchema } from "./structural-schema.ts";
import { canonicalText, valueSchemaErrors } from "./value-schema-errors.ts";

/** The value that is replaced, and the path. */
export interface ValueOptions {
  /** The value that this one replaces; errors in unchanged parts are ignored. Undefined for a new value. */
  readonly stored?: unknown;
  /** The prefix of paths in errors; empty for a whole object. */
  readonly path: string;
}

/**
 * All errors except those of CEL rules in a pruned and defaulted value: the schema first, then apiVersion, kind
 * and metadata of embedded resources, then duplicates in lists that must not have any. Duplicates pass when the
 * stored value had some already. Metadata of the object itself is left to `validateObjectMeta`.
 * Source: apiextensions-apiserver pkg/registry/customresource strategy.
 */
export function valueErrors(schema: StructuralSchema, value: unknown, options: ValueOptions): readonly FieldError[] {
  return finish(valueErrorSteps(schema, value, options));
}

/** The same in steps. */
export function* valueErrorSteps(
  schema: StructuralSchema,
  value: unknown,
  options: ValueOptions,
): Steps<readonly FieldError[]> {
  const { stored, path } = options;
  return [
    ...(yield* valueSchemaErrors(schema, value, { stored, path })),
    ...(yield* embeddedErrors(schema, value, path)),
    ...(yield* repeatErrors(schema, value, options)),
  ];
}

/**
 * Errors of an update of the status alone, in steps: errors elsewhere, which such an update cannot fix, pass.
 * Source: apiextensions-apiserver pkg/registry/customresource statusStrategy.
 */
export function* statusErrors(
  schema: StructuralSchema,
  object: JsonObject,
  stored: JsonObject | undefined,
): Steps<readonly FieldError[]> {
  const status = ownValue(object, "status");
  const statusSchema = schema.properties.get("status");
  const storedStatus = stored === undefined ? undefined : ownValue(stored, "status");
  return [
    ...(status === undefined || statusSchema === undefined
      ? []
      : yield* valueSchemaErrors(statusSchema, status, { stored: storedStatus, path: "status" })),
    ...(yield* repeatErrors(schema, object, { stored, path: "" })),
  ];
}

function* repeatErrors(schema: StructuralSchema, value: unknown, options: ValueOptions): Steps<readonly FieldError[]> {
  const { stored, path } = options;
  const repeats = yield* listErrors(schema, value, path);
  if (repeats.length === 0 || stored === undefined) return repeats;
  return (yield* listErrors(schema, stored, path)).length > 0 ? [] : repeats;
}

const maxErrors = 100;

interface Walk {
  readonly errors: FieldError[];
  readonly pace: Pace;
}

/** A part of a value, its schema, and its path. */
interface Place {
  readonly schema: StructuralSchema;
  readonly value: unknown;
  readonly path: string;
}

/** The parts of a value whose schema, or a schema below, has the property that is searched for. */
function* partsWith(what: "holdsEmbedded" | "holdsUniqueLists", { schema, value, path }: Place): Generator<Place> {
  if (isJsonArray(value)) {
    if (schema.items?.[what] !== true) return;
    for (const [index, element] of value.entries()) {
      yield { schema: schema.items, value: element, path: `${path}[${index}]` };
    }
  } else if (isJsonObject(value)) {
    for (const key of Object.keys(value)) {
      const below = memberSchema(schema, key);
      if (below?.[what] !== true) continue;
      yield {
        schema: below,
        value: value[key],
        path: schema.properties.has(key) ? child(path, key) : `${path}[${key}]`,
      };
    }
  }
}

/**
 * Errors of apiVersion, kind and metadata of the embedded resources in a value.
 * Source: apiextensions-apiserver pkg/apiserver/schema/objectmeta.
 */
export function* embeddedErrors(schema: StructuralSchema, value: unknown, path: string): Steps<readonly FieldError[]> {
  const walk: Walk = { errors: [], pace: { places: 0 } };
  if (schema.holdsEmbedded) yield* collectEmbedded({ schema, value, path }, walk);
  return walk.errors;
}

/** The cost of checking the metadata of an embedded resource, relative to visiting a place. */
const placesOfResource = 16;

function* collectEmbedded(place: Place, walk: Walk): Steps<void> {
  const { schema, value, path } = place;
  if (walk.errors.length >= maxErrors) return;
  if (endsStep(walk.pace, schema.embeddedResource ? placesOfResource : 1)) yield;
  if (schema.embeddedResource && isJsonObject(value)) walk.errors.push(...resourceErrors(value, path));
  for (const part of partsWith("holdsEmbedded", place)) yield* collectEmbedded(part, walk);
}

function resourceErrors(value: JsonObject, path: string): readonly FieldError[] {
  return [
    ...nameErrors(value, { path, field: "apiVersion", check: apiVersionProblems }),
    ...nameErrors(value, { path, field: "kind", check: kindProblems }),
    ...metadataErrors(value, path),
  ];
}

function nameErrors(
  value: JsonObject,
  rule: { readonly path: string; readonly field: string; readonly check: (text: string) => readonly string[] },
): readonly FieldError[] {
  const at = child(rule.path, rule.field);
  const text = valueAt(value, rule.field);
  if (text === undefined) return [required(at)];
  if (typeof text !== "string") return [invalid(at, text, "must be a string")];
  if (text === "") return [invalid(at, text, "must not be empty")];
  return rule.check(text).map((problem) => invalid(at, text, problem));
}

function apiVersionProblems(text: string): readonly string[] {
  return text.split("/").length > 2 ? [`unexpected GroupVersion string: ${text}`] : [];
}

function kindProblems(text: string): readonly string[] {
  const problems = dns1035LabelProblems(text.toLowerCase());
  return problems.length === 0 ? [] : [`may have mixed case, but should otherwise match: ${problems.join(",")}`];
}

function metadataErrors(value: JsonObject, path: string): readonly FieldError[] {
  const metadata = valueAt(value, "metadata");
  if (metadata === undefined) return [];
  try {
    const decoded = decodeObject(publishedMeta("ObjectMeta"), metadata).object;
    // A name is optional here, and an empty field would be reported as missing.
    const named = stringAt(decoded, "name") === "" ? { ...decoded, name: "unnamed" } : decoded;
    const object: ApiObject = { apiVersion: "embedded.invalid/v1", kind: "Embedded", metadata: named };
    const scope = stringAt(decoded, "namespace") === "" ? "Cluster" : "Namespaced";
    return validateObjectMeta(object, { group: "embedded.invalid", names: "path", scope }, { isCreate: true }).map(
      (error) => ({ ...error, path: child(path, error.path) }),
    );
  } catch (error) {
    if (error instanceof DecodeError) return [invalid(child(path, "metadata"), metadata, error.message)];
    throw error;
  }
}

function child(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}

/**
 * Duplicates in lists of type set, and duplicate keys in lists of type map; each is reported once. The time
 * is linear in the size of the value. Source: apiextensions-apiserver pkg/apiserver/schema/listtype.
 */
function* listErrors(schema: StructuralSchema, value: unknown, path: string): Steps<readonly FieldError[]> {
  const walk: Walk = { errors: [], pace: { places: 0 } };
  if (schema.holdsUniqueLists) yield* collectRepeats({ schema, value, path }, walk);
  return walk.errors;
}

function* collectRepeats(place: Place, walk: Walk): Steps<void> {
  if (walk.errors.length >= maxErrors) return;
  if (endsStep(walk.pace)) yield;
  const { schema, value, path } = place;
  if (isJsonArray(value)) {
    if (schema.listType === "set")
      walk.errors.push(...(yield* repeated(value, { path, pace: walk.pace }, canonicalText)));
    if (schema.listType === "map") walk.errors.push(...(yield* mapErrors(schema, value, { path, pace: walk.pace })));
  }
  for (const part of partsWith("holdsUniqueLists", place)) yield* collectRepeats(part, walk);
}

/** The path of a list, and the pace of the steps. */
interface ListPlace {
  readonly path: string;
  readonly pace: Pace;
}

function* mapErrors(
  schema: StructuralSchema,
  value: readonly unknown[],
  { path, pace }: ListPlace,
): Steps<readonly FieldError[]> {
  for (const [index, element] of value.entries()) {
    if (endsStep(pace)) yield;
    if (element === null || isJsonObject(element)) continue;
    return [invalid(`${path}[${index}]`, element, "must be an object for an array of list-type map")];
  }
  const keys = [...new Set(schema.listMapKeys)].sort();
  const labels = keys.map((key) => `${JSON.stringify(key)}:`);
  const text = (element: unknown): string => {
    const parts: string[] = [];
    for (const [index, key] of keys.entries()) {
      if (!isJsonObject(element) || !Object.hasOwn(element, key)) continue;
      parts.push(`${labels[index] ?? ""}${canonicalText(element[key])}`);
    }
    return `{${parts.join(",")}}`;
  };
  return yield* repeated(value, { path, pace }, text);
}

/** The elements whose text equals that of an earlier one; `text` returns the relevant part, as JSON. */
function* repeated(
  values: readonly unknown[],
  { path, pace }: ListPlace,
  text: (value: unknown) => string,
): Steps<readonly FieldError[]> {
  if (values.length < 2) return [];
  const seen = new Map<string, number>();
  const errors: FieldError[] = [];
  for (const [index, value] of values.entries()) {
    if (endsStep(pace)) yield;
    const shown = text(value);
    const times = seen.get(shown) ?? 0;
    seen.set(shown, times + 1);
    if (times === 1 && errors.length < maxErrors) {
      errors.push({ path: `${path}[${index}]`, type: "FieldValueDuplicate", message: `Duplicate value: ${shown}` });
    }
  }
  return errors;
}
