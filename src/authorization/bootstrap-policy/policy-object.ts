import {
  rbacGroup,
  type Subject,
  type ClusterRoleBinding,
  type ClusterRole,
  type PolicyRule,
  type RoleBinding,
  type Role,
} from "../../apis/rbac.ts";

/** The `apiVersion` of all objects here. */
export const rbacApiVersion = "rbac.authorization.k8s.io/v1";

/** What marks the objects that come with the server and are reconciled at start. */
const defaults = {
  labels: { "kubernetes.io/bootstrapping": "rbac-defaults" },
  annotations: { "rbac.authorization.kubernetes.io/autoupdate": "true" },
};

/** A rule on resources; words are separated by spaces, `core` stands for the core group, `names` limits it to objects. */
export function rule(verbs: string, groups: string, resources: string, names: readonly string[] = []): PolicyRule {
  return {
    verbs: words(verbs),
    apiGroups: words(groups).map((group) => (group === "core" ? "" : group)),
    resources: words(resources),
    ...(names.length === 0 ? {} : { resourceNames: names }),
  };
}

/** A rule on paths; words are separated by spaces. */
export function pathRule(verbs: string, paths: string): PolicyRule {
  return { verbs: words(verbs), nonResourceURLs: words(paths) };
}

/** Writing events, in both groups that have them. */
export function eventsRule(): PolicyRule {
  return rule("create patch update", "core events.k8s.io", "events");
}

/** Writing events about cluster-scoped objects, for a Role in namespace `default`: their events are there. */
export function clusterEventsRule(): PolicyRule {
  return rule("create patch", "core", "events");
}

/** A default ClusterRole; `labels` come on top of the common one. */
export function clusterRole(
  name: string,
  rules: readonly PolicyRule[],
  labels: Readonly<Record<string, string>> = {},
): ClusterRole {
  return {
    apiVersion: rbacApiVersion,
    kind: "ClusterRole",
    metadata: { name, labels: { ...defaults.labels, ...labels }, annotations: defaults.annotations },
    rules,
  };
}

/** A default ClusterRoleBinding of the ClusterRole `role`. */
export function clusterRoleBinding(name: string, role: string, subjects: readonly Subject[]): ClusterRoleBinding {
  return {
    apiVersion: rbacApiVersion,
    kind: "ClusterRoleBinding",
    metadata: { name, ...defaults },
    roleRef: { apiGroup: rbacGroup, kind: "ClusterRole", name: role },
    subjects,
  };
}

/** A default Role. */
export function role(namespace: string, name: string, rules: readonly PolicyRule[]): Role {
  return { apiVersion: rbacApiVersion, kind: "Role", metadata: { name, namespace, ...defaults }, rules };
}

/** A default RoleBinding of a Role in the same namespace. */
export function roleBinding(
  at: { readonly namespace: string; readonly name: string },
  roleName: string,
  subjects: readonly Subject[],
): RoleBinding {
  return {
    apiVersion: rbacApiVersion,
    kind: "RoleBinding",
    metadata: { name: at.name, namespace: at.namespace, ...defaults },
    roleRef: { apiGroup: rbacGroup, kind: "Role", name: roleName },
    subjects,
  };
}

/** A user as a subject. */
export function user(name: string): Subject {
  return { kind: "User", apiGroup: rbacGroup, name };
}

/** A group as a subject. */
export function group(name: string): Subject {
  return { kind: "Group", apiGroup: rbacGroup, name };
}

/** A ServiceAccount of kube-system as a subject. */
export function systemServiceAccount(name: string): Subject {
  return { kind: "ServiceAccount", name, namespace: "kube-system" };
}

function words(text: string): readonly string[] {
  return text.split(" ");
}
