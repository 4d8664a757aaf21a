import { decodeObject } from "../apimachinery/decode.ts";
import { DecodeError } from "../apimachinery/decode-error.ts";
import { applyJsonPatch } from "../apimachinery/json-patch.ts";
import { isJsonArray, isJsonObject, type JsonObject } from "../apimachinery/json-value.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import type { Pace } from "../apimachinery/step-budget.ts";
import { PatchError } from "../apimachinery/patch-error.ts";
import { internalError } from "../apimachinery/status.ts";
import type { Steps } from "../apimachinery/steps.ts";
import type { CelMap } from "../policy/cel/values.ts";
import { mapGet } from "../policy/cel/equality.ts";
import type { Resource } from "../apis/resource.ts";
import { applyConfiguration } from "./apply-configuration.ts";
import { PatchValueError, patchValue } from "./patch-value.ts";
import type { CompiledMutation } from "./policy.ts";

/** An object of a kind, as a policy sees it. */
export interface Patched {
  readonly object: ApiObject;
  readonly kind: Resource;
}

/** What a mutation came to: the value of its expression, as JSON. */
export interface MutationPatch {
  readonly field: CompiledMutation["field"];
  readonly value: unknown;
}

/**
 * The patch that the value of a mutation's expression stands for; its type is that which the mutation asks for.
 * @throws PatchValueError
 */
export function* mutationPatch(field: CompiledMutation["field"], value: unknown, pace: Pace): Steps<MutationPatch> {
  if (field === "applyConfiguration") return { field, value: yield* patchValue(value, pace) };
  const operations: JsonObject[] = [];
  for (const operation of isJsonArray(value) ? value : [])
    operations.push(yield* operationOf(operation as CelMap, pace));
  return { field, value: operations };
}

/** An operation is made by `JSONPatch{…}`. */
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
 * The object with a patch applied, read again as that of a client; the same object where a `test` of a JSON patch does not hold.
 * @throws PatchError where it cannot be applied; StatusError InternalError where a JSON patch makes no object of the kind.
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
    // Unknown fields of custom kinds are left out in silence.
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

function decoded(
  value: JsonObject,
  kind: Resource,
): { readonly object: ApiObject; readonly unknown: readonly string[] } {
  const { object, unknown } = kind.custom?.decode(value) ?? decodeObject(kind.schema, value);
  return { object: { metadata: {}, ...object } as ApiObject, unknown };
}

/** Why a mutation failed, where its policy says what that means; undefined for what is no fault of the policy. */
export function patchProblem(error: unknown): string | undefined {
  return error instanceof PatchError || error instanceof PatchValueError ? error.message : undefined;
}
