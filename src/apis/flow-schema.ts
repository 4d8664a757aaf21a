import {
  type FieldError,
  duplicate,
  forbiddenField,
  invalid,
  notSupported,
  required,
} from "../apimachinery/field-error.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "../apimachinery/names.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { ageColumn, column, textColumn, builtinKind, statusPart } from "./builtin-kind.ts";
import { collectErrors, fieldErrors, nameErrors, repetitions } from "./field-rules.ts";
import { mandatoryFlowControl } from "./flow-control-objects.ts";
import {
  fieldListAt,
  type Fields,
  fieldsAt,
  isFields,
  isSameJson,
  numberAt,
  stringAt,
  stringsAt,
  valueAt,
  withField,
} from "./json-fields.ts";
import { type Resource, storedVerbs } from "./resource.ts";

/** Which requests belong to a priority level. Source: api/flowcontrol/v1 FlowSchema. */
export interface FlowSchema extends ApiObject {
  readonly spec?: FlowSchemaSpec;
}

/** The spec as it is stored, defaults included. */
export interface FlowSchemaSpec {
  readonly priorityLevelConfiguration?: { readonly name?: string };
  readonly matchingPrecedence?: number;
  readonly distinguisherMethod?: { readonly type?: string };
  readonly rules?: readonly PolicyRules[];
}

/** Requests of any of the subjects that any of the rules names. */
export interface PolicyRules {
  readonly subjects?: readonly FlowSubject[];
  readonly resourceRules?: readonly ResourceRule[];
  readonly nonResourceRules?: readonly NonResourceRule[];
}

/** `kind` determines which of the other fields is set. */
export interface FlowSubject {
  readonly kind?: string;
  readonly user?: { readonly name?: string };
  readonly group?: { readonly name?: string };
  readonly serviceAccount?: { readonly name?: string; readonly namespace?: string };
}

export interface ResourceRule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly clusterScope?: boolean;
  readonly namespaces?: readonly string[];
}

