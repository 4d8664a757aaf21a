import type { ResourceRef } from "../client/client.ts";

const rbacGroup = "rbac.authorization.k8s.io";

/** The kinds that the built-in controllers read and write. */
export const namespaces: ResourceRef = clusterKind("", "Namespace", "namespaces");
export const nodes: ResourceRef = clusterKind("", "Node", "nodes");
export const secrets: ResourceRef = namespacedKind("", "Secret", "secrets");
export const configMaps: ResourceRef = namespacedKind("", "ConfigMap", "configmaps");
export const serviceAccounts: ResourceRef = namespacedKind("", "ServiceAccount", "serviceaccounts");
export const events: ResourceRef = namespacedKind("", "Event", "events");
export const leases: ResourceRef = namespacedKind("coordination.k8s.io", "Lease", "leases");

export const roles: ResourceRef = namespacedKind(rbacGroup, "Role", "roles");
export const roleBindings: ResourceRef = namespacedKind(rbacGroup, "RoleBinding", "rolebindings");
export const clusterRoles: ResourceRef = clusterKind(rbacGroup, "ClusterRole", "clusterroles");
export const clusterRoleBindings: ResourceRef = clusterKind(rbacGroup, "ClusterRoleBinding", "clusterrolebindings");

export const certificateSigningRequests: ResourceRef = clusterKind(
  "certificates.k8s.io",
  "CertificateSigningRequest",
  "certificatesigningrequests",
);
export const subjectAccessReviews: ResourceRef = clusterKind(
  "authorization.k8s.io",
  "SubjectAccessReview",
  "subjectaccessreviews",
);
export const validatingAdmissionPolicies: ResourceRef = clusterKind(
  "admissionregistration.k8s.io",
  "ValidatingAdmissionPolicy",
  "validatingadmissionpolicies",
);
export const apiServices: ResourceRef = clusterKind("apiregistration.k8s.io", "APIService", "apiservices");
export const customResourceDefinitions: ResourceRef = clusterKind(
  "apiextensions.k8s.io",
  "CustomResourceDefinition",
  "customresourcedefinitions",
);

/** The API server itself, which stores custom resources as in Kubernetes: no ServiceAccount has its rights. */
export const apiserverAccount = "system:apiserver";

function clusterKind(group: string, kind: string, plural: string): ResourceRef {
  return { group, version: "v1", kind, plural, scope: "Cluster" };
}

function namespacedKind(group: string, kind: string, plural: string): ResourceRef {
  return { ...clusterKind(group, kind, plural), scope: "Namespaced" };
}

/** A kind with its verbs; every Resource is one. */
export interface ManagedResource extends ResourceRef {
  readonly verbs: readonly string[];
}

/** Each kind once, in the version that comes first: its objects are the same in all. */
export function oneVersionEach<T extends ManagedResource>(resources: readonly T[]): readonly T[] {
  const seen = new Map<string, T>();
  for (const resource of resources) {
    const name = `${resource.plural}.${resource.group}`;
    if (!seen.has(name)) seen.set(name, resource);
  }
  return [...seen.values()];
}

/** Whether objects of this kind can be watched, read and deleted one by one. */
export function isCollectable(resource: ManagedResource): boolean {
  return ["get", "list", "watch", "delete"].every((verb) => resource.verbs.includes(verb));
}
