import { type FieldError, duplicate, invalid, notSupported, required } from "../apimachinery/field-error.ts";
import { pathSegmentProblems } from "../apimachinery/names.ts";
import { collectErrors } from "./collect-errors.ts";
import { fieldListAt, type Fields, stringsAt, valueAt } from "./json-fields.ts";

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
