import { DecodeError } from "../apimachinery/decode-error.ts";
import { isJsonObject, type JsonObject, ownValue } from "../apimachinery/json-value.ts";
import { badRequest, StatusError } from "../apimachinery/status.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { stringAt, stringsAt, valueAt, fieldsAt, isFields } from "../apis/json-fields.ts";
import type { AdmissionRequest } from "./admission.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import type { Resource } from "../apis/resource.ts";

/** Which of the two admission phases of an API server is answered. */
export type ReviewStage = "mutating" | "validating";

/** A JSON patch. */
export type ReviewPatch = readonly JsonObject[];

/** The output of plugins beside their verdict. */
export type ReviewNotes = Pick<AdmissionRequest, "warn" | "annotate">;

/** Decides the request of a review: a patch, or undefined for no change. @throws StatusError to deny */
export type ReviewJudge = (request: JsonObject, notes: ReviewNotes) => Promise<ReviewPatch | undefined>;

const versions: ReadonlySet<string> = new Set(["admission.k8s.io/v1", "admission.k8s.io/v1beta1"]);

/**
 * The AdmissionReview (v1 or v1beta1) that answers one of a Kubernetes API server. A review that cannot be decided is denied. @throws
 * StatusError BadRequest for an invalid review
 */
export async function answeredReview(review: unknown, judge: ReviewJudge): Promise<JsonObject> {
  const { apiVersion, uid, request } = readReview(review);
  const warnings: string[] = [];
  const annotations = new Map<string, string>();
  const answer = await judged(() =>
    judge(request, {
      warn: (warning) => void warnings.push(warning),
      // An API server prefixes the key with the name of the webhook, and allows one slash.
      annotate: (key, value) => void annotations.set(key.slice(key.lastIndexOf("/") + 1), value),
    }),
  );
  const response = {
    uid,
    ...answer,
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(annotations.size === 0 ? {} : { auditAnnotations: Object.fromEntries(annotations) }),
  };
  return { apiVersion, kind: "AdmissionReview", response };
}

async function judged(act: () => Promise<ReviewPatch | undefined>): Promise<JsonObject> {
  try {
    const patch = await act();
    if (patch === undefined || patch.length === 0) return { allowed: true };
    const encoded = Buffer.from(JSON.stringify(patch)).toString("base64");
    return { allowed: true, patchType: "JSONPatch", patch: encoded };
  } catch (error) {
    const { code, reason, message, details } = refusalOf(error).toStatus();
    return { allowed: false, status: { code, reason, message, ...(details === undefined ? {} : { details }) } };
  }
}

function refusalOf(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  if (error instanceof DecodeError) return badRequest(error.message);
  // Only the log of the webhook gets the cause, not the requester.
  return new StatusError("InternalError", "the access webhook could not judge this request");
}

function readReview(review: unknown): {
  readonly apiVersion: string;
  readonly uid: string;
  readonly request: JsonObject;
} {
  const request = valueAt(review, "request");
  const [apiVersion, uid] = [stringAt(review, "apiVersion"), stringAt(request, "uid")];
  if (!versions.has(apiVersion) || !isJsonObject(request) || uid === "") {
    throw badRequest("the body is no AdmissionReview of admission.k8s.io/v1 or v1beta1");
  }
  return { apiVersion, uid, request };
}

/** The user of a review. @throws StatusError BadRequest for a review without a user */
export function reviewedUser(value: unknown): UserInfo {
  const username = stringAt(value, "username");
  if (username === "") throw badRequest("the review does not say who asks");
  const extra = valueAt(value, "extra");
  return {
    username,
    uid: stringAt(value, "uid"),
    groups: stringsAt(value, "groups"),
    ...(isJsonObject(extra)
      ? { extra: Object.fromEntries(Object.keys(extra).map((key) => [key, stringsAt(extra, key)])) }
      : {}),
  };
}

/** The resources that a webhook handles, and how it decodes the objects. */
export interface ReviewedKinds {
  readonly kinds: readonly Resource[];
  /** Whether it handles this subresource, empty for the object itself. */
  readonly guards: (resource: Resource, subresource: string) => boolean;
  /** @throws DecodeError */
  readonly decode: (value: JsonObject, resource: Resource, subresource: string) => ApiObject;
  /** The message for a review of any other resource. */
  readonly refusal: string;
}

/**
 * The request of a review (v1 or v1beta1) in the form that plugins of a hub use. @throws StatusError BadRequest for kinds, subresources
 * and operations that are not handled, and for missing objects; DecodeError
 */
export function reviewedRequest(
  { kinds, guards, decode, refusal }: ReviewedKinds,
  request: JsonObject,
  notes: ReviewNotes,
): AdmissionRequest {
  const { group, resource: plural } = fieldsAt(request, "resource");
  const resource = kinds.find((one) => one.group === group && one.plural === plural);
  const subresource = stringAt(request, "subResource");
  const operation = ownValue(request, "operation");
  if (resource === undefined || !guards(resource, subresource) || !isGuarded(operation)) throw badRequest(refusal);
  const read = (field: string): ApiObject | undefined => {
    const value = ownValue(request, field);
    return value === undefined || value === null
      ? undefined
      : decode(isFields(value) ? value : {}, resource, subresource);
  };
  const objects = { object: read("object"), oldObject: read("oldObject") };
  checkPresent(operation, objects);
  return {
    operation,
    resource,
    subresource,
    namespace: stringAt(request, "namespace"),
    name: stringAt(request, "name") || (objects.object?.metadata.name ?? ""),
    ...objects,
    user: reviewedUser(ownValue(request, "userInfo")),
    dryRun: ownValue(request, "dryRun") === true,
    ...notes,
  };
}

/** @throws StatusError BadRequest for a missing object */
function checkPresent(operation: string, { object, oldObject }: Pick<AdmissionRequest, "object" | "oldObject">): void {
  if (operation !== "DELETE" && object === undefined) throw badRequest("the review holds no object");
  if (operation === "UPDATE" && oldObject === undefined) throw badRequest("the review holds no old object");
}

function isGuarded(operation: unknown): operation is AdmissionRequest["operation"] {
  return operation === "CREATE" || operation === "UPDATE" || operation === "DELETE";
}
