import type { Resource } from "./resource.ts";
import { type FieldError, duplicate, invalid, required, tooMany } from "../apimachinery/field-error.ts";
import type { LabelSelectorObject } from "../apimachinery/label-selector.ts";
import { qualifiedNameProblems, pathSegmentProblems } from "../apimachinery/names.ts";
import {
  collectErrors,
  fieldErrors,
  nameErrors,
  repetitions,
  optionalOneOf,
  unsupported,
  type FieldResult,
  validateLabelSelector,
} from "./field-rules.ts";
import { fieldListAt, type Fields, isFields, stringAt, valueAt, arrayAt } from "./json-fields.ts";

/** The requests that a policy or its binding applies to. Source: api/admissionregistration/v1 MatchResources. */
export interface MatchResources {
  readonly namespaceSelector?: LabelSelectorObject;
  readonly objectSelector?: LabelSelectorObject;
  readonly resourceRules?: readonly AdmissionRule[];
  readonly excludeResourceRules?: readonly AdmissionRule[];
  readonly matchPolicy?: string;
}

/** A condition in CEL that must be true for a webhook call or a policy evaluation. */
export interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

/** Reports the errors of an expression in CEL, by field path. */
export type ExpressionCheck = (expression: string, path: string) => readonly FieldError[];

const maxConditions = 64;
/** Fields that all kinds of admission configuration share. */
export const admissionKind: Pick<Resource, "group" | "categories" | "scope" | "generation"> = {
  group: "admissionregistration.k8s.io",
  categories: ["api-extensions"],
  scope: "Cluster",
  generation: true,
};
/** Maximum number of expressions of one object: compiling them delays all other requests. Kubernetes has no limit. */
export const maxExpressions = 1000;

/** The defaults of a webhook or of MatchResources: every namespace, every object, equivalent versions as well. */
export const matchDefaults: Fields = { matchPolicy: "Equivalent", namespaceSelector: {}, objectSelector: {} };

/** MatchResources under `field` with their defaults; nothing where there are none. */
export function defaultedMatch(parent: Fields, field: string): Fields {
  const match = valueAt(parent, field);
  if (!isFields(match)) return {};
  const rules = { ...defaultedRules(match, "resourceRules"), ...defaultedRules(match, "excludeResourceRules") };
  return { [field]: { ...matchDefaults, ...match, ...rules } };
}

/** Errors of `failurePolicy`; it may be absent. */
export function failurePolicyError(parent: Fields, path: string): FieldError | undefined {
  return optionalOneOf(`${path}.failurePolicy`, parent["failurePolicy"], ["Fail", "Ignore"]);
}

/** Errors of the selectors and matchPolicy of a webhook or of MatchResources. */
export function validateSelectors(parent: Fields, path: string): readonly FieldError[] {
  return fieldErrors(
    optionalOneOf(`${path}.matchPolicy`, parent["matchPolicy"], ["Equivalent", "Exact"]),
    validateLabelSelector(parent["namespaceSelector"], `${path}.namespaceSelector`),
    validateLabelSelector(parent["objectSelector"], `${path}.objectSelector`),
  );
}

/** Errors of MatchResources. Source: kubernetes pkg/apis/admissionregistration/validation validateMatchResources. */
export function validateMatchResources(match: Fields, path: string): readonly FieldError[] {
  return [
    ...validateSelectors(match, path),
    ...validateRules(match, "resourceRules", path),
    ...validateRules(match, "excludeResourceRules", path),
  ];
}

/** Errors of `matchConditions`; `check` compiles each expression. Source: validateMatchConditions there. */
export function validateMatchConditions(parent: Fields, path: string, check: ExpressionCheck): readonly FieldError[] {
  const conditions = fieldListAt(parent, "matchConditions");
  const at = `${path}.matchConditions`;
  const isRepeated = repetitions();
  return fieldErrors(
    conditions.length > maxConditions && tooMany(at, conditions.length, maxConditions),
    collectErrors(conditions.slice(0, maxConditions), (condition, index) => {
      const [name, expression] = [stringAt(condition, "name"), stringAt(condition, "expression").trim()];
      const [namePath, expressionPath] = [`${at}[${index}].name`, `${at}[${index}].expression`];
      return [
        ...(expression === "" ? [required(expressionPath)] : check(expression, expressionPath)),
        ...(name === ""
          ? [required(namePath)]
          : qualifiedNameProblems(name).map((why) => invalid(namePath, name, why))),
        ...(name !== "" && isRepeated(name) ? [duplicate(namePath, name)] : []),
      ];
    }),
  );
}

