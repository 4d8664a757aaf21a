import type { FieldError } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import {
  defaultedBinding,
  paramRefColumn,
  policyNameColumn,
  validateBindingTerms,
  type BindingTerms,
} from "./admission-policy-binding.ts";
import { ageColumn } from "./age-column.ts";
import { type Fields, fieldsAt } from "./json-fields.ts";
import { validateOperations } from "./mutating-admission-policy.ts";
import { type Resource, storedVerbs } from "./resource.ts";
import { published } from "./schemas/published.ts";

/** Puts a policy that mutates into force. Source: api/admissionregistration/v1 MutatingAdmissionPolicyBinding. */
export interface MutatingAdmissionPolicyBinding extends ApiObject {
  readonly spec?: BindingTerms;
}

export const mutatingAdmissionPolicyBindings: Resource = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "MutatingAdmissionPolicyBinding",
  plural: "mutatingadmissionpolicybindings",
  singular: "mutatingadmissionpolicybinding",
  shortNames: [],
  categories: ["api-extensions"],
  scope: "Cluster",
  verbs: storedVerbs,
  get schema() {
    return published("io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicyBinding");
  },
  columns: [policyNameColumn, paramRefColumn, ageColumn],
  subresources: {},
  names: "dns-subdomain",
  createOnUpdate: false,
  unconditionalUpdate: false,
  deleteReturnsObject: false,
  generation: true,
  prepareForCreate: (object) => defaultedBinding(object),
  prepareForUpdate: (incoming) => defaultedBinding(incoming),
  validate: (object) => validateBinding(fieldsAt(object, "spec")),
};

/** Source: kubernetes pkg/apis/admissionregistration/validation validateMutatingAdmissionPolicyBindingSpec. */
function validateBinding(spec: Fields): readonly FieldError[] {
  return [
    ...validateBindingTerms(spec),
    ...validateOperations(fieldsAt(spec, "matchResources"), "spec.matchResources"),
  ];
}
