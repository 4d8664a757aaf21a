import type { ObjectSchema } from "../../core/schema.ts";
import { labelSelector } from "./meta.ts";
import { kind } from "./kind.ts";
import {
  about,
  atomic,
  described,
  list,
  message,
  object,
  pointer,
  required,
  str,
  strings,
  whole,
} from "./shorthand.ts";

// Roles and their bindings. Source: k8s.io/api rbac/v1.

export const aggregationRule: ObjectSchema = message("io.k8s.api.rbac.v1.AggregationRule", {
  clusterRoleSelectors: list(1, labelSelector, atomic),
});

export const policyRule: ObjectSchema = described(
  "io.k8s.api.rbac.v1.PolicyRule",
  "One set of verbs on resources or on URLs.",
  {
    verbs: about("What may be done; * means everything.", required(strings(1, atomic))),
    apiGroups: about("Groups of the resources; empty text is the core group, * means all.", strings(2, atomic)),
    resources: about("Plural names, with subresources as pods/log; * means all.", strings(3, atomic)),
    resourceNames: about("Names the rule is limited to; empty means all.", strings(4, atomic)),
    nonResourceURLs: about(
      "Paths that are not resources; a final * matches any rest. ClusterRoles only.",
      strings(5, atomic),
    ),
  },
);

export const clusterRoleSchema: ObjectSchema = kind(
  "io.k8s.api.rbac.v1.ClusterRole",
  "Permissions in the whole cluster, on cluster-scoped resources and on URLs, or a template that RoleBindings use within a namespace.",
  {
    rules: about("What is allowed; rules only ever add.", list(2, policyRule, atomic)),
    aggregationRule: about(
      "Selects ClusterRoles whose rules are gathered into this one; rules is then managed.",
      pointer(object(3, aggregationRule)),
    ),
  },
);

export const subject: ObjectSchema = whole(
  described("io.k8s.api.rbac.v1.Subject", "Whom a binding names.", {
    kind: about("User, Group or ServiceAccount.", required(str(1))),
    apiGroup: about("Empty for ServiceAccount, rbac.authorization.k8s.io for the others.", str(2)),
    name: about("Name of the user, group or account.", required(str(3))),
    namespace: about("Namespace of a ServiceAccount.", str(4)),
  }),
);

export const roleRef: ObjectSchema = whole(
  described("io.k8s.api.rbac.v1.RoleRef", "The role a binding gives.", {
    apiGroup: about("rbac.authorization.k8s.io.", str(1)),
    kind: about("Role or ClusterRole.", required(str(2))),
    name: about("Name of the role.", required(str(3))),
  }),
);

export const clusterRoleBindingSchema: ObjectSchema = kind(
  "io.k8s.api.rbac.v1.ClusterRoleBinding",
  "Gives the permissions of a ClusterRole to subjects, everywhere.",
  {
    subjects: about("Users, groups and service accounts that get the permissions.", list(2, subject, atomic)),
    roleRef: about("The ClusterRole that is given; cannot change.", required(object(3, roleRef))),
  },
);

export const roleSchema: ObjectSchema = kind("io.k8s.api.rbac.v1.Role", "Permissions within one namespace.", {
  rules: about("What is allowed; rules only ever add.", list(2, policyRule, atomic)),
});

export const roleBindingSchema: ObjectSchema = kind(
  "io.k8s.api.rbac.v1.RoleBinding",
  "Gives the permissions of a Role or ClusterRole to subjects, within one namespace.",
  {
    subjects: about("Users, groups and service accounts that get the permissions.", list(2, subject, atomic)),
    roleRef: about("The role that is given; cannot change.", required(object(3, roleRef))),
  },
);