export interface NonResourceRule {
  readonly verbs?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

const maxPrecedence = 10_000;
const defaultPrecedence = 1000;
const distinguishers: readonly string[] = ["ByNamespace", "ByUser"];
const verbs: readonly string[] = [...storedVerbs, "proxy"].toSorted();

export const flowSchemas: Resource = builtinKind({
  group: "flowcontrol.apiserver.k8s.io",
  kind: "FlowSchema",
  scope: "Cluster",
  schema: "io.k8s.api.flowcontrol.v1.FlowSchema",
  columns: [
    textColumn(
      "PriorityLevel",
      "The priority level of the requests that match.",
      "spec",
      "priorityLevelConfiguration",
      "name",
    ),
    column(
      "MatchingPrecedence",
      "Of several schemas that match a request, the one with the lowest number applies.",
      (object) => numberAt(object, "spec", "matchingPrecedence") ?? 0,
    ),
    column("DistinguisherMethod", "What tells the flows of the schema apart.", (object) =>
      isFields(valueAt(object, "spec", "distinguisherMethod"))
        ? stringAt(object, "spec", "distinguisherMethod", "type")
        : "<none>",
    ),
    ageColumn,
    column("MissingPL", "Whether the schema names a priority level that does not exist.", danglingOf),
  ],
  subresources: { status: statusPart },
  unconditionalUpdate: true,
  generation: true,
  prepareForCreate: (object) => withField(withDefaults(object), "status", {}),
  prepareForUpdate: (incoming, stored) => withField(withDefaults(incoming), "status", stored["status"] ?? {}),
  validate: validateFlowSchema,
});

function danglingOf(object: ApiObject): string {
  const found = fieldListAt(object, "status", "conditions").find(({ type }) => type === "Dangling");
  return found === undefined ? "?" : stringAt(found, "status");
}

function withDefaults(object: ApiObject): ApiObject {
  const spec = fieldsAt(object, "spec");
  const { matchingPrecedence = 0 } = spec;
  return matchingPrecedence === 0
    ? withField(object, "spec", { ...spec, matchingPrecedence: defaultPrecedence })
    : object;
}

/** Source: kubernetes pkg/apis/flowcontrol/validation ValidateFlowSchema. */
function validateFlowSchema(object: ApiObject): readonly FieldError[] {
  const spec = fieldsAt(object, "spec");
  const name = object.metadata.name ?? "";
  const mandatory = Object.hasOwn(mandatoryFlowControl.schemas, name) ? mandatoryFlowControl.schemas[name] : undefined;
  return fieldErrors(
    validatePrecedence(name, spec),
    validateDistinguisher(spec),
    validateLevelName(stringAt(spec, "priorityLevelConfiguration", "name")),
    collectErrors(fieldListAt(spec, "rules"), (rule, index) => validateRules(rule, `spec.rules[${index}]`)),
    mandatory !== undefined &&
      !isSameJson(spec, mandatory) &&
      invalid("spec", spec, `spec of '${name}' must equal the fixed value`),
    validateConditionTypes(object),
  );
}

/** Errors of the conditions of a status. */
export function validateConditionTypes(object: ApiObject): readonly FieldError[] {
  const conditions = fieldListAt(object, "status", "conditions");
  const isRepeated = repetitions();
  return collectErrors(conditions, (condition, index) => {
    const type = stringAt(condition, "type");
    const at = `status.conditions[${index}].type`;
    return [isRepeated(type) && duplicate(at, type), type === "" && required(at)];
  });
}

function validatePrecedence(name: string, spec: Fields): readonly FieldError[] {
  const precedence = Number(valueAt(spec, "matchingPrecedence") ?? 0);
  const path = "spec.matchingPrecedence";
  return fieldErrors(
    precedence <= 0 && invalid(path, precedence, "must be a positive value"),
    precedence > maxPrecedence && invalid(path, precedence, `must not be greater than ${maxPrecedence}`),
    precedence === 1 &&
      name !== "exempt" &&
      invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1"),
  );
}

function validateDistinguisher(spec: Fields): readonly FieldError[] {
  const method = valueAt(spec, "distinguisherMethod");
  if (!isFields(method) || distinguishers.includes(stringAt(method, "type"))) return [];
  return [notSupported("spec.distinguisherMethod.type", method, distinguishers)];
}

function validateLevelName(name: string): readonly FieldError[] {
  const path = "spec.priorityLevelConfiguration.name";
  if (name === "") return [required(path, "must reference a priority level")];
  return nameErrors(path, name, dnsSubdomainProblems);
}

function validateRules(rules: Fields, path: string): readonly FieldError[] {
  const subjects = fieldListAt(rules, "subjects");
  const [resourceRules, nonResourceRules] = [
    fieldListAt(rules, "resourceRules"),
    fieldListAt(rules, "nonResourceRules"),
  ];
  return fieldErrors(
    subjects.length === 0
      ? required(`${path}.subjects`, "subjects must contain at least one value")
      : collectErrors(subjects, (subject, index) => validateSubject(subject, `${path}.subjects[${index}]`)),
    resourceRules.length + nonResourceRules.length === 0 &&
      required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"),
    collectErrors(resourceRules, (rule, index) => validateResourceRule(rule, `${path}.resourceRules[${index}]`)),
    collectErrors(nonResourceRules, (rule, index) => validatePathRule(rule, `${path}.nonResourceRules[${index}]`)),
  );
}

/** The field of each kind of subject, and the order in which the others are reported. */
const subjectFields: Readonly<Record<string, readonly ["user" | "group" | "serviceAccount", ...string[]]>> = {
  Group: ["group", "serviceAccount", "user"],
  ServiceAccount: ["serviceAccount", "user", "group"],
  User: ["user", "serviceAccount", "group"],
};

const kindOfField: Readonly<Record<string, string>> = {
  user: "User",
  group: "Group",
  serviceAccount: "ServiceAccount",
};

function validateSubject(subject: Fields, path: string): readonly FieldError[] {
  const kind = stringAt(subject, "kind");
  const fields = Object.hasOwn(subjectFields, kind) ? subjectFields[kind] : undefined;
  if (fields === undefined) return [notSupported(`${path}.kind`, kind, Object.keys(subjectFields))];
  const [own, ...others] = fields;
  const value = valueAt(subject, own);
  return fieldErrors(
    !isFields(value)
      ? required(`${path}.${own}`, `${own} is required when subject kind is '${kind}'`)
      : stringAt(value, "name") === "" && required(`${path}.${own}.name`),
    own === "serviceAccount" && isFields(value) && validateAccount(value, `${path}.${own}`),
    others.flatMap((other) =>
      isFields(valueAt(subject, other))
        ? [forbiddenField(`${path}.${other}`, `${other} is forbidden when subject kind is not '${kindOfField[other]}'`)]
        : [],
    ),
  );
}

function validateAccount(account: Fields, path: string): readonly FieldError[] {
  const [name, namespace] = [stringAt(account, "name"), stringAt(account, "namespace")];
  return fieldErrors(
    name !== "" && name !== "*" && nameErrors(`${path}.name`, name, dnsSubdomainProblems),
    namespace === ""
      ? required(`${path}.namespace`, "must specify namespace for service account")
      : nameErrors(`${path}.namespace`, namespace, dnsLabelProblems),
  );
}

function validateResourceRule(rule: Fields, path: string): readonly FieldError[] {
  const namespaces = stringsAt(rule, "namespaces");
  const noNamespaces = "resource rules that are not cluster scoped must supply at least one namespace";
  return fieldErrors(
    validateVerbs(rule, path),
    someOf(rule, "apiGroups", { path, none: "resource rules must supply at least one api group", of: "api groups" }),
    someOf(rule, "resources", { path, none: "resource rules must supply at least one resource", of: "resources" }),
    namespaces.length === 0 && rule["clusterScope"] !== true
      ? required(`${path}.namespaces`, noNamespaces)
      : validateWildcard(namespaces, `${path}.namespaces`, "namespaces"),
    !namespaces.includes("*") &&
      namespaces.flatMap((namespace, index) =>
        dnsLabelProblems(namespace).map((why) =>
          invalid(
            `${path}.namespaces[${index}]`,
            namespace,
            `each member of this list must be '*' or a DNS-1123 label; ${why}`,
          ),
        ),
      ),
  );
}

function validatePathRule(rule: Fields, path: string): readonly FieldError[] {
  const [field, none] = ["nonResourceURLs", "nonResourceURLs must contain at least one value"];
  const urls = stringsAt(rule, field);
  return fieldErrors(
    validateVerbs(rule, path),
    someOf(rule, field, { path, none, of: "non-resource URLs" }),
    !urls.includes("*") &&
      urls.flatMap((url, index) => {
        const problem = urlProblem(url);
        return problem === undefined ? [] : [invalid(`${path}.${field}[${index}]`, url, problem)];
      }),
  );
}

function validateVerbs(rule: Fields, path: string): readonly FieldError[] {
  const given = stringsAt(rule, "verbs");
  const found = someOf(rule, "verbs", { path, none: "verbs must contain at least one value", of: "verbs" });
  if (found.length > 0 || given.includes("*") || given.every((verb) => verbs.includes(verb))) return found;
  return [notSupported(`${path}.verbs`, given, verbs)];
}

function someOf(
  rule: Fields,
  field: string,
  { path, none, of }: { readonly path: string; readonly none: string; readonly of: string },
): readonly FieldError[] {
  const given = stringsAt(rule, field);
  if (given.length === 0) return [required(`${path}.${field}`, none)];
  return validateWildcard(given, `${path}.${field}`, of);
}

function validateWildcard(given: readonly string[], path: string, of: string): readonly FieldError[] {
  if (given.length < 2 || !given.includes("*")) return [];
  return [invalid(path, given, `if '*' is present, must not specify other ${of}`)];
}

function urlProblem(url: string): string | undefined {
  if (url === "") return "must not be empty";
  if (url === "/") return undefined;
  if (!url.startsWith("/")) return "must start with slash";
  if (url.includes(" ")) return "must not contain white-space";
  if (url.includes("//")) return "must not contain double slash";
  const stars = url.split("*").length - 1;
  return stars > 1 || (stars === 1 && !url.endsWith("/*")) ? "wildcard can only do suffix matching" : undefined;
}
