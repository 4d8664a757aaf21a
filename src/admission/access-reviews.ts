import { decodeObject } from "../core/decode.ts";
import { DecodeError } from "../core/decode-error.ts";
import { forbiddenField, invalidObject, type FieldError } from "../core/field-error.ts";
import { isJsonObject, ownValue, type JsonObject } from "../core/json-value.ts";
import type { ApiObject } from "../core/object.ts";
import { badRequest, forbidden, StatusError } from "../core/status.ts";
import type { UserInfo } from "../core/user.ts";
import { accessProfiles } from "../resources/access-profile.ts";
import { accessRequests, readKey, type AccessRequest } from "../resources/access-request.ts";
import { kindOf, type Resource } from "../resources/resource.ts";
import { serviceAccounts } from "../resources/service-account.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";

/** On a request of a cluster, where the API cannot write it into the status: who asked, as authenticated. */
const requesterAnnotation = "access.pratique.dev/requester";

/** Which of the two questions of an API server is answered. */
export type ReviewStage = "mutating" | "validating";

/**
 * Answers the AdmissionReviews (v1 and v1beta1) that a Kubernetes API server sends about access requests, profiles and tokens of
 * accounts, by the very plugins that guard them on a hub, and by the validation that a hub does itself. Whatever cannot be judged is refused.
 */
export interface AccessReviews {
  /** The review to reply with. @throws StatusError BadRequest for what is no review */
  (stage: ReviewStage, review: unknown): Promise<JsonObject>;
}

const kinds: readonly Resource[] = [accessRequests, accessProfiles, serviceAccounts];
const versions: ReadonlySet<unknown> = new Set(["admission.k8s.io/v1", "admission.k8s.io/v1beta1"]);

/** Answers by the given plugins. */
export function accessReviews(plugins: readonly AdmissionPlugin[]): AccessReviews {
  return async (stage, review) => {
    const { apiVersion, uid, request } = readReview(review);
    const notes: Notes = { warnings: [], annotations: {} };
    const answer = await judged(async () => {
      const asked = admissionRequest(request, notes);
      if (asked.operation === "DELETE") return undefined;
      return stage === "mutating" ? changes(plugins, asked) : check(plugins, asked);
    });
    const { warnings, annotations } = notes;
    const response = {
      uid,
      ...answer,
      ...(warnings.length === 0 ? {} : { warnings }),
      ...(Object.keys(annotations).length === 0 ? {} : { auditAnnotations: annotations }),
    };
    return { apiVersion, kind: "AdmissionReview", response };
  };
}

interface Notes {
  readonly warnings: string[];
  readonly annotations: Record<string, string>;
}

type Patch = readonly JsonObject[];

async function judged(act: () => Promise<Patch | undefined>): Promise<JsonObject> {
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
  // What went wrong is for the log of the webhook, not for whoever asks.
  return new StatusError("InternalError", "the access webhook could not judge this request");
}

interface Review {
  readonly apiVersion: string;
  readonly uid: string;
  readonly request: JsonObject;
}

function readReview(review: unknown): Review {
  const apiVersion = isJsonObject(review) ? ownValue(review, "apiVersion") : undefined;
  const request = isJsonObject(review) ? ownValue(review, "request") : undefined;
  const uid = isJsonObject(request) ? ownValue(request, "uid") : undefined;
  if (!versions.has(apiVersion) || !isJsonObject(request) || typeof uid !== "string" || uid === "") {
    throw badRequest("the body is no AdmissionReview of admission.k8s.io/v1 or v1beta1");
  }
  return { apiVersion: String(apiVersion), uid, request };
}

function admissionRequest(request: JsonObject, notes: Notes): AdmissionRequest {
  const { resource, operation, subresource } = askedAbout(request);
  const { object, oldObject } = objectsOf(request, kindOf(resource, resource.subresources[subresource]), operation);
  const name = text(ownValue(request, "name"));
  const isRequest = resource === accessRequests;
  return {
    operation,
    resource,
    subresource,
    namespace: text(ownValue(request, "namespace")),
    name: name === "" ? (object?.metadata.name ?? "") : name,
    object: isRequest && object !== undefined ? withRequester(object, oldObject) : object,
    oldObject: isRequest && oldObject !== undefined ? withObserved(oldObject) : oldObject,
    user: userOf(ownValue(request, "userInfo")),
    dryRun: ownValue(request, "dryRun") === true,
    warn: (warning) => void notes.warnings.push(warning),
    // An API server puts the name of the webhook before the key, and allows one slash.
    annotate: (key, value) => {
      notes.annotations[key.slice(key.lastIndexOf("/") + 1)] = value;
    },
  };
}

