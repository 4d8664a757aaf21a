import type { ApiObject } from "../apimachinery/object.ts";
import { badRequest, type StatusError } from "../apimachinery/status.ts";
import { stringAt } from "./json-fields.ts";
import type { PolicyRule } from "./policy-rule.ts";
import type { Resource } from "./resource.ts";
import { reviewKind } from "./review-kind.ts";
import { published } from "./schemas/published.ts";

/** The question what the caller may do in a namespace (`kubectl auth can-i --list`). Source: api/authorization/v1. */
export interface SelfSubjectRulesReview extends ApiObject {
  readonly spec: { readonly namespace?: string };
  readonly status?: SubjectRulesReviewStatus;
}

/** The answer. Both arrays must be there even when they are empty: clients walk over them. */
export interface SubjectRulesReviewStatus {
  readonly resourceRules: readonly Omit<PolicyRule, "nonResourceURLs">[];
  readonly nonResourceRules: readonly Pick<PolicyRule, "verbs" | "nonResourceURLs">[];
  /** True when an authorizer took part that cannot list its rules. */
  readonly incomplete: boolean;
  readonly evaluationError?: string;
}

export const selfSubjectRulesReviews: Resource = {
  ...reviewKind,
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectRulesReview",
  plural: "selfsubjectrulesreviews",
  singular: "selfsubjectrulesreview",
  scope: "Cluster",
  get schema() {
    return published("io.k8s.api.authorization.v1.SelfSubjectRulesReview");
  },
};

/** The 400 for a review that names no namespace, or undefined: Kubernetes has no field error for this. Source: pkg/registry/authorization/selfsubjectrulesreview. */
export function rulesReviewProblem(review: ApiObject): StatusError | undefined {
  return stringAt(review, "spec", "namespace") === "" ? badRequest("no namespace on request") : undefined;
}
