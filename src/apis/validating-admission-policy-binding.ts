import { type FieldError, duplicate, invalid, notSupported, required } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import {
  defaultedBinding,
  paramRefColumn,
  policyNameColumn,
  validateBindingTerms,
  type BindingTerms,
} from "./admission-policy-binding.ts";
import { ageColumn } from "./age-column.ts";
import { collectErrors } from "./collect-errors.ts";
import { type Fields, fieldsAt, stringsAt } from "./json-fields.ts";
import { type Resource, storedVerbs } from "./resource.ts";
import { published } from "./schemas/published.ts";

/** Puts a policy into force. Source: api/admissionregistration/v1 ValidatingAdmissionPolicyBinding. */
export interface ValidatingAdmissionPolicyBinding extends ApiObject {
  readonly spec?: BindingSpec;
}

/** The spec as it is stored, defaults included. */
export interface BindingSpec extends BindingTerms {
  readonly validationActions?: readonly string[];
}

const actions: readonly string[] = ["Audit", "Deny", "Warn"];

export const validatingAdmissionPolicyBindings: Resource = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "ValidatingAdmissionPolicyBinding",
  plural: "validatingadmissionpolicybindings",
  singular: "validatingadmissionpolicybinding",
  shortNames: [],
  categories: ["api-extensions"],
  scope: "Cluster",
  verbs: storedVerbs,
  get schema() {
    return published("io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBinding");
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

/** Source: kubernetes pkg/apis/admissionregistration/validation validateValidatingAdmissionPolicyBindingSpec. */
function validateBinding(spec: Fields): readonly FieldError[] {
  return [
    ...validateBindingTerms(spec),
    ...validateActions(stringsAt(spec, "validationActions"), "spec.validationActions"),
  ];
}

function validateActions(given: readonly string[], path: string): readonly FieldError[] {
  const errors: FieldError[] = [
    ...collectErrors(given, (action, index) => [
      ...(actions.includes(action) ? [] : [notSupported(`${path}[${index}]`, action, actions)]),
      ...(given.indexOf(action) < index ? [duplicate(`${path}[${index}]`, action)] : []),
    ]),
  ];
  if (given.includes("Deny") && given.includes("Warn")) {
    const why =
      "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
    errors.push(invalid(path, given, why));
  }
  if (given.length === 0) errors.push(required(path, "at least one validation action is required"));
  return errors;
}