/** The operations and resources that match. Source: api/admissionregistration/v1 RuleWithOperations. */
export interface AdmissionRule {
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  readonly resources?: readonly string[];
  readonly scope?: string;
  /** Policies only; empty means every name. */
  readonly resourceNames?: readonly string[];
}

const allOperations: readonly string[] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const scopes: readonly string[] = ["*", "Cluster", "Namespaced"];

/** The rules under `field`, each with its default scope. */
export function defaultedRules(parent: Fields, field: string): Fields {
  if (!Array.isArray(valueAt(parent, field))) return {};
  return { [field]: fieldListAt(parent, field).map((rule) => ({ scope: "*", ...rule })) };
}

/** Errors of the rules under `path`. Source: kubernetes pkg/apis/admissionregistration/validation. */
export function validateRules(parent: Fields, field: string, path: string): readonly FieldError[] {
  const rules = arrayAt(parent, field) as readonly AdmissionRule[];
  return collectErrors(rules, (rule, index) => validateRule(rule, `${path}.${field}[${index}]`));
}

function validateRule(rule: AdmissionRule, path: string): FieldResult {
  const { resourceNames = [], operations = [], apiGroups = [], apiVersions = [], resources = [], scope } = rule;
  return [
    validateNames(resourceNames, `${path}.resourceNames`),
    validateWildcard(operations, `${path}.operations`, "operations"),
    operations.map((operation, index) => unsupported(`${path}.operations[${index}]`, operation, allOperations)),
    validateWildcard(apiGroups, `${path}.apiGroups`, "API groups"),
    validateWildcard(apiVersions, `${path}.apiVersions`, "API versions"),
    apiVersions.map((version, index) => version === "" && required(`${path}.apiVersions[${index}]`)),
    validateResources(resources, `${path}.resources`),
    optionalOneOf(`${path}.scope`, scope, scopes),
  ];
}

function validateWildcard(list: readonly string[], path: string, what: string): FieldResult {
  if (list.length === 0) return required(path);
  const isMixed = list.length > 1 && list.includes("*");
  return isMixed && invalid(path, list, `if '*' is present, must not specify other ${what}`);
}

function validateNames(names: readonly string[], path: string): readonly FieldError[] {
  const isRepeated = repetitions();
  return collectErrors(names, (name, index) => [
    nameErrors(`${path}[${index}]`, name, pathSegmentProblems),
    isRepeated(name) && duplicate(`${path}[${index}]`, name),
  ]);
}

/** A resource that another entry covers already is rejected, as it looks like a restriction and has no effect. */
function validateResources(resources: readonly string[], path: string): FieldResult {
  if (resources.length === 0) return required(path);
  const allParts = new Set<string>();
  const partOfAll = new Set<string>();
  const hasPlain = resources.some((resource) => resource !== "*" && !resource.includes("/"));
  return [
    collectErrors(resources, (resource, index) => {
      if (resource === "") return required(`${path}[${index}]`);
      const slash = resource.indexOf("/");
      if (slash < 0) return false;
      const [name, part] = [resource.slice(0, slash), resource.slice(slash + 1)];
      const covering = [...(allParts.has(name) ? [`${name}/*`] : []), ...(partOfAll.has(part) ? [`*/${part}`] : [])];
      if (part === "*") allParts.add(name);
      if (name === "*") partOfAll.add(part);
      return covering.map((other) =>
        invalid(`${path}[${index}]`, resource, `if '${other}' is present, must not specify ${resource}`),
      );
    }),
    resources.length > 1 &&
      resources.includes("*/*") &&
      invalid(path, resources, "if '*/*' is present, must not specify other resources"),
    resources.includes("*") &&
      hasPlain &&
      invalid(path, resources, "if '*' is present, must not specify other resources without subresources"),
  ];
}
