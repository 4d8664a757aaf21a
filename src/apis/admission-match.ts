import type { Resource } from "./resource.ts";
import { type FieldError, duplicate, invalid, notSupported, required, tooMany } from "../apimachinery/field-error.ts";
import type { LabelSelectorObject } from "../apimachinery/label-selector.ts";
import { qualifiedNameProblems, pathSegmentProblems } from "../apimachinery/names.ts";
import { collectErrors } from "./collect-errors.ts";
import { fieldListAt, type Fields, isFields, stringAt, valueAt, stringsAt } from "./json-fields.ts";
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
/** What is the same of all kinds that steer admission. */
export const admissionKind: Pick<Resource, "group" | "categories" | "scope" | "generation"> = {
  group: "admissionregistration.k8s.io",
  categories: ["api-extensions"],
  scope: "Cluster",
  generation: true,
};
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

/** Which writes of which resources are meant. Source: api/admissionregistration/v1 RuleWithOperations. */
export interface AdmissionRule {
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  readonly resources?: readonly string[];
  readonly scope?: string;
  /** Policies only; empty means every name. */
  readonly resourceNames?: readonly string[];
}

const operations: readonly string[] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const scopes: readonly string[] = ["*", "Cluster", "Namespaced"];

/** The rules under `field`, each with its default scope. */
export function defaultedRules(parent: Fields, field: string): Fields {
  if (!Array.isArray(valueAt(parent, field))) return {};
  return { [field]: fieldListAt(parent, field).map((rule) => ({ scope: "*", ...rule })) };
}

/** What is wrong with the rules under `path`. Source: kubernetes pkg/apis/admissionregistration/validation. */
export function validateRules(parent: Fields, field: string, path: string): readonly FieldError[] {
  return collectErrors(fieldListAt(parent, field), (rule, index) => validateRule(rule, `${path}.${field}[${index}]`));
}

function validateRule(rule: Fields, path: string): readonly FieldError[] {
  const list = (field: string): readonly string[] => stringsAt(rule, field);
  const errors: FieldError[] = [];
  const alone = (field: string, what: string): void => {
    if (list(field).length === 0) errors.push(required(`${path}.${field}`));
    if (list(field).length > 1 && list(field).includes("*")) {
      errors.push(invalid(`${path}.${field}`, list(field), `if '*' is present, must not specify other ${what}`));
    }
  };
  errors.push(...validateNames(list("resourceNames"), `${path}.resourceNames`));
  alone("operations", "operations");
  list("operations").forEach((operation, index) => {
    if (!operations.includes(operation)) {
      errors.push(notSupported(`${path}.operations[${index}]`, operation, operations));
    }
  });
  alone("apiGroups", "API groups");
  alone("apiVersions", "API versions");
  list("apiVersions").forEach((version, index) => {
    if (version === "") errors.push(required(`${path}.apiVersions[${index}]`));
  });
  errors.push(...validateResources(list("resources"), `${path}.resources`));
  const scope = valueAt(rule, "scope");
  if (typeof scope === "string" && !scopes.includes(scope)) {
    errors.push(notSupported(`${path}.scope`, scope, scopes));
  }
  return errors;
}

function validateNames(names: readonly string[], path: string): readonly FieldError[] {
  return collectErrors(names, (name, index) => [
    ...pathSegmentProblems(name).map((why) => invalid(`${path}[${index}]`, name, why)),
    ...(names.indexOf(name) < index ? [duplicate(`${path}[${index}]`, name)] : []),
  ]);
}

/** A resource that another entry covers already is refused, as it would look like a narrowing and be none. */
function validateResources(resources: readonly string[], path: string): readonly FieldError[] {
  if (resources.length === 0) return [required(path)];
  const allParts = new Set<string>();
  const partOfAll = new Set<string>();
  const errors: FieldError[] = [
    ...collectErrors(resources, (resource, index) => {
      if (resource === "") return [required(`${path}[${index}]`)];
      const slash = resource.indexOf("/");
      if (slash < 0) return [];
      const [name, part] = [resource.slice(0, slash), resource.slice(slash + 1)];
      const covered = [
        ...(allParts.has(name) ? [`if '${name}/*' is present, must not specify ${resource}`] : []),
        ...(partOfAll.has(part) ? [`if '*/${part}' is present, must not specify ${resource}`] : []),
      ];
      if (part === "*") allParts.add(name);
      if (name === "*") partOfAll.add(part);
      return covered.map((why) => invalid(`${path}[${index}]`, resource, why));
    }),
  ];
  if (resources.length > 1 && resources.includes("*/*")) {
    errors.push(invalid(path, resources, "if '*/*' is present, must not specify other resources"));
  }
  if (resources.includes("*") && resources.some((resource) => resource !== "*" && !resource.includes("/"))) {
    errors.push(invalid(path, resources, "if '*' is present, must not specify other resources without subresources"));
  }
  return errors;
}
