import { type FieldError, invalid } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import {
  hasOtherMetadata,
  type SubjectAccessReviewSpec,
  type SubjectAccessReviewStatus,
  validateReviewedAction,
  validateReviewedSubject,
} from "./access-review.ts";
import { fieldsAt, isFields, stringAt, valueAt } from "./json-fields.ts";
import type { Resource } from "./resource.ts";
import { reviewKind } from "./review-kind.ts";
import { published } from "./schemas/published.ts";

/** The question whether somebody may do something in one namespace; who may ask it is granted by namespace too. Source: api/authorization/v1. */
export interface LocalSubjectAccessReview extends ApiObject {
  readonly spec: SubjectAccessReviewSpec;
  readonly status?: SubjectAccessReviewStatus;
}

export const localSubjectAccessReviews: Resource = {
  ...reviewKind,
  group: "authorization.k8s.io",
  version: "v1",
  kind: "LocalSubjectAccessReview",
  plural: "localsubjectaccessreviews",
  singular: "localsubjectaccessreview",
  scope: "Namespaced",
  get schema() {
    return published("io.k8s.api.authorization.v1.LocalSubjectAccessReview");
  },
  validate: (object) => [
    ...validateReviewedAction(object),
    ...validateReviewedSubject(object),
    ...(hasOtherMetadata(object, ["managedFields", "namespace"])
      ? [invalid("metadata", fieldsAt(object, "metadata"), "must be empty except for namespace")]
      : []),
    ...validateLocal(object),
  ],
};

function validateLocal(object: ApiObject): readonly FieldError[] {
  const resource = valueAt(object, "spec", "resourceAttributes");
  const path = valueAt(object, "spec", "nonResourceAttributes");
  const namespace = stringAt(resource, "namespace");
  const errors: FieldError[] = [];
  if (isFields(resource) && namespace !== (object.metadata.namespace ?? "")) {
    errors.push(invalid("spec.resourceAttributes.namespace", namespace, "must match metadata.namespace"));
  }
  if (isFields(path)) {
    errors.push(invalid("spec.nonResourceAttributes", path, "disallowed on this kind of request"));
  }
  return errors;
}
