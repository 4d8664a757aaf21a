import { type FieldError, invalid, notSupported, required } from "../apimachinery/field-error.ts";
import type { LabelSelectorObject } from "../apimachinery/label-selector.ts";
import { dnsSubdomainProblems, pathSegmentProblems } from "../apimachinery/names.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { ageColumn, column, createdAtColumn, builtinKind } from "./builtin-kind.ts";
import {
  collectErrors,
  nameErrors,
  fieldErrors,
  type FieldResult,
  requiredName,
  unsupported,
  validateLabelSelector,
} from "./field-rules.ts";
import {
  fieldListAt,
  fieldsAt,
  type Fields,
  isSameJson,
  stringAt,
  withField,
  arrayAt,
  valueAt,
  isFields,
} from "./json-fields.ts";
import type { Column, Resource } from "./resource.ts";

/** The role of a binding; immutable. Source: api/rbac/v1 RoleRef. */
export interface RoleRef {
  readonly apiGroup: string;
  readonly kind: string;
  readonly name: string;
}

/** A user, group or ServiceAccount that gets the role; one without a namespace is in the RoleBinding's own. Source: api/rbac/v1 Subject. */
export interface Subject {
  readonly kind: "User" | "Group" | "ServiceAccount";
  readonly apiGroup?: string;
  readonly name: string;
  readonly namespace?: string;
}

/** The API group of roles, bindings, and of the subjects User and Group. */
export const rbacGroup = "rbac.authorization.k8s.io";

const rbacKind: Pick<Resource, "group" | "names" | "createOnUpdate" | "unconditionalUpdate"> = {
  group: rbacGroup,
  names: "path",
  createOnUpdate: true,
  unconditionalUpdate: true,
};

const subjectKinds: readonly string[] = ["ServiceAccount", "User", "Group"];

/** A binding with the defaults of omitted API groups: of the role, and of users and groups. Source: pkg/apis/rbac/v1/defaults.go. */
export function prepareBinding(object: ApiObject): ApiObject {
  const roleRef = fieldsAt(object, "roleRef");
  const grouped =
    stringAt(roleRef, "apiGroup") === "" ? withField(object, "roleRef", { ...roleRef, apiGroup: rbacGroup }) : object;
  const subjects = fieldListAt(object, "subjects");
  return subjects.length === 0 ? grouped : withField(grouped, "subjects", subjects.map(prepareSubject));
}

function prepareSubject(subject: Fields): Fields {
  const kind = stringAt(subject, "kind");
  if (stringAt(subject, "apiGroup") !== "" || (kind !== "User" && kind !== "Group")) return subject;
  return { ...subject, apiGroup: rbacGroup };
}

/** Errors of a prepared RoleBinding or ClusterRoleBinding. Source: pkg/apis/rbac/validation. */
function validateBinding(object: ApiObject, scope: "Namespaced" | "Cluster"): readonly FieldError[] {
  const group = stringAt(object, "roleRef", "apiGroup");
  const kind = stringAt(object, "roleRef", "kind");
  const name = stringAt(object, "roleRef", "name");
  const kinds = scope === "Namespaced" ? ["Role", "ClusterRole"] : ["ClusterRole"];
  return fieldErrors(
    group !== rbacGroup && notSupported("roleRef.apiGroup", group, [rbacGroup]),
    !kinds.includes(kind) && notSupported("roleRef.kind", kind, kinds),
    name === "" && required("roleRef.name"),
    nameErrors("roleRef.name", name, pathSegmentProblems),
    collectErrors(fieldListAt(object, "subjects"), (subject, index) =>
      validateSubject(subject, `subjects[${index}]`, scope),
    ),
  );
}

/** The role of a binding is immutable, or its name would come to mean another grant. */
function validateBindingUpdate(next: ApiObject, stored: ApiObject): readonly FieldError[] {
  return isSameJson(next["roleRef"], stored["roleRef"])
    ? []
    : [invalid("roleRef", next["roleRef"], "cannot change roleRef")];
}

function validateSubject(subject: Fields, path: string, scope: "Namespaced" | "Cluster"): FieldResult {
  const [kind, name, group] = [stringAt(subject, "kind"), stringAt(subject, "name"), stringAt(subject, "apiGroup")];
  switch (kind) {
    case "ServiceAccount":
      return [
        requiredName(`${path}.name`, name, dnsSubdomainProblems),
        unsupported(`${path}.apiGroup`, group, [""]),
        scope === "Cluster" && stringAt(subject, "namespace") === "" && required(`${path}.namespace`),
      ];
    case "User":
    case "Group":
      return [name === "" && required(`${path}.name`), unsupported(`${path}.apiGroup`, group, [rbacGroup])];
    default:
      return [name === "" && required(`${path}.name`), notSupported(`${path}.kind`, kind, subjectKinds)];
  }
}

