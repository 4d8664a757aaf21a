import type { ApiObject } from "../apimachinery/object.ts";
import {
  type SubjectAccessReviewSpec,
  type SubjectAccessReviewStatus,
  validateNoMetadata,
  validateReviewedAction,
  validateReviewedSubject,
} from "./access-review.ts";
import type { Resource } from "./resource.ts";
import { reviewKind } from "./review-kind.ts";
import { published } from "./schemas/published.ts";

/** The question whether somebody may do something, and the answer. Source: api/authorization/v1. */
export interface SubjectAccessReview extends ApiObject {
  readonly spec: SubjectAccessReviewSpec;
  readonly status?: SubjectAccessReviewStatus;
}

export const subjectAccessReviews: Resource = {
  ...reviewKind,
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SubjectAccessReview",
  plural: "subjectaccessreviews",
  singular: "subjectaccessreview",
  scope: "Cluster",
  get schema() {
    return published("io.k8s.api.authorization.v1.SubjectAccessReview");
  },
  validate: (object) => [
    ...validateReviewedAction(object),
    ...validateReviewedSubject(object),
    ...validateNoMetadata(object),
  ],
};
