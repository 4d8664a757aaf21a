import { type FieldError, invalid, required } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { collectErrors } from "./collect-errors.ts";
import { arrayAt, fieldListAt, fieldsAt, isFields, stringAt, stringsAt, valueAt } from "./json-fields.ts";
import { validateLabelRequirement, validateSelectorOperator } from "./label-selector-validation.ts";

/** Something that may be done to a resource; `*` means all, in `group` the empty string means the core group. Source: api/authorization/v1. */
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

/** Which objects a list is limited to. */
export interface SelectorAttributes {
  readonly rawSelector?: string;
  readonly requirements?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** Something that may be done to a path. */
export interface NonResourceAttributes {
  readonly path?: string;
  readonly verb?: string;
}

/** The answer. `denied` is true only for an explicit denial, not for the absence of a permission. */
export interface SubjectAccessReviewStatus {
  readonly allowed: boolean;
  readonly denied?: boolean;
  readonly reason?: string;
  readonly evaluationError?: string;
}

/** Who is asked about, and what for. */
export interface SubjectAccessReviewSpec {
  readonly resourceAttributes?: ResourceAttributes;
  readonly nonResourceAttributes?: NonResourceAttributes;
  readonly user?: string;
  readonly groups?: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** A review asks either about a resource or about a path. Source: pkg/apis/authorization/validation. */
export function validateReviewedAction(review: ApiObject): readonly FieldError[] {
  const resource = valueAt(review, "spec", "resourceAttributes");
  const path = valueAt(review, "spec", "nonResourceAttributes");
  const errors: FieldError[] = [];
  if (isFields(resource) && isFields(path)) {
    errors.push(
      invalid("spec.nonResourceAttributes", path, "cannot be specified in combination with resourceAttributes"),
    );
  }
  if (!isFields(resource) && !isFields(path)) {
    const why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    errors.push(invalid("spec.resourceAttributes", null, why));
  }
  return [...errors, ...validateSelector(resource, "fieldSelector"), ...validateSelector(resource, "labelSelector")];
}

/** A review about somebody names a user or a group. */
export function validateReviewedSubject(review: ApiObject): readonly FieldError[] {
  const user = stringAt(review, "spec", "user");
  return user === "" && stringsAt(review, "spec", "groups").length === 0
    ? [invalid("spec.user", user, "at least one of user or group must be specified")]
    : [];
}

/** A review is never stored, so it has no name, labels or anything else; `allowed` names the exceptions. */
export function hasOtherMetadata(review: ApiObject, allowed: readonly string[]): boolean {
  return Object.entries(fieldsAt(review, "metadata")).some(
    ([field, value]) => !allowed.includes(field) && !isUnset(value),
  );
}

/** The error for a review with metadata, worded for reviews that may have none at all. */
export function validateNoMetadata(review: ApiObject): readonly FieldError[] {
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
  return [
    ...(raw !== "" && count > 0
      ? [invalid(`${path}.rawSelector`, raw, "may not specified at the same time as requirements")]
      : []),
    // Operators that are not known here are left to newer authorizers.
    ...collectErrors(fieldListAt(resource, field, "requirements"), (requirement, index) => {
      const at = `${path}.requirements[${index}]`;
      if (field === "labelSelector") return validateLabelRequirement(requirement, at, "allowed");
      return [
        ...(stringAt(requirement, "key") === "" ? [required(`${at}.key`, "must be specified")] : []),
        ...validateSelectorOperator(requirement, at, "allowed"),
      ];
    }),
  ];
}
