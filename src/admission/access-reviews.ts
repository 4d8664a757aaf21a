import { admissionChain, type AdmissionPlugin, type AdmissionRequest } from "./admission.ts";
import { decodeObject } from "../apimachinery/decode.ts";
import { forbiddenField, invalidObject, type FieldError } from "../apimachinery/field-error.ts";
import type { JsonObject } from "../apimachinery/json-value.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { forbidden } from "../apimachinery/status.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { accessProfiles } from "../apis/access-profile.ts";
import { accessGroup, accessRequests, readKey, type AccessRequest } from "../apis/access-request.ts";
import { configMaps } from "../apis/config-map.ts";
import { kindOf } from "../apis/resource.ts";
import { secrets } from "../apis/secret.ts";
import { serviceAccounts } from "../apis/service-account.ts";
import {
  answeredReview,
  type ReviewNotes,
  type ReviewPatch,
  type ReviewStage,
  reviewedRequest,
  type ReviewedKinds,
} from "./review-answer.ts";

/** Annotation on a request in a cluster whose API cannot write the status: the authenticated requester. */
const requesterAnnotation = "access.pratique.dev/requester";

/**
 * Answers the AdmissionReviews (v1 and v1beta1) of a Kubernetes API server about access requests, profiles, accounts of machines and the
 * inventory of nodes, with the same plugins and validation as a hub. A review that cannot be decided is denied.
 */
export interface AccessReviews {
  /** The AdmissionReview of the response. @throws StatusError BadRequest for an invalid review */
  (stage: ReviewStage, review: unknown): Promise<JsonObject>;
}

/** Answers with the given plugins. */
export function accessReviews(plugins: readonly AdmissionPlugin[]): AccessReviews {
  return (stage, review) =>
    answeredReview(review, async (request, notes) => {
      const asked = admissionRequest(request, notes);
      if (asked.operation === "DELETE") return undefined;
      return stage === "mutating" ? changes(plugins, asked) : check(plugins, asked);
    });
}

function admissionRequest(request: JsonObject, notes: ReviewNotes): AdmissionRequest {
  const asked = reviewedRequest(reviewed, request, notes);
  const { resource, object, oldObject } = asked;
  if (resource !== accessRequests) return asked;
  return {
    ...asked,
    object: object === undefined ? undefined : withRequester(object, oldObject),
    oldObject: oldObject === undefined ? undefined : withObserved(oldObject),
  };
}

const reviewed: ReviewedKinds = {
  kinds: [accessRequests, accessProfiles, serviceAccounts, secrets, configMaps],
  guards: (resource, subresource) => subresource === "" || (resource !== secrets && resource !== configMaps),
  decode: (value, resource, subresource) => {
    const { object } = decodeObject(kindOf(resource, resource.subresources[subresource]).schema, value);
    return { metadata: {}, ...object } as ApiObject;
  },
  refusal: "the access webhook judges access requests, profiles, accounts, their tokens, Secrets and ConfigMaps only",
};

function requesterOf({ metadata }: ApiObject): string | undefined {
  const { annotations = {} } = metadata;
  return Object.hasOwn(annotations, requesterAnnotation) ? annotations[requesterAnnotation] : undefined;
}

/** The stored request with what a hub would have recorded at its creation; its spec has not changed since. */
function withObserved(object: ApiObject): AccessRequest {
  const request = object as AccessRequest;
  const status = request.status ?? {};
  const fingerprint = status.fingerprint ?? readKey(request)?.fingerprint;
  const requester = requesterOf(request);
  return {
    ...request,
    status: {
      ...status,
      ...(fingerprint === undefined ? {} : { fingerprint }),
      ...(requester === undefined ? {} : { evidence: { requester, ...status.evidence } }),
    },
  };
}

