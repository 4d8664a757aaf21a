import { type FieldError, invalid, notSupported, required } from "../apimachinery/field-error.ts";
import { dnsSubdomainProblems, pathSegmentProblems } from "../apimachinery/names.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { collectErrors } from "./collect-errors.ts";
import { ageColumn } from "./age-column.ts";
import { fieldListAt, fieldsAt, type Fields, isSameJson, stringAt, withField } from "./json-fields.ts";
import type { Column } from "./resource.ts";

/** Which role a binding hands out; it never changes. Source: api/rbac/v1 RoleRef. */
export interface RoleRef {
  readonly apiGroup: string;
  readonly kind: string;
  readonly name: string;
}

/** Who gets the role. A ServiceAccount without a namespace means one of the RoleBinding's own. Source: api/rbac/v1 Subject. */
export interface Subject {
  readonly kind: "User" | "Group" | "ServiceAccount";
  readonly apiGroup?: string;
  readonly name: string;
  readonly namespace?: string;
}

/** The API group of roles, bindings, and of the subjects User and Group. */
export const rbacGroup = "rbac.authorization.k8s.io";

const subjectKinds: readonly string[] = ["ServiceAccount", "User", "Group"];

/** A binding with the API groups that may be left out filled in: of the role, and of users and groups. Source: pkg/apis/rbac/v1/defaults.go. */
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

/** What is wrong with a prepared RoleBinding or ClusterRoleBinding. Source: pkg/apis/rbac/validation. */
export function validateBinding(object: ApiObject, scope: "Namespaced" | "Cluster"): readonly FieldError[] {
  const group = stringAt(object, "roleRef", "apiGroup");
  const kind = stringAt(object, "roleRef", "kind");
  const name = stringAt(object, "roleRef", "name");
  const kinds = scope === "Namespaced" ? ["Role", "ClusterRole"] : ["ClusterRole"];
  return [
    ...(group === rbacGroup ? [] : [notSupported("roleRef.apiGroup", group, [rbacGroup])]),
    ...(kinds.includes(kind) ? [] : [notSupported("roleRef.kind", kind, kinds)]),
    ...(name === "" ? [required("roleRef.name")] : []),
    ...pathSegmentProblems(name).map((why) => invalid("roleRef.name", name, why)),
    ...collectErrors(fieldListAt(object, "subjects"), (subject, index) =>
      validateSubject(subject, `subjects[${index}]`, scope),
    ),
  ];
}

/** A binding's role may never change, or its name would come to stand for another grant. */
export function validateBindingUpdate(next: ApiObject, stored: ApiObject): readonly FieldError[] {
  return isSameJson(next["roleRef"], stored["roleRef"])
    ? []
    : [invalid("roleRef", next["roleRef"], "cannot change roleRef")];
}

function validateSubject(subject: Fields, path: string, scope: "Namespaced" | "Cluster"): readonly FieldError[] {
  const kind = stringAt(subject, "kind");
  const name = stringAt(subject, "name");
  const group = stringAt(subject, "apiGroup");
  const nameless = name === "" ? [required(`${path}.name`)] : [];
  switch (kind) {
    case "ServiceAccount":
      return [
        ...nameless,
        ...(name === "" ? [] : dnsSubdomainProblems(name).map((why) => invalid(`${path}.name`, name, why))),
        ...(group === "" ? [] : [notSupported(`${path}.apiGroup`, group, [""])]),
        ...(scope === "Cluster" && stringAt(subject, "namespace") === "" ? [required(`${path}.namespace`)] : []),
      ];
    case "User":
    case "Group":
      return [...nameless, ...(group === rbacGroup ? [] : [notSupported(`${path}.apiGroup`, group, [rbacGroup])])];
    default:
      return [...nameless, notSupported(`${path}.kind`, kind, subjectKinds)];
  }
}

/** The columns of both kinds of binding. */
export const bindingColumns: readonly Column[] = [
  {
    name: "Role",
    type: "string",
    description: "The role that the binding hands out.",
    cell: (object) => `${stringAt(object, "roleRef", "kind")}/${stringAt(object, "roleRef", "name")}`,
  },
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
