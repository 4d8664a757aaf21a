import { decodeObject } from "../apimachinery/decode.ts";
import { DecodeError } from "../apimachinery/decode-error.ts";
import { applyJsonPatch } from "../apimachinery/json-patch.ts";
import { isJsonArray, isJsonObject, type JsonObject } from "../apimachinery/json-value.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { endsStep, type Pace } from "../apimachinery/step-budget.ts";
import { PatchError } from "../apimachinery/patch-error.ts";
import { internalError } from "../apimachinery/status.ts";
import type { Steps } from "../apimachinery/steps.ts";
import { fromJson, type CelMap } from "../policy/cel/values.ts";
import { mapGet, isMap, mapKeys, messageOf } from "../policy/cel/equality.ts";
import type { Resource } from "../apis/resource.ts";
import type { CompiledMutation } from "./policy.ts";
import { appliedProblem } from "../apimachinery/managed-fields/check-applied.ts";
import { mergeObjects } from "../apimachinery/managed-fields/merge-objects.ts";
import { fieldElement, elementText } from "../apimachinery/managed-fields/path-element.ts";
import { namedField, shapeOf } from "../apimachinery/managed-fields/shape.ts";
import type { Schema } from "../apimachinery/schema.ts";
import { celToJson } from "../policy/cel/convert.ts";

/** An object of a kind, as a policy sees it. */
export interface Patched {
  readonly object: ApiObject;
  readonly kind: Resource;
}

/** The result of a mutation: the value of its expression, as JSON. */
export interface MutationPatch {
  readonly field: CompiledMutation["field"];
  readonly value: unknown;
}

/** The patch of the value of a mutation expression, of the patch type of the mutation. @throws PatchValueError */
export function* mutationPatch(field: CompiledMutation["field"], value: unknown, pace: Pace): Steps<MutationPatch> {
  if (field === "applyConfiguration") return { field, value: yield* patchValue(value, pace) };
  const operations: JsonObject[] = [];
  for (const operation of isJsonArray(value) ? value : [])
    operations.push(yield* operationOf(operation as CelMap, pace));
  return { field, value: operations };
}

/** The type of operations: `JSONPatch{…}`. */
function* operationOf(operation: CelMap, pace: Pace): Steps<JsonObject> {
  const {
    op = "",
    path = "",
    from = "",
  } = Object.fromEntries(["op", "path", "from"].map((name) => [name, mapGet(operation, name)]));
  const value = yield* patchValue(mapGet(operation, "value") ?? null, pace);
  return { op, path, ...(from === "" ? {} : { from }), value };
}

/**
 * The object with a patch applied, decoded like that of a client; the same object where a `test` of a JSON patch fails. @throws
 * PatchError where it cannot be applied; StatusError InternalError where a JSON patch results in no object of the kind.
 */
export function* patchedObject(patch: MutationPatch, patched: Patched, pace: Pace): Steps<ApiObject> {
  const { object, kind } = patched;
  if (patch.field === "jsonPatch") return jsonPatched(patch.value, patched);
  const { apiVersion, kind: name } = object;
  const configuration = { ...(isJsonObject(patch.value) ? patch.value : {}), apiVersion, kind: name };
  const merged = yield* applyConfiguration(kind.schema, { object, configuration }, pace);
  yield;
  try {
    return decoded(merged, kind).object;
  } catch (error) {
    if (error instanceof DecodeError) throw new PatchError("failed", error.message);
    throw error;
  }
}

function jsonPatched(operations: unknown, { object, kind }: Patched): ApiObject {
  try {
    const value = applyJsonPatch(object, operations);
    if (!isJsonObject(value) || value["kind"] !== object.kind || value["apiVersion"] !== object.apiVersion) {
      throw internalError(`the patch makes no object of kind ${object.kind}`);
    }
    const read = decoded(value, kind);
    // Unknown fields of custom kinds are dropped silently.
    if (kind.custom === undefined && read.unknown.length > 0) {
      throw internalError(`strict decoding error: ${read.unknown.map((path) => `unknown field "${path}"`).join(", ")}`);
    }
    return read.object;
  } catch (error) {
    if (error instanceof DecodeError) throw internalError(error.message);
    if (!(error instanceof PatchError)) throw error;
    if (error.code === "testFailed") return object;
    throw new PatchError(error.code, `JSON Patch: ${error.message}`);
  }
}

/** The value decoded as an object of the kind, like that of a client. @throws DecodeError */
export function decoded(
  value: JsonObject,
  kind: Resource,
): { readonly object: ApiObject; readonly unknown: readonly string[] } {
  const { object, unknown } = kind.custom?.decode(value) ?? decodeObject(kind.schema, value);
  return { object: { metadata: {}, ...object } as ApiObject, unknown };
}

/** Why a mutation failed, where failurePolicy applies; undefined for errors that the policy did not cause. */
export function patchProblem(error: unknown): string | undefined {
  return error instanceof PatchError || error instanceof PatchValueError ? error.message : undefined;
}

/**
 * The object with a configuration merged into it; field owners are unchanged. Source: apiserver
 * pkg/admission/plugin/policy/mutating/patch ApplyStructuredMergeDiff. @throws PatchError failed where the configuration does not fit the
 * schema, or contains values that are replaced as a whole.
 */
