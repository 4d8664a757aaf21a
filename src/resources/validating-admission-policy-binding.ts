import { type FieldError, duplicate, forbiddenField, invalid, notSupported, required } from "../core/field-error.ts";
import type { LabelSelectorObject } from "../core/label-selector.ts";
import { dnsSubdomainProblems, pathSegmentProblems } from "../core/names.ts";
import type { ApiObject } from "../core/object.ts";
import { defaultedMatch, validateMatchResources, type MatchResources } from "./admission-match.ts";
import { ageColumn } from "./age-column.ts";
import { collectErrors } from "./collect-errors.ts";
import { type Fields, fieldsAt, isFields, stringAt, stringsAt, valueAt, withField } from "./json-fields.ts";
import { validateLabelSelector } from "./label-selector-validation.ts";
import { type Resource, storedVerbs } from "./resource.ts";
import { published } from "./schemas/published.ts";

/** Puts a policy into force. Source: api/admissionregistration/v1 ValidatingAdmissionPolicyBinding. */
export interface ValidatingAdmissionPolicyBinding extends ApiObject {
  readonly spec?: BindingSpec;
}

/** The spec as it is stored, defaults included. */
export interface BindingSpec {
  readonly policyName?: string;
  readonly paramRef?: ParamRef;
  readonly matchResources?: MatchResources;
  readonly validationActions?: readonly string[];
}

/** Which objects are the parameters. */
export interface ParamRef {
  readonly name?: string;
  readonly namespace?: string;
  readonly selector?: LabelSelectorObject;
  readonly parameterNotFoundAction?: string;
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
  columns: [
    {
      name: "PolicyName",
      type: "string",
      description: "The policy that is put into force.",
      cell: (object) => stringAt(object, "spec", "policyName"),
    },
    {
      name: "ParamRef",
      type: "string",
      description: "The parameters of the policy.",
      cell: (object) => paramText(fieldsAt(object, "spec", "paramRef")),
    },
    ageColumn,
  ],
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

function paramText(reference: Fields): string {
  const [name, namespace] = [stringAt(reference, "name"), stringAt(reference, "namespace")];
  if (name !== "") return namespace === "" ? `*/${name}` : `${namespace}/${name}`;
  return isFields(reference["selector"]) ? JSON.stringify(reference["selector"]) : "<unset>";
}

function defaultedBinding(object: ApiObject): ApiObject {
  const spec = fieldsAt(object, "spec");
  return withField(object, "spec", { ...spec, ...defaultedMatch(spec, "matchResources") });
}

/** Source: kubernetes pkg/apis/admissionregistration/validation validateValidatingAdmissionPolicyBindingSpec. */
function validateBinding(spec: Fields): readonly FieldError[] {
  const policy = stringAt(spec, "policyName");
  return [
    ...(policy === ""
      ? [required("spec.policyName")]
      : dnsSubdomainProblems(policy).map((why) => invalid("spec.policyName", policy, why))),
    ...(isFields(spec["paramRef"]) ? validateParamRef(fieldsAt(spec, "paramRef"), "spec.paramRef") : []),
    ...(isFields(spec["matchResources"])
      ? validateMatchResources(fieldsAt(spec, "matchResources"), "spec.matchResources")
      : []),
    ...validateActions(stringsAt(spec, "validationActions"), "spec.validationActions"),
  ];
}

function validateParamRef(reference: Fields, path: string): readonly FieldError[] {
  const name = stringAt(reference, "name");
  const hasSelector = isFields(reference["selector"]);
  const action = valueAt(reference, "parameterNotFoundAction");
  const exclusive = "name and selector are mutually exclusive";
  const both = name !== "" && hasSelector;
  return [
    ...pathSegmentProblems(name).map((why) => invalid(`${path}.name`, name, why)),
    ...(both ? [forbiddenField(`${path}.name`, exclusive)] : []),
    ...validateLabelSelector(reference["selector"], `${path}.selector`),
    ...(both ? [forbiddenField(`${path}.selector`, exclusive)] : []),
    ...(name === "" && !hasSelector ? [required(path, "one of name or selector must be specified")] : []),
    ...(typeof action !== "string" || action === ""
      ? [required(`${path}.parameterNotFoundAction`)]
      : action === "Deny" || action === "Allow"
        ? []
        : [notSupported(`${path}.parameterNotFoundAction`, action, ["Deny", "Allow"])]),
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
