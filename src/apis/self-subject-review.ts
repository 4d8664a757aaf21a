import type { ApiObject } from "../apimachinery/object.ts";
import type { Resource } from "./resource.ts";
import { reviewKind } from "./review-kind.ts";
import { published } from "./schemas/published.ts";
import type { ReviewedUser } from "./token-review.ts";

/** The question who the caller is (`kubectl auth whoami`). Source: api/authentication/v1. */
export interface SelfSubjectReview extends ApiObject {
  readonly status?: { readonly userInfo?: ReviewedUser };
}

export const selfSubjectReviews: Resource = {
  ...reviewKind,
  group: "authentication.k8s.io",
  version: "v1",
  kind: "SelfSubjectReview",
  plural: "selfsubjectreviews",
  singular: "selfsubjectreview",
  scope: "Cluster",
  get schema() {
    return published("io.k8s.api.authentication.v1.SelfSubjectReview");
  },
};