function* applyConfiguration(
  schema: Schema,
  { object, configuration }: { readonly object: JsonObject; readonly configuration: JsonObject },
  pace: Pace,
): Steps<JsonObject> {
  const problem = yield* appliedProblem(schema, configuration);
  if (problem !== undefined) throw failed(`failed to convert patch object to typed object: ${problem}`);
  const atomics: string[] = [];
  yield* findAtomics({ atomics, pace }, schema, { value: configuration, path: "" });
  if (atomics.length > 0) {
    throw failed(`invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(", ")}`);
  }
  return yield* mergeObjects(schema, { live: object, applied: configuration }, pace);
}

interface AtomicsWalk {
  readonly atomics: string[];
  readonly pace: Pace;
}

/** Atomic values, which would be replaced as a whole although a configuration names only some of their fields. */
function* findAtomics(
  walk: AtomicsWalk,
  schema: Schema,
  { value, path }: { readonly value: unknown; readonly path: string },
): Steps<void> {
  if (endsStep(walk.pace)) yield;
  if (!isJsonObject(value) && !isJsonArray(value)) return;
  if (shapeOf(schema, value) === "leaf") walk.atomics.push(path);
  if (isJsonArray(value)) {
    if (schema.type !== "array") return;
    for (const [index, item] of value.entries()) {
      yield* findAtomics(walk, schema.items, { value: item, path: `${path}[${index}]` });
    }
    return;
  }
  for (const key of Object.keys(value)) {
    const entry = value[key];
    const field = namedField(schema, key);
    if (field === undefined) continue;
    yield* findAtomics(walk, field.schema, { value: entry, path: path + elementText(fieldElement(key)) });
  }
}

function failed(message: string): PatchError {
  return new PatchError("failed", `error applying patch: ${message}`);
}

/** The value of an expression is no valid patch. */
class PatchValueError extends Error {
  override readonly name = "PatchValueError";
  readonly code = "value";
}

/** The maximum number of values in one patch. An expression may use a large value many times at no cost. */
const maxValues = 100_000;
/** The maximum number of characters in the keys and texts of one patch: the limit of a request. */
const maxCharacters = 3 << 20;
const maxDepth = 100;

interface Walk {
  readonly pace: Pace;
  values: number;
  characters: number;
  /** The objects whose types do not match the path of their fields. */
  readonly misnamed: string[];
}

/**
 * A CEL value as JSON. Objects that the expression created must have the type name of the path of their fields, from the outermost on.
 * @throws PatchValueError where they do not, or the value is too large or has no JSON form. Source: apiserver pkg/cel/mutation/dynamic
 * CheckTypeNamesMatchFieldPathNames.
 */
function* patchValue(value: unknown, pace: Pace): Steps<unknown> {
  const walk: Walk = { pace, values: 0, characters: 0, misnamed: [] };
  const outermost = isMap(value) ? messageOf(value) : undefined;
  const made = yield* jsonOf(walk, value, { path: outermost, depth: maxDepth });
  if (walk.misnamed.length > 0) throw new PatchValueError(`type mismatch: ${walk.misnamed.join("\n")}`);
  return made;
}

interface Place {
  /** The required type name of an object here; undefined where it is not checked. */
  readonly path: string | undefined;
  readonly depth: number;
}

function* jsonOf(walk: Walk, raw: unknown, { path, depth }: Place): Steps<unknown> {
  if (endsStep(walk.pace)) yield;
  count(walk, typeof raw === "string" ? raw.length : 0);
  if (depth === 0) throw new PatchValueError(`the patch nests deeper than ${maxDepth} levels`);
  const value = fromJson(raw);
  if (isJsonArray(value)) {
    const list: unknown[] = [];
    for (const element of value) list.push(yield* jsonOf(walk, element, { path, depth: depth - 1 }));
    return list;
  }
  if (isMap(value)) return yield* objectOf(walk, value, { path, depth });
  const scalar = celToJson(value);
  if (scalar === undefined)
    throw new PatchValueError("the expression evaluated to a type that could not marshal to JSON");
  return scalar;
}

function* objectOf(walk: Walk, map: JsonObject | CelMap, { path, depth }: Place): Steps<JsonObject> {
  const name = messageOf(map);
  if (name !== undefined && path !== undefined && name !== path && walk.misnamed.length < maxMisnamed) {
    const expected = `expected ${JSON.stringify(path)}, which matches field name path from root Object type`;
    walk.misnamed.push(`unexpected type name ${JSON.stringify(name)}, ${expected}`);
  }
  const entries: [string, unknown][] = [];
  for (const key of mapKeys(map)) {
    if (typeof key !== "string") throw new PatchValueError(`map key ${JSON.stringify(celToJson(key))} is not a string`);
    count(walk, key.length);
    const inner = name === undefined || path === undefined ? path : `${path}.${key}`;
    entries.push([key, yield* jsonOf(walk, mapGet(map, key), { path: inner, depth: depth - 1 })]);
  }
  return Object.fromEntries(entries);
}

/** More of them add no information. */
const maxMisnamed = 20;

function count(walk: Walk, characters: number): void {
  walk.values += 1;
  walk.characters += characters;
  if (walk.values > maxValues) throw new PatchValueError(`the patch holds more than ${maxValues} values`);
  if (walk.characters > maxCharacters)
    throw new PatchValueError(`the patch holds more than ${maxCharacters} characters`);
}
