import {
  type FieldError,
  forbiddenField,
  invalid,
  notSupported,
  required,
  duplicate,
} from "../apimachinery/field-error.ts";
import type { LabelSelectorObject } from "../apimachinery/label-selector.ts";
import { dnsSubdomainProblems, pathSegmentProblems } from "../apimachinery/names.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { defaultedMatch, validateMatchResources, type MatchResources, admissionKind } from "./admission-match.ts";
import { ageColumn, column, textColumn, builtinKind } from "./builtin-kind.ts";
import {
  collectErrors,
  requiredName,
  fieldErrors,
  nameErrors,
  repetitions,
  validateLabelSelector,
} from "./field-rules.ts";
import { type Fields, fieldsAt, isFields, stringAt, valueAt, withField, stringsAt } from "./json-fields.ts";
import { validateOperations } from "./mutating-admission-policy.ts";
import type { Column, Resource } from "./resource.ts";

/** Fields that bindings of validating and of mutating policies share. */
export interface BindingTerms {
  readonly policyName?: string;
  readonly paramRef?: ParamRef;
  readonly matchResources?: MatchResources;
}

/** The objects that are the parameters. */
export interface ParamRef {
  readonly name?: string;
  readonly namespace?: string;
  readonly selector?: LabelSelectorObject;
  readonly parameterNotFoundAction?: string;
}

/** The column of `spec.policyName`. */
const policyNameColumn: Column = textColumn("PolicyName", "The policy that is put into force.", "spec", "policyName");

/** The column of `spec.paramRef`. */
const paramRefColumn: Column = column("ParamRef", "The parameters of the policy.", (object) =>
  paramText(fieldsAt(object, "spec", "paramRef")),
);

function paramText(reference: Fields): string {
  const [name, namespace] = [stringAt(reference, "name"), stringAt(reference, "namespace")];
  if (name !== "") return namespace === "" ? `*/${name}` : `${namespace}/${name}`;
  return isFields(reference["selector"]) ? JSON.stringify(reference["selector"]) : "<unset>";
}

/** Both kinds are alike except for further checks of the spec. */
function bindingKind(kind: string, ownErrors: (spec: Fields) => readonly FieldError[]): Resource {
  return builtinKind({
    ...admissionKind,
    kind,
    schema: `io.k8s.api.admissionregistration.v1.${kind}`,
    columns: [policyNameColumn, paramRefColumn, ageColumn],
    prepareForCreate: defaultedBinding,
    prepareForUpdate: defaultedBinding,
    validate: (object) => {
      const spec = fieldsAt(object, "spec");
      return [...validateBindingTerms(spec), ...ownErrors(spec)];
    },
  });
}

/** The binding with the defaults of Kubernetes. */
function defaultedBinding(object: ApiObject): ApiObject {
  const spec = fieldsAt(object, "spec");
  return withField(object, "spec", { ...spec, ...defaultedMatch(spec, "matchResources") });
}

/** Errors of the fields of a binding. Source: kubernetes pkg/apis/admissionregistration/validation. */
function validateBindingTerms(spec: Fields): readonly FieldError[] {
  const policy = stringAt(spec, "policyName");
  return fieldErrors(
    requiredName("spec.policyName", policy, dnsSubdomainProblems),
    isFields(spec["paramRef"]) && validateParamRef(fieldsAt(spec, "paramRef"), "spec.paramRef"),
    isFields(spec["matchResources"]) && validateMatchResources(fieldsAt(spec, "matchResources"), "spec.matchResources"),
  );
}

function validateParamRef(reference: Fields, path: string): readonly FieldError[] {
  const name = stringAt(reference, "name");
  const hasSelector = isFields(reference["selector"]);
  const action = valueAt(reference, "parameterNotFoundAction");
  const exclusive = "name and selector are mutually exclusive";
  const both = name !== "" && hasSelector;
  return fieldErrors(
    nameErrors(`${path}.name`, name, pathSegmentProblems),
    both && forbiddenField(`${path}.name`, exclusive),
    validateLabelSelector(reference["selector"], `${path}.selector`),
    both && forbiddenField(`${path}.selector`, exclusive),
    name === "" && !hasSelector && required(path, "one of name or selector must be specified"),
    typeof action !== "string" || action === ""
      ? required(`${path}.parameterNotFoundAction`)
      : action !== "Deny" &&
          action !== "Allow" &&
          notSupported(`${path}.parameterNotFoundAction`, action, ["Deny", "Allow"]),
  );
}

/** Activates a policy. Source: api/admissionregistration/v1 ValidatingAdmissionPolicyBinding. */
export interface ValidatingAdmissionPolicyBinding extends ApiObject {
  readonly spec?: BindingSpec;
}

/** The spec as it is stored, defaults included. */
export interface BindingSpec extends BindingTerms {
  readonly validationActions?: readonly string[];
}

const actions: readonly string[] = ["Audit", "Deny", "Warn"];

export const validatingAdmissionPolicyBindings: Resource = bindingKind("ValidatingAdmissionPolicyBinding", (spec) =>
  validateActions(stringsAt(spec, "validationActions"), "spec.validationActions"),
);

function validateActions(given: readonly string[], path: string): readonly FieldError[] {
  const isRepeated = repetitions();
  const errors: FieldError[] = [
    ...collectErrors(given, (action, index) => [
      !actions.includes(action) && notSupported(`${path}[${index}]`, action, actions),
      isRepeated(action) && duplicate(`${path}[${index}]`, action),
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

/** Activates a mutating policy. Source: api/admissionregistration/v1 MutatingAdmissionPolicyBinding. */
export interface MutatingAdmissionPolicyBinding extends ApiObject {
  readonly spec?: BindingTerms;
}

export const mutatingAdmissionPolicyBindings: Resource = bindingKind("MutatingAdmissionPolicyBinding", (spec) =>
  validateOperations(fieldsAt(spec, "matchResources"), "spec.matchResources"),
);
