import { applyJsonPatch } from "../../apimachinery/json-patch.ts";
import { DecodeError } from "../../apimachinery/decode-error.ts";
import { applyMergePatch } from "../../apimachinery/merge-patch.ts";
import { applyStrategicMergePatch } from "../../apimachinery/strategic-merge-patch.ts";
import { isJsonObject, type JsonObject } from "../../apimachinery/json-value.ts";
import { forbiddenField, invalid, invalidObject } from "../../apimachinery/field-error.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { PatchError } from "../../apimachinery/patch-error.ts";
import { StatusError, badRequest } from "../../apimachinery/status.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import { stepped, type Turn } from "../../registry/turns.ts";
import type { Resource } from "../../apis/resource.ts";
import { applyType } from "./apply-body.ts";
import { decodeTyped, type DecodedObject } from "../../registry/decode.ts";
import { checkType, jsonOf, jsonTypeOf, mediaType, textOf, unknownFormat } from "./decode-body.ts";
import { header } from "../http-types.ts";
import type { WriteOptions } from "../query-options.ts";
import type { Call } from "../resource-call.ts";
import { faultsOfJson, unknownFields } from "./undecodable.ts";
import { truncate } from "../../apimachinery/truncate.ts";

/** Patches the stored object; `turn` is passed where that is much work. */
type Patcher = (stored: ApiObject, turn: Turn | undefined) => ApiObject | Promise<ApiObject>;

type Apply = (resource: Resource, stored: ApiObject, patch: unknown) => unknown;

const jsonPatch = "application/json-patch+json";
const strategicMerge = "application/strategic-merge-patch+json";

/** The patch types served, by media type. */
const patchTypes: Readonly<Record<string, Apply>> = {
  [jsonPatch]: (_resource, stored, patch) => applyJsonPatch(stored, patch),
  "application/merge-patch+json": (_resource, stored, patch) => applyMergePatch(stored, mergeOf(patch)),
  [strategicMerge]: (resource, stored, patch) =>
    applyStrategicMergePatch(resource.schema, stored, objectPatch(patch ?? {})),
};

/**
 * From a patch's media type to a function that reads the patch and then creates the desired object from the stored one.
 * @throws StatusError UnsupportedMediaType at once; the functions throw BadRequest, Invalid, RequestEntityTooLarge.
 */
export function patcherOf(
  call: Call,
  { fieldValidation }: WriteOptions,
): (bytes: Buffer, turn: Turn | undefined) => Promise<Patcher> {
  const { kind: resource, query } = call;
  const type = mediaType(header(call.request, "content-type"));
  // Objects of custom kinds have no merge rules, nor have their subresources.
  const isStrategic = call.resource.custom === undefined;
  const known = Object.keys(patchTypes).filter((one) => isStrategic || one !== strategicMerge);
  const apply = known.includes(type) ? patchTypes[type] : undefined;
  if (apply === undefined) throw unknownFormat([...known, applyType]);
  if (query.has("force")) {
    const error = forbiddenField("force", "may not be specified for non-apply patch");
    throw invalidObject({ group: "meta.k8s.io", kind: "PatchOptions" }, "", [error]);
  }
  return async (bytes, large) => {
    if (large !== undefined) await large();
    const text = textOf(bytes);
    const patch = parsePatch(type, text, call.limits.maxValues);
    if (large !== undefined) await large();
    const ofPatch = fieldValidation === "Ignore" ? [] : patchFaults(type, text, patch);
    const steps = function* (stored: ApiObject): Steps<ApiObject> {
      const patched = attempt(type, () => apply(resource, stored, patch));
      if (!isJsonObject(patched)) throw badRequest(`the patch makes no object of kind ${resource.kind}`);
      yield;
      // A strategic merge has the kind of the path, whichever kind it names.
      if (type !== strategicMerge) attemptType(patched, resource, text);
      const { object, unknown } = decoded(patched, resource, text);
      checkUid(resource, stored, object);
      const complaints = fieldValidation === "Ignore" ? [] : [...ofPatch, ...unknownFields(unknown)];
      if (fieldValidation === "Warn") complaints.forEach(call.warn);
      else if (complaints.length > 0) throw badPatch(text, `strict decoding error: ${complaints.join(", ")}`);
      return object;
    };
    return (stored, turn) => stepped(turn, steps(stored));
  };
}

/** The members of an operation. Source: apiserver pkg/endpoints/handlers jsonPatchOp. */
const operationMembers: ReadonlySet<string> = new Set(["op", "path", "from", "value"]);

/** The findings of strict decoding in the patch itself. */
function patchFaults(type: string, text: string, patch: unknown): readonly string[] {
  if (type !== jsonPatch) return faultsOfJson(text).errors([]);
  const operations: readonly unknown[] = Array.isArray(patch) ? patch : [];
  const unknown = operations.flatMap((operation, at) =>
    isJsonObject(operation)
      ? Object.keys(operation).flatMap((member) => (operationMembers.has(member) ? [] : [`[${at}].${member}`]))
      : [],
  );
  return faultsOfJson(text)
    .errors(unknown)
    .map((fault) => `json patch ${fault}`);
}

function parsePatch(type: string, text: string, maxValues: number): unknown {
  try {
    return jsonOf(text, maxValues);
  } catch (error) {
    if (error instanceof SyntaxError) throw malformed(type, error.message);
    throw error;
  }
}

/** Kubernetes reports a decoding error for all but strategic merges. */
function malformed(type: string, why: string): StatusError {
  return badRequest(type === strategicMerge ? why : `error decoding patch: ${why}`);
}

function objectPatch(patch: unknown): object {
  if (isJsonObject(patch)) return patch;
  const found = jsonTypeOf(patch);
  throw new PatchError("malformed", `json: cannot unmarshal ${found} into Go value of type map[string]interface {}`);
}

function mergeOf(patch: unknown): object {
  if (patch === null) throw badRequest("Invalid JSON Patch");
  return objectPatch(patch);
}

function attempt(type: string, apply: () => unknown): unknown {
  try {
    return apply();
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    if (error.code === "tooLarge") throw new StatusError("RequestEntityTooLarge", error.message);
    if (error.code === "malformed") throw malformed(type, error.message);
    // The reason is omitted: kubectl prints causes without a field illegibly.
    const message = "the server rejected our request due to an error in our request";
    throw new StatusError("Invalid", message, { details: {} });
  }
}

/** The patched object; wrong types are reported as an error of the patch. */
function decoded(patched: JsonObject, resource: Resource, patch: string): DecodedObject {
  try {
    return decodeTyped(patched, resource);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw badPatch(patch, error.message);
  }
}

const maxShownCharacters = 256;

/** Another kind or apiVersion is an error of the patch as well. @throws StatusError Invalid. */
function attemptType(patched: JsonObject, resource: Resource, patch: string): void {
  try {
    checkType(patched, resource);
  } catch (error) {
    if (error instanceof StatusError) throw badPatch(patch, error.message);
    throw error;
  }
}

/** A patch has no precondition; a new uid in it is a change like any other. @throws StatusError Invalid. */
function checkUid(resource: Resource, stored: ApiObject, { metadata }: ApiObject): void {
  const { uid = "", name = "" } = metadata;
  if (uid === "" || uid === stored.metadata.uid) return;
  throw invalidObject(resource, name, [invalid("metadata.uid", uid, "field is immutable")]);
}

/** Kubernetes names no kind here. */
function badPatch(patch: string, why: string): StatusError {
  const shown = truncate(patch, maxShownCharacters);
  return invalidObject({ group: "", kind: "" }, "", [invalid("patch", shown, why)]);
}
