import { type FieldError, invalid, required } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { badRequest, type StatusError } from "../apimachinery/status.ts";
import { builtinKind, reviewKind } from "./builtin-kind.ts";
import { collectErrors, fieldErrors, validateLabelRequirement, validateSelectorOperator } from "./field-rules.ts";
import { arrayAt, fieldListAt, fieldsAt, isFields, stringAt, stringsAt, valueAt } from "./json-fields.ts";
import type { PolicyRule } from "./rbac.ts";
import type { Resource } from "./resource.ts";

/** A verb on a resource; `*` means all, in `group` the empty string means the core group. Source: api/authorization/v1. */
export interface ResourceAttributes {
  readonly namespace?: string;
  readonly verb?: string;
  readonly group?: string;
  readonly version?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly name?: string;
  readonly fieldSelector?: SelectorAttributes;
  readonly labelSelector?: SelectorAttributes;
}

/** The selectors that limit a list. */
export interface SelectorAttributes {
  readonly rawSelector?: string;
  readonly requirements?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** A verb on a path. */
export interface NonResourceAttributes {
  readonly path?: string;
  readonly verb?: string;
}

/** The answer. `denied` is true only for an explicit denial, not for a missing permission. */
export interface SubjectAccessReviewStatus {
  readonly allowed: boolean;
  readonly denied?: boolean;
  readonly reason?: string;
  readonly evaluationError?: string;
}

/** The user, and the resource or path to check. */
export interface SubjectAccessReviewSpec {
  readonly resourceAttributes?: ResourceAttributes;
  readonly nonResourceAttributes?: NonResourceAttributes;
  readonly user?: string;
  readonly groups?: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** A review names either a resource or a path. Source: pkg/apis/authorization/validation. */
function validateReviewedAction(review: ApiObject): readonly FieldError[] {
  const resource = valueAt(review, "spec", "resourceAttributes");
  const path = valueAt(review, "spec", "nonResourceAttributes");
  const both = "cannot be specified in combination with resourceAttributes";
  const neither = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
  return fieldErrors(
    isFields(resource) && isFields(path) && invalid("spec.nonResourceAttributes", path, both),
    !isFields(resource) && !isFields(path) && invalid("spec.resourceAttributes", null, neither),
    validateSelector(resource, "fieldSelector"),
    validateSelector(resource, "labelSelector"),
  );
}

/** A SubjectAccessReview names a user or a group. */
function validateReviewedSubject(review: ApiObject): readonly FieldError[] {
  const user = stringAt(review, "spec", "user");
  return user === "" && stringsAt(review, "spec", "groups").length === 0
    ? [invalid("spec.user", user, "at least one of user or group must be specified")]
    : [];
}

/** A review is never stored, so it has no name, labels or other metadata; `allowed` names the exceptions. */
function hasOtherMetadata(review: ApiObject, allowed: readonly string[]): boolean {
  return Object.entries(fieldsAt(review, "metadata")).some(
    ([field, value]) => !allowed.includes(field) && !isUnset(value),
  );
}

/** Errors of a review about a given user. */
export function validateSubjectAccessReview(review: ApiObject): readonly FieldError[] {
  return [...validateReviewedAction(review), ...validateReviewedSubject(review), ...validateNoMetadata(review)];
}

/** Errors of a review about the caller. */
export function validateSelfAccessReview(review: ApiObject): readonly FieldError[] {
  return [...validateReviewedAction(review), ...validateNoMetadata(review)];
}

/** The error for a review with metadata, in the wording for reviews that may have none at all. */
function validateNoMetadata(review: ApiObject): readonly FieldError[] {
  return hasOtherMetadata(review, ["managedFields"])
    ? [invalid("metadata", fieldsAt(review, "metadata"), "must be empty")]
    : [];
}

function isUnset(value: unknown): boolean {
  if (value === null || value === undefined || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return isFields(value) && Object.keys(value).length === 0;
}

function validateSelector(resource: unknown, field: "fieldSelector" | "labelSelector"): readonly FieldError[] {
  if (!isFields(valueAt(resource, field))) return [];
  const path = `spec.resourceAttributes.${field}`;
  const raw = stringAt(resource, field, "rawSelector");
  const count = arrayAt(resource, field, "requirements").length;
  if (raw === "" && count === 0) {
    return [required(`${path}.requirements`, `when ${path} is specified, requirements or rawSelector is required`)];
  }
  return fieldErrors(
    raw !== "" &&
      count > 0 &&
      invalid(`${path}.rawSelector`, raw, "may not specified at the same time as requirements"),
    // Unknown operators are left to newer authorizers.
    collectErrors(fieldListAt(resource, field, "requirements"), (requirement, index) => {
      const at = `${path}.requirements[${index}]`;
      if (field === "labelSelector") return validateLabelRequirement(requirement, at, "allowed");
      return [
        ...(stringAt(requirement, "key") === "" ? [required(`${at}.key`, "must be specified")] : []),
        ...validateSelectorOperator(requirement, at, "allowed"),
      ];
    }),
  );
}

/** The question whether a user may perform a request, and the answer. Source: api/authorization/v1. */
export interface SubjectAccessReview extends ApiObject {
  readonly spec: SubjectAccessReviewSpec;
  readonly status?: SubjectAccessReviewStatus;
}

export const subjectAccessReviews: Resource = builtinKind({
  ...reviewKind,
  group: "authorization.k8s.io",
  kind: "SubjectAccessReview",
  scope: "Cluster",
  schema: "io.k8s.api.authorization.v1.SubjectAccessReview",
  validate: validateSubjectAccessReview,
});

/** The same in one namespace; the right to create it is granted by namespace too. Source: api/authorization/v1. */
export type LocalSubjectAccessReview = SubjectAccessReview;

export const localSubjectAccessReviews: Resource = builtinKind({
  ...reviewKind,
  group: "authorization.k8s.io",
  kind: "LocalSubjectAccessReview",
  scope: "Namespaced",
  schema: "io.k8s.api.authorization.v1.LocalSubjectAccessReview",
  validate: (object) =>
    fieldErrors(
      validateReviewedAction(object),
      validateReviewedSubject(object),
      hasOtherMetadata(object, ["managedFields", "namespace"]) &&
        invalid("metadata", fieldsAt(object, "metadata"), "must be empty except for namespace"),
      validateLocal(object),
    ),
});

function validateLocal(object: ApiObject): readonly FieldError[] {
  const resource = valueAt(object, "spec", "resourceAttributes");
  const path = valueAt(object, "spec", "nonResourceAttributes");
  const namespace = stringAt(resource, "namespace");
  return fieldErrors(
    isFields(resource) &&
      namespace !== (object.metadata.namespace ?? "") &&
      invalid("spec.resourceAttributes.namespace", namespace, "must match metadata.namespace"),
    isFields(path) && invalid("spec.nonResourceAttributes", path, "disallowed on this kind of request"),
  );
}

/** The question whether the caller may perform a request (`kubectl auth can-i`). Source: api/authorization/v1. */
export interface SelfSubjectAccessReview extends ApiObject {
  readonly spec: Pick<SubjectAccessReviewSpec, "resourceAttributes" | "nonResourceAttributes">;
  readonly status?: SubjectAccessReviewStatus;
}

export const selfSubjectAccessReviews: Resource = builtinKind({
  ...reviewKind,
  group: "authorization.k8s.io",
  kind: "SelfSubjectAccessReview",
  scope: "Cluster",
  schema: "io.k8s.api.authorization.v1.SelfSubjectAccessReview",
  validate: validateSelfAccessReview,
});

/** The question what the caller may do in a namespace (`kubectl auth can-i --list`). Source: api/authorization/v1. */
export interface SelfSubjectRulesReview extends ApiObject {
  readonly spec: { readonly namespace?: string };
  readonly status?: SubjectRulesReviewStatus;
}

/** The answer. Both arrays must be present even when they are empty: clients iterate over them. */
export interface SubjectRulesReviewStatus {
  readonly resourceRules: readonly Omit<PolicyRule, "nonResourceURLs">[];
  readonly nonResourceRules: readonly Pick<PolicyRule, "verbs" | "nonResourceURLs">[];
  /** True when an authorizer took part that cannot list its rules. */
  readonly incomplete: boolean;
  readonly evaluationError?: string;
}

export const selfSubjectRulesReviews: Resource = builtinKind({
  ...reviewKind,
  group: "authorization.k8s.io",
  kind: "SelfSubjectRulesReview",
  scope: "Cluster",
  schema: "io.k8s.api.authorization.v1.SelfSubjectRulesReview",
});

/** The 400 for a review that names no namespace, or undefined: Kubernetes has no field error for this. Source: pkg/registry/authorization/selfsubjectrulesreview. */
export function rulesReviewProblem(review: ApiObject): StatusError | undefined {
  return stringAt(review, "spec", "namespace") === "" ? badRequest("no namespace on request") : undefined;
}
