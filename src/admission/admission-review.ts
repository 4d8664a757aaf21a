import { isJsonObject, ownValue, type JsonObject } from "../apimachinery/json-value.ts";
import { apiVersionOf, type ApiObject } from "../apimachinery/object.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { stringAt, stringsAt } from "../apis/json-fields.ts";
import { kindOf, type Resource } from "../apis/resource.ts";
import type { AdmissionRequest } from "./admission.ts";
import { admissionNamespace } from "./request-match.ts";
import { truncate } from "../apimachinery/truncate.ts";

/** The supported versions of AdmissionReview; each webhook lists its own. */
export type ReviewVersion = "v1" | "v1beta1";

/** A call of a webhook. `resource` is the version by which it matched, `object` and `oldObject` are in that version. */
export interface ReviewQuestion {
  readonly version: ReviewVersion;
  readonly uid: string;
  readonly request: AdmissionRequest;
  readonly resource: Resource;
  readonly object: ApiObject | undefined;
  readonly oldObject: ApiObject | undefined;
}

/** The valid part of the response of a webhook. */
export interface ReviewAnswer {
  readonly allowed: boolean;
  /** The Status of a denial, as the webhook wrote it. */
  readonly status: JsonObject | undefined;
  /** The patch; undefined for no change. Only for mutating webhooks. */
  readonly patch: ReviewPatch | undefined;
  readonly warnings: readonly string[];
  readonly auditAnnotations: Readonly<Record<string, string>>;
}

/** A patch as sent: base64 of JSON with type JSONPatch, the only type. */
export interface ReviewPatch {
  readonly type: string;
  readonly base64: string;
}

/** An invalid response; the message is the reason. */
export class ReviewError extends Error {
  override readonly name = "ReviewError";
  readonly code = "response";
}

/** The AdmissionReview to send. Source: api/admission/v1 and apiserver pkg/admission/plugin/webhook/request. */
export function admissionReview({ version, uid, ...question }: ReviewQuestion): JsonObject {
  const { object = null, oldObject = null } = question;
  return {
    kind: "AdmissionReview",
    apiVersion: `admission.k8s.io/${version}`,
    request: {
      uid,
      ...requestFields(question.request, question.resource),
      object,
      oldObject,
      ...terms(question.request),
    },
  };
}

/** The request without its objects, as the CEL variable `request`. */
export function requestVariable(request: AdmissionRequest, resource: Resource): JsonObject {
  return { ...requestFields(request, resource), ...terms(request) };
}

function requestFields(request: AdmissionRequest, resource: Resource): JsonObject {
  const { subresource, operation, user } = request;
  const name = request.nameIsGenerated === true ? "" : request.name;
  const namespace = admissionNamespace({ ...request, name });
  const part = subresource === "" ? {} : { subResource: subresource };
  const requestPart = subresource === "" ? {} : { requestSubResource: subresource };
  return {
    kind: kindFields(resource, subresource),
    resource: resourceFields(resource),
    ...part,
    requestKind: kindFields(request.resource, subresource),
    requestResource: resourceFields(request.resource),
    ...requestPart,
    ...(name === "" ? {} : { name }),
    ...(namespace === "" ? {} : { namespace }),
    operation,
    userInfo: userFields(user),
  };
}

function resourceFields({ group, version, plural }: Resource): JsonObject {
  return { group, version, resource: plural };
}

function terms({ dryRun, options }: AdmissionRequest): JsonObject {
  return { dryRun, options: options ?? null };
}

/** The body of a subresource may have another kind than the object. */
function kindFields(resource: Resource, subresource: string): JsonObject {
  const part = subresource === "" ? undefined : resource.subresources[subresource];
  const { group, version, kind } = kindOf(resource, part);
  return { group, version, kind };
}

function userFields({ username, uid, groups, extra }: UserInfo): JsonObject {
  return {
    username,
    ...(uid === undefined || uid === "" ? {} : { uid }),
    groups,
    ...(extra === undefined || Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

/**
 * Parses the response of a webhook to a call of that version and uid. In v1beta1, as in Kubernetes, kind and uid may be missing. @throws
 * ReviewError for a response that violates the protocol.
 */
export function reviewAnswer(
  value: unknown,
  asked: Pick<ReviewQuestion, "version" | "uid">,
  stage: "mutating" | "validating",
): ReviewAnswer {
  const review = isJsonObject(value) ? value : {};
  const response = ownValue(review, "response");
  if (!isJsonObject(response)) throw new ReviewError("webhook response was absent");
  if (asked.version === "v1") checkIdentity(review, response, asked.uid);
  const allowed = ownValue(response, "allowed") ?? false;
  if (typeof allowed !== "boolean") throw new ReviewError("response.allowed is not a boolean");
  const status = ownValue(response, "status");
  return {
    allowed,
    status: isJsonObject(status) ? status : undefined,
    patch: patchOf(response, asked.version, stage),
    warnings: stringsAt(response, "warnings"),
    auditAnnotations: texts(ownValue(response, "auditAnnotations")),
  };
}

function checkIdentity(review: JsonObject, response: JsonObject, uid: string): void {
  const found = stringAt(response, "uid");
  if (found !== uid) throw new ReviewError(`expected response.uid=${JSON.stringify(uid)}, got ${quoted(found)}`);
  const [apiVersion, kind] = [stringAt(review, "apiVersion"), stringAt(review, "kind")];
  if (apiVersion === apiVersionOf("admission.k8s.io", "v1") && kind === "AdmissionReview") return;
  throw new ReviewError(
    `expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got ${apiVersion.slice(0, 100)}, Kind=${kind.slice(0, 100)}`,
  );
}

function patchOf(
  response: JsonObject,
  version: ReviewVersion,
  stage: "mutating" | "validating",
): ReviewPatch | undefined {
  const [patch, patchType] = [stringAt(response, "patch"), ownValue(response, "patchType") ?? undefined];
  const [, problem] = version === "v1" ? (patchProblems[stage].find(([breaks]) => breaks(patch, patchType)) ?? []) : [];
  if (problem !== undefined) throw new ReviewError(problem);
  if (stage === "validating" || patch === "") return undefined;
  // v1beta1 requires no patch type.
  return { type: version === "v1" ? stringAt(response, "patchType") : "JSONPatch", base64: patch };
}

type PatchProblem = readonly [breaks: (patch: string, type: unknown) => boolean, message: string];

const patchProblems: Readonly<Record<"mutating" | "validating", readonly PatchProblem[]>> = {
  validating: [
    [(patch) => patch !== "", "validating webhook may not return response.patch"],
    [(_patch, type) => type !== undefined, "validating webhook may not return response.patchType"],
  ],
  mutating: [
    [(patch, type) => patch !== "" && type === undefined, "webhook returned response.patch but not response.patchType"],
    [(patch, type) => patch === "" && type !== undefined, "webhook returned response.patchType but not response.patch"],
    [(_patch, type) => type === "", 'webhook returned invalid response.patchType of ""'],
  ],
};

function quoted(value: string): string {
  return JSON.stringify(truncate(value, 100));
}

function texts(value: unknown): Readonly<Record<string, string>> {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