/** The columns of both kinds of binding. */
const bindingColumns: readonly Column[] = [
  column(
    "Role",
    "The role that the binding hands out.",
    (object) => `${stringAt(object, "roleRef", "kind")}/${stringAt(object, "roleRef", "name")}`,
  ),
  ageColumn,
  subjectsColumn("Users", "User", "The users that get the role."),
  subjectsColumn("Groups", "Group", "The groups that get the role."),
  subjectsColumn("ServiceAccounts", "ServiceAccount", "The service accounts that get the role."),
];

function subjectsColumn(name: string, kind: Subject["kind"], description: string): Column {
  return {
    name,
    type: "string",
    priority: 1,
    description,
    cell: (object) =>
      fieldListAt(object, "subjects")
        .filter((subject) => stringAt(subject, "kind") === kind)
        .map((subject) =>
          kind === "ServiceAccount"
            ? `${stringAt(subject, "namespace")}/${stringAt(subject, "name")}`
            : stringAt(subject, "name"),
        )
        .join(", "),
  };
}

/** The verbs that are allowed on resources or paths. Source: api/rbac/v1 PolicyRule. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** Errors of the `rules` of a Role or ClusterRole. Source: pkg/apis/rbac/validation ValidatePolicyRule. */
function validatePolicyRules(role: ApiObject, scope: "Namespaced" | "Cluster"): readonly FieldError[] {
  return collectErrors(fieldListAt(role, "rules"), (rule, index) => {
    const path = `rules[${index}]`;
    const has = (field: string): boolean => arrayAt(rule, field).length > 0;
    const needs = (field: string, why: string): FieldResult => !has(field) && required(`${path}.${field}`, why);
    const refuseUrls = (why: string): FieldError =>
      invalid(`${path}.nonResourceURLs`, valueAt(rule, "nonResourceURLs"), why);
    const isForResources = has("apiGroups") || has("resources") || has("resourceNames");
    return [
      needs("verbs", "verbs must contain at least one value"),
      has("nonResourceURLs")
        ? [
            scope === "Namespaced" && refuseUrls("namespaced rules cannot apply to non-resource URLs"),
            isForResources && refuseUrls("rules cannot apply to both regular resources and non-resource URLs"),
          ]
        : [
            needs("apiGroups", "resource rules must supply at least one api group"),
            needs("resources", "resource rules must supply at least one resource"),
          ],
    ];
  });
}

/** Rules within one namespace. Source: api/rbac/v1 Role. */
export interface Role extends ApiObject {
  readonly rules?: readonly PolicyRule[];
}

export const roles: Resource = builtinKind({
  ...rbacKind,
  kind: "Role",
  scope: "Namespaced",
  schema: "io.k8s.api.rbac.v1.Role",
  columns: [createdAtColumn],
  validate: (object) => validatePolicyRules(object, "Namespaced"),
});

/** Rules for the whole cluster, or for the namespaces in which a RoleBinding refers to it. Source: api/rbac/v1 ClusterRole. */
export interface ClusterRole extends ApiObject {
  readonly rules?: readonly PolicyRule[];
  /** With one, a controller writes `rules`: the union of the rules of all ClusterRoles that any of the selectors matches. */
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly LabelSelectorObject[] };
}

export const clusterRoles: Resource = builtinKind({
  ...rbacKind,
  kind: "ClusterRole",
  scope: "Cluster",
  schema: "io.k8s.api.rbac.v1.ClusterRole",
  columns: [createdAtColumn],
  validate: (object) => [...validatePolicyRules(object, "Cluster"), ...validateAggregation(object)],
});

function validateAggregation(object: ApiObject): readonly FieldError[] {
  if (!isFields(valueAt(object, "aggregationRule"))) return [];
  const path = "aggregationRule.clusterRoleSelectors";
  const selectors = fieldListAt(object, "aggregationRule", "clusterRoleSelectors");
  if (selectors.length === 0) {
    return [required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")];
  }
  return collectErrors(selectors, (selector, index) => validateLabelSelector(selector, `${path}[${index}]`));
}

/** The subjects of a role within one namespace. Source: api/rbac/v1 RoleBinding. */
export interface RoleBinding extends ApiObject {
  readonly roleRef: RoleRef;
  readonly subjects?: readonly Subject[];
}

export const roleBindings: Resource = bindingKind("RoleBinding", "Namespaced");

/** The subjects of a role in the whole cluster. Source: api/rbac/v1 ClusterRoleBinding. */
export interface ClusterRoleBinding extends ApiObject {
  readonly roleRef: RoleRef;
  readonly subjects?: readonly Subject[];
}

export const clusterRoleBindings: Resource = bindingKind("ClusterRoleBinding", "Cluster");

/** Both kinds of bindings are alike except for their scope. */
function bindingKind(kind: string, scope: Resource["scope"]): Resource {
  return builtinKind({
    ...rbacKind,
    kind,
    scope,
    schema: `io.k8s.api.rbac.v1.${kind}`,
    columns: bindingColumns,
    prepareForCreate: prepareBinding,
    prepareForUpdate: prepareBinding,
    validate: (object) => validateBinding(object, scope),
    validateUpdate: validateBindingUpdate,
  });
}
