import type { AskedSpec } from "../authorization/access-review-spec.ts";
import { DecodeError } from "../apimachinery/decode-error.ts";
import { decodeObject } from "../apimachinery/decode.ts";
import { isJsonObject, ownValue, type JsonObject } from "../apimachinery/json-value.ts";
import { badRequest } from "../apimachinery/status.ts";
import { published } from "../apis/schemas/published.ts";
import type { Judgement } from "./deciding-policy.ts";

/** The decision on a SubjectAccessReview, as its status. */
export interface ReviewStatus {
  readonly allowed: boolean;
  readonly denied?: true;
  readonly reason?: string;
  readonly evaluationError?: string;
}

/** A review that can be answered. */
export interface AskedReview {
  readonly apiVersion: string;
  /** The spec as it was sent. */
  readonly spec: unknown;
  /** The input of the policy: the review; of v1beta1, with the groups under `groups` as well as under `group`. */
  readonly input: JsonObject;
  /** The spec in the form of v1, without unknown fields. */
  readonly asked: AskedSpec;
}

const versions = ["authorization.k8s.io/v1", "authorization.k8s.io/v1beta1"];

/** Reads a SubjectAccessReview of one subject and one action. @throws StatusError BadRequest for anything else */
export function askedReview(review: unknown): AskedReview {
  const apiVersion = isJsonObject(review) ? review["apiVersion"] : undefined;
  if (!isJsonObject(review) || review["kind"] !== "SubjectAccessReview" || typeof apiVersion !== "string")
    throw badRequest("the body is no SubjectAccessReview");
  if (!versions.includes(apiVersion))
    throw badRequest("apiVersion must be authorization.k8s.io/v1 or authorization.k8s.io/v1beta1");
  const spec = review["spec"];
  if (!isJsonObject(spec)) throw badRequest("spec is missing");
  if (apiVersion.endsWith("/v1")) return { apiVersion, spec, input: review, asked: askedSpec(spec) };
  const { groups: _ignored, ...rest } = spec;
  const groups = spec["group"];
  const seen = groups === undefined ? rest : { ...rest, groups };
  return { apiVersion, spec, input: { ...review, spec: seen }, asked: askedSpec(seen) };
}

function askedSpec(spec: JsonObject): AskedSpec {
  let known: Partial<AskedSpec>;
  try {
    known = decodeObject(published("io.k8s.api.authorization.v1.SubjectAccessReviewSpec"), spec).object;
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(`spec.${error.path}: ${error.message}`);
    throw error;
  }
  if ((known.resourceAttributes === undefined) === (known.nonResourceAttributes === undefined))
    throw badRequest("spec must have one of resourceAttributes and nonResourceAttributes");
  const { user = "", groups = [] } = known;
  if (user === "" && groups.length === 0) throw badRequest("spec must name a user or a group");
  return { ...known, user };
}

// Nothing more leaves the process: the caller must not learn the contents of the policy.
const failure: ReviewStatus = {
  allowed: false,
  denied: true,
  reason: "the policy could not be evaluated",
  evaluationError: "the policy could not be evaluated; the log of the authorizer says why",
};

/** The decision of an evaluation, and why there is none where it failed; no decision is a denial. */
export function statusOf(judgement: Judgement): { readonly status: ReviewStatus; readonly problem?: string } {
  const { decisionId } = judgement;
  if ("error" in judgement) return { status: withId(failure, decisionId), problem: judgement.error };
  const { json } = judgement;
  const value = json === undefined || json === "false" ? false : json === "true" ? true : parsed(json);
  if (typeof value === "boolean") return { status: withId({ allowed: value }, decisionId) };
  const status = isJsonObject(value) ? statusOfObject(value) : undefined;
  if (status !== undefined) return { status: withId(status, decisionId) };
  const problem = isJsonObject(value)
    ? "allow and deny must be booleans, and reason a string"
    : "the value of the policy is neither a boolean nor an object";
  return { status: withId(failure, decisionId), problem };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

const longestReason = 4096;

function statusOfObject(value: JsonObject): ReviewStatus | undefined {
  const of = (...names: readonly string[]): unknown =>
    names.map((name) => ownValue(value, name)).find((each) => each !== undefined);
  const [allow, deny, reason] = [of("allow", "allowed"), of("deny", "denied"), of("reason")];
  const isWrong = [allow, deny].some((each) => each !== undefined && typeof each !== "boolean");
  if (isWrong || (allow === undefined && deny === undefined) || (reason !== undefined && typeof reason !== "string"))
    return undefined;
  const text = typeof reason === "string" && reason !== "" ? { reason: reason.slice(0, longestReason) } : {};
  if (deny === true) return { allowed: false, denied: true, ...text };
  return { allowed: allow === true, ...text };
}

function withId(status: ReviewStatus, id: string | undefined): ReviewStatus {
  if (id === undefined) return status;
  const { reason } = status;
  return { ...status, reason: reason === undefined ? `OPA decision ${id}` : `${reason} (OPA decision ${id})` };
}
