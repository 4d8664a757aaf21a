import type { ApiObject } from "../apimachinery/object.ts";
import {
  type SubjectAccessReviewSpec,
  type SubjectAccessReviewStatus,
  validateNoMetadata,
  validateReviewedAction,
} from "./access-review.ts";
import type { Resource } from "./resource.ts";
import { reviewKind } from "./review-kind.ts";
import { published } from "./schemas/published.ts";

/** The question whether the caller may do something (`kubectl auth can-i`). Source: api/authorization/v1. */
export interface SelfSubjectAccessReview extends ApiObject {
  readonly spec: Pick<SubjectAccessReviewSpec, "resourceAttributes" | "nonResourceAttributes">;
  readonly status?: SubjectAccessReviewStatus;
}

export const selfSubjectAccessReviews: Resource = {
  ...reviewKind,
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  singular: "selfsubjectaccessreview",
  scope: "Cluster",
  get schema() {
    return published("io.k8s.api.authorization.v1.SelfSubjectAccessReview");
  },
  validate: (object) => [...validateReviewedAction(object), ...validateNoMetadata(object)],
};
