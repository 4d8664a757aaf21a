import { type FieldError, forbiddenField, invalid, notSupported, required } from "../apimachinery/field-error.ts";
import type { LabelSelectorObject } from "../apimachinery/label-selector.ts";
import { dnsSubdomainProblems, pathSegmentProblems } from "../apimachinery/names.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { defaultedMatch, validateMatchResources, type MatchResources } from "./admission-match.ts";
import { type Fields, fieldsAt, isFields, stringAt, valueAt, withField } from "./json-fields.ts";
import { validateLabelSelector } from "./label-selector-validation.ts";
import type { Column } from "./resource.ts";

/** What bindings of policies that validate and of policies that mutate have in common. */
export interface BindingTerms {
  readonly policyName?: string;
  readonly paramRef?: ParamRef;
  readonly matchResources?: MatchResources;
}

/** Which objects are the parameters. */
export interface ParamRef {
  readonly name?: string;
  readonly namespace?: string;
  readonly selector?: LabelSelectorObject;
  readonly parameterNotFoundAction?: string;
}

/** The column of `spec.policyName`. */
export const policyNameColumn: Column = {
  name: "PolicyName",
  type: "string",
  description: "The policy that is put into force.",
  cell: (object) => stringAt(object, "spec", "policyName"),
};

/** The column of `spec.paramRef`. */
export const paramRefColumn: Column = {
  name: "ParamRef",
  type: "string",
  description: "The parameters of the policy.",
  cell: (object) => paramText(fieldsAt(object, "spec", "paramRef")),
};

function paramText(reference: Fields): string {
  const [name, namespace] = [stringAt(reference, "name"), stringAt(reference, "namespace")];
  if (name !== "") return namespace === "" ? `*/${name}` : `${namespace}/${name}`;
  return isFields(reference["selector"]) ? JSON.stringify(reference["selector"]) : "<unset>";
}

/** The binding with the defaults of Kubernetes. */
export function defaultedBinding(object: ApiObject): ApiObject {
  const spec = fieldsAt(object, "spec");
  return withField(object, "spec", { ...spec, ...defaultedMatch(spec, "matchResources") });
}

/** What is wrong with the terms of a binding. Source: kubernetes pkg/apis/admissionregistration/validation. */
export function validateBindingTerms(spec: Fields): readonly FieldError[] {
  const policy = stringAt(spec, "policyName");
  return [
    ...(policy === ""
      ? [required("spec.policyName")]
      : dnsSubdomainProblems(policy).map((why) => invalid("spec.policyName", policy, why))),
    ...(isFields(spec["paramRef"]) ? validateParamRef(fieldsAt(spec, "paramRef"), "spec.paramRef") : []),
    ...(isFields(spec["matchResources"])
      ? validateMatchResources(fieldsAt(spec, "matchResources"), "spec.matchResources")
      : []),
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
