import { type FieldError, duplicate, invalid, notSupported, required, tooMany } from "../apimachinery/field-error.ts";
import type { LabelSelectorObject } from "../apimachinery/label-selector.ts";
import { qualifiedNameProblems } from "../apimachinery/names.ts";
import type { AdmissionRule } from "./admission-rule.ts";
import { defaultedRules, validateRules } from "./admission-rule.ts";
import { collectErrors } from "./collect-errors.ts";
import { fieldListAt, type Fields, isFields, stringAt, valueAt } from "./json-fields.ts";
import { validateLabelSelector } from "./label-selector-validation.ts";

/** Which requests a policy or its binding speaks of. Source: api/admissionregistration/v1 MatchResources. */
export interface MatchResources {
  readonly namespaceSelector?: LabelSelectorObject;
  readonly objectSelector?: LabelSelectorObject;
  readonly resourceRules?: readonly AdmissionRule[];
  readonly excludeResourceRules?: readonly AdmissionRule[];
  readonly matchPolicy?: string;
}

/** A condition in CEL that must hold for a request to be sent or judged. */
export interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

/** What is wrong with an expression in CEL, by field path. */
export type ExpressionCheck = (expression: string, path: string) => readonly FieldError[];

const failurePolicies: readonly string[] = ["Fail", "Ignore"];
const matchPolicies: readonly string[] = ["Equivalent", "Exact"];
const maxConditions = 64;
/** How many expressions one object may hold: compiling them holds up everybody else. Kubernetes sets no bound. */
export const maximumExpressions = 1000;

/** The defaults of a webhook or of MatchResources: every namespace, every object, equivalent versions as well. */
export const matchDefaults: Fields = { matchPolicy: "Equivalent", namespaceSelector: {}, objectSelector: {} };

/** MatchResources under `field` with their defaults; nothing where there are none. */
export function defaultedMatch(parent: Fields, field: string): Fields {
  const match = valueAt(parent, field);
  if (!isFields(match)) return {};
  const rules = { ...defaultedRules(match, "resourceRules"), ...defaultedRules(match, "excludeResourceRules") };
  return { [field]: { ...matchDefaults, ...match, ...rules } };
}

/** What is wrong with `failurePolicy`; absent is not. */
export function validateFailurePolicy(parent: Fields, path: string): readonly FieldError[] {
  return oneOf(parent, "failurePolicy", path, failurePolicies);
}

/** What is wrong with the selectors and matchPolicy of a webhook or of MatchResources. */
export function validateSelectors(parent: Fields, path: string): readonly FieldError[] {
  return [
    ...oneOf(parent, "matchPolicy", path, matchPolicies),
    ...["namespaceSelector", "objectSelector"].flatMap((field) =>
      validateLabelSelector(valueAt(parent, field), `${path}.${field}`),
    ),
  ];
}

/** What is wrong with MatchResources. Source: kubernetes pkg/apis/admissionregistration/validation validateMatchResources. */
export function validateMatchResources(match: Fields, path: string): readonly FieldError[] {
  return [
    ...validateSelectors(match, path),
    ...validateRules(match, "resourceRules", path),
    ...validateRules(match, "excludeResourceRules", path),
  ];
}

/** What is wrong with `matchConditions`; `check` compiles each expression. Source: validateMatchConditions there. */
export function validateMatchConditions(parent: Fields, path: string, check: ExpressionCheck): readonly FieldError[] {
  const conditions = fieldListAt(parent, "matchConditions");
  const at = `${path}.matchConditions`;
  const names = conditions.map((condition) => stringAt(condition, "name"));
  return [
    ...(conditions.length > maxConditions ? [tooMany(at, conditions.length, maxConditions)] : []),
    ...collectErrors(conditions.slice(0, maxConditions), (condition, index) => {
      const [name, expression] = [names[index] ?? "", stringAt(condition, "expression").trim()];
      const [namePath, expressionPath] = [`${at}[${index}].name`, `${at}[${index}].expression`];
      return [
        ...(expression === "" ? [required(expressionPath)] : check(expression, expressionPath)),
        ...(name === ""
          ? [required(namePath)]
          : qualifiedNameProblems(name).map((why) => invalid(namePath, name, why))),
        ...(name !== "" && names.indexOf(name) < index ? [duplicate(namePath, name)] : []),
      ];
    }),
  ];
}

/** What is wrong with a field that may only hold one of a few values. */
export function oneOf(parent: Fields, field: string, path: string, allowed: readonly string[]): readonly FieldError[] {
  const value = valueAt(parent, field);
  if (typeof value !== "string" || allowed.includes(value)) return [];
  return [notSupported(`${path}.${field}`, value, allowed)];
}