/** A writer that sends the evidence as stored, without the requester, has changed nothing. */
function withRequester(object: ApiObject, oldObject: ApiObject | undefined): AccessRequest {
  const request = object as AccessRequest;
  const { evidence } = request.status ?? {};
  const stored = oldObject as AccessRequest | undefined;
  const requester = stored === undefined ? undefined : requesterOf(stored);
  if (evidence === undefined || requester === undefined || stored?.status?.evidence?.requester !== undefined) {
    return request;
  }
  return { ...request, status: { ...request.status, evidence: { requester, ...evidence } } };
}

async function changes(plugins: readonly AdmissionPlugin[], asked: AdmissionRequest): Promise<ReviewPatch> {
  const { operation, resource, subresource, object, user } = asked;
  if (object === undefined) return [];
  if (resource === accessRequests && operation === "CREATE") return requesterPatch(object, user.username);
  const part = resource === accessRequests && subresource === "status" ? "status" : "spec";
  if (part === "spec" && resource !== serviceAccounts) return [];
  const { mutate } = admissionChain(plugins);
  const next = (await mutate(asked)) ?? object;
  return next === object ? [] : [{ op: "add", path: `/${part}`, value: next[part] }];
}

function requesterPatch({ metadata }: ApiObject, username: string): ReviewPatch {
  const key = requesterAnnotation.replace("/", "~1");
  return [
    ...(metadata.annotations === undefined ? [{ op: "add", path: "/metadata/annotations", value: {} }] : []),
    { op: "add", path: `/metadata/annotations/${key}`, value: username },
  ];
}

/** @throws StatusError for objects that a hub would reject */
async function check(plugins: readonly AdmissionPlugin[], asked: AdmissionRequest): Promise<undefined> {
  const { resource, name, subresource, object, oldObject } = asked;
  if (object === undefined) return undefined;
  if (subresource === "" && resource.group === accessGroup) {
    const errors = validationErrors(asked, object);
    if (errors.length > 0) throw invalidObject(resource, name, errors);
  } else if (resource === accessRequests) {
    checkStamped(asked, object as AccessRequest, (oldObject ?? object) as AccessRequest);
  }
  // The request is validated as the machine sent it, without the stamp of this webhook.
  const unstamped = { ...asked, object: withoutRequester(object) };
  for (const { validate } of plugins) await validate?.(unstamped);
  return undefined;
}

function validationErrors(
  { resource, operation, oldObject, user }: AdmissionRequest,
  object: ApiObject,
): readonly FieldError[] {
  const stored = operation === "CREATE" ? undefined : oldObject;
  return [
    ...(resource.validate?.(object, stored) ?? []),
    ...((stored && resource.validateUpdate?.(object, stored)) ?? []),
    ...(resource === accessRequests ? requesterErrors(object, stored, user) : []),
  ];
}

function withoutRequester(object: ApiObject): ApiObject {
  const { annotations, ...metadata } = object.metadata;
  if (annotations === undefined) return object;
  const { [requesterAnnotation]: _requester, ...others } = annotations;
  const rest = Object.keys(others).length === 0 ? {} : { annotations: others };
  return { ...object, metadata: { ...metadata, ...rest } };
}

function requesterErrors(object: ApiObject, stored: ApiObject | undefined, user: UserInfo): readonly FieldError[] {
  const expected = stored === undefined ? user.username : requesterOf(stored);
  if (requesterOf(object) === expected) return [];
  const path = `metadata.annotations[${requesterAnnotation}]`;
  return [forbiddenField(path, "who asked is stamped when the request is made, and stays as it is")];
}

/** Detects changes of the decisions by another webhook after this one. */
function checkStamped({ resource, name, user }: AdmissionRequest, next: AccessRequest, stored: AccessRequest): void {
  const [before, after] = [stored.status?.decisions ?? [], next.status?.decisions ?? []];
  const added = after.slice(before.length);
  const isKept = JSON.stringify(after.slice(0, before.length)) === JSON.stringify(before);
  if (isKept && added.length <= 1 && added.every((decision) => decision.user === user.username)) return;
  throw forbidden(resource, name, "only the access webhook writes the user and time of decisions");
}
