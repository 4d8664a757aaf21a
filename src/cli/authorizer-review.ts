import { badRequest } from "../core/status.ts";
import type { RegoOutcome } from "../policy/rego/compile.ts";
import { entryOf, type RegoObject, type RegoValue } from "../policy/rego/values.ts";

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
  /** As it was asked. */
  readonly spec: unknown;
  /** What the policy sees: the review; of v1beta1, with the groups under `groups` as well as under `group`. */
  readonly input: Readonly<Record<string, unknown>>;
}

const versions = ["authorization.k8s.io/v1", "authorization.k8s.io/v1beta1"];

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads a SubjectAccessReview. @throws StatusError BadRequest for anything else */
export function askedReview(asked: unknown): AskedReview {
  const apiVersion = isObject(asked) ? asked["apiVersion"] : undefined;
  if (!isObject(asked) || asked["kind"] !== "SubjectAccessReview" || typeof apiVersion !== "string")
    throw badRequest("the body is no SubjectAccessReview");
  if (!versions.includes(apiVersion))
    throw badRequest("apiVersion must be authorization.k8s.io/v1 or authorization.k8s.io/v1beta1");
  const spec = asked["spec"];
  if (!isObject(spec)) throw badRequest("spec is missing");
  if (apiVersion.endsWith("/v1")) return { apiVersion, spec, input: asked };
  const { groups: _ignored, ...rest } = spec;
  const groups = spec["group"];
  return { apiVersion, spec, input: { ...asked, spec: groups === undefined ? rest : { ...rest, groups } } };
}

const failure: ReviewStatus = { allowed: false, denied: true, reason: "the policy could not be evaluated" };

/** What the value of the policy decides. Whatever is no decision is a denial. */
export function statusOf(outcome: RegoOutcome): ReviewStatus {
  if ("error" in outcome) return { ...failure, evaluationError: outcome.error.message };
  const { value } = outcome;
  if (value === undefined || value === false) return { allowed: false };
  if (value === true) return { allowed: true };
  if (typeof value === "object" && value !== null && value.kind === "object") return statusOfObject(value);
  return { ...failure, evaluationError: "the value of the policy is neither a boolean nor an object" };
}

function statusOfObject(value: RegoObject): ReviewStatus {
  const of = (...names: readonly string[]): RegoValue | undefined =>
    names.map((name) => entryOf(value, name)).find((each) => each !== undefined);
  const [allow, deny, reason] = [of("allow", "allowed"), of("deny", "denied"), of("reason")];
  const isWrong = [allow, deny].some((each) => each !== undefined && typeof each !== "boolean");
  if (isWrong || (allow === undefined && deny === undefined) || (reason !== undefined && typeof reason !== "string"))
    return { ...failure, evaluationError: "allow and deny must be booleans, and reason a string" };
  const said = typeof reason === "string" && reason !== "" ? { reason: reason.slice(0, longestReason) } : {};
  if (deny === true) return { allowed: false, denied: true, ...said };
  return { allowed: allow === true, ...said };
}

const longestReason = 4096;