/** @throws StatusError BadRequest for kinds, subresources and operations that are none of ours */
function askedAbout(request: JsonObject): Pick<AdmissionRequest, "resource" | "operation" | "subresource"> {
  const { group, resource: plural } = fields(ownValue(request, "resource"));
  const resource = kinds.find((one) => one.group === group && one.plural === plural);
  const operation = ownValue(request, "operation");
  const subresource = text(ownValue(request, "subResource"));
  if (resource === undefined || (resource === serviceAccounts && subresource !== "token")) throw otherThings();
  if (operation !== "CREATE" && operation !== "UPDATE" && operation !== "DELETE") throw otherThings();
  return { resource, operation, subresource };
}

/** @throws StatusError BadRequest, DecodeError */
function objectsOf(
  request: JsonObject,
  shape: Resource,
  operation: AdmissionRequest["operation"],
): Pick<AdmissionRequest, "object" | "oldObject"> {
  const object = decoded(shape, ownValue(request, "object"));
  const oldObject = decoded(shape, ownValue(request, "oldObject"));
  if (operation !== "DELETE" && object === undefined) throw badRequest("the review holds no object");
  if (operation === "UPDATE" && oldObject === undefined) throw badRequest("the review holds no old object");
  return { object, oldObject };
}

function otherThings(): StatusError {
  return badRequest("the access webhook is asked about something else than access requests, profiles and tokens");
}

function decoded(resource: Resource, value: unknown): ApiObject | undefined {
  if (value === undefined || value === null) return undefined;
  const { object } = decodeObject(resource.schema, value);
  return { metadata: {}, ...object } as ApiObject;
}

function requesterOf({ metadata }: ApiObject): string | undefined {
  const { annotations = {} } = metadata;
  return Object.hasOwn(annotations, requesterAnnotation) ? annotations[requesterAnnotation] : undefined;
}

/** The stored request with what a hub would have seen of it when it was made; its spec is what it was then. */
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

/** A writer who sends back the evidence as it was stored, without the requester, has changed nothing. */
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

async function changes(plugins: readonly AdmissionPlugin[], asked: AdmissionRequest): Promise<Patch> {
  const { operation, resource, subresource, object, user } = asked;
  if (object === undefined) return [];
  if (resource === accessRequests && operation === "CREATE") return requesterPatch(object, user.username);
  const part = resource === accessRequests && subresource === "status" ? "status" : "spec";
  if (part === "spec" && resource !== serviceAccounts) return [];
  let next = object;
  for (const { mutate } of plugins) {
    next = (await mutate?.({ ...asked, object: next }, { number: 0, request: asked, again: () => undefined })) ?? next;
  }
  return next === object ? [] : [{ op: "add", path: `/${part}`, value: next[part] }];
}

function requesterPatch({ metadata }: ApiObject, username: string): Patch {
  const key = requesterAnnotation.replace("/", "~1");
  return [
    ...(metadata.annotations === undefined ? [{ op: "add", path: "/metadata/annotations", value: {} }] : []),
    { op: "add", path: `/metadata/annotations/${key}`, value: username },
  ];
}

/** @throws StatusError for what a hub would refuse */
async function check(plugins: readonly AdmissionPlugin[], asked: AdmissionRequest): Promise<undefined> {
  const { resource, name, subresource, object, oldObject, user, operation } = asked;
  if (object === undefined) return undefined;
  if (subresource === "") {
    const stored = operation === "CREATE" ? undefined : oldObject;
    const errors = [
      ...(resource.validate?.(object, stored) ?? []),
      ...(stored === undefined ? [] : (resource.validateUpdate?.(object, stored) ?? [])),
      ...(resource === accessRequests ? requesterErrors(object, stored, user) : []),
    ];
    if (errors.length > 0) throw invalidObject(resource, name, errors);
  } else if (resource === accessRequests) {
    checkStamped(asked, object as AccessRequest, (oldObject ?? object) as AccessRequest);
  }
  // A request is judged as the machine made it; the stamp on it is ours.
  const unstamped = { ...asked, object: withoutRequester(object) };
  for (const { validate } of plugins) await validate?.(unstamped);
  return undefined;
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

/** What another webhook made of the decisions after ours is seen here. */
function checkStamped({ resource, name, user }: AdmissionRequest, next: AccessRequest, stored: AccessRequest): void {
  const [before, after] = [stored.status?.decisions ?? [], next.status?.decisions ?? []];
  const added = after.slice(before.length);
  const isKept = JSON.stringify(after.slice(0, before.length)) === JSON.stringify(before);
  if (isKept && added.length <= 1 && added.every((decision) => decision.user === user.username)) return;
  throw forbidden(resource, name, "decisions are stamped by the access webhook, and by nobody else");
}

function userOf(value: unknown): UserInfo {
  const info = fields(value);
  const { extra } = info;
  const username = text(info["username"]);
  if (username === "") throw badRequest("the review does not say who asks");
  return {
    username,
    uid: text(info["uid"]),
    groups: texts(info["groups"]),
    ...(isJsonObject(extra)
      ? { extra: Object.fromEntries(Object.entries(extra).map(([key, one]) => [key, texts(one)])) }
      : {}),
  };
}

function fields(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}
