import type { ResourceRef } from "../client/client.ts";

/** The kinds that the built-in controllers speak of. */
export const namespaces: ResourceRef = core("Namespace", "namespaces", "Cluster");
export const secrets: ResourceRef = core("Secret", "secrets", "Namespaced");
export const configMaps: ResourceRef = core("ConfigMap", "configmaps", "Namespaced");
export const serviceAccounts: ResourceRef = core("ServiceAccount", "serviceaccounts", "Namespaced");

export const events: ResourceRef = core("Event", "events", "Namespaced");
export const nodes: ResourceRef = core("Node", "nodes", "Cluster");

export const roles: ResourceRef = rbac("Role", "roles", "Namespaced");
export const roleBindings: ResourceRef = rbac("RoleBinding", "rolebindings", "Namespaced");
export const clusterRoleBindings: ResourceRef = rbac("ClusterRoleBinding", "clusterrolebindings", "Cluster");

export const certificateSigningRequests: ResourceRef = {
  group: "certificates.k8s.io",
  version: "v1",
  kind: "CertificateSigningRequest",
  plural: "certificatesigningrequests",
  scope: "Cluster",
};

export const subjectAccessReviews: ResourceRef = {
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SubjectAccessReview",
  plural: "subjectaccessreviews",
  scope: "Cluster",
};

export const clusterRoles: ResourceRef = {
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  scope: "Cluster",
};

/** The API server itself, which keeps custom resources as it does in Kubernetes: no ServiceAccount has its rights. */
export const apiserverAccount = "system:apiserver";

export const validatingAdmissionPolicies: ResourceRef = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "ValidatingAdmissionPolicy",
  plural: "validatingadmissionpolicies",
  scope: "Cluster",
};

export const apiServices: ResourceRef = {
  group: "apiregistration.k8s.io",
  version: "v1",
  kind: "APIService",
  plural: "apiservices",
  scope: "Cluster",
};

export const customResourceDefinitions: ResourceRef = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  scope: "Cluster",
};

export const leases: ResourceRef = {
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  scope: "Namespaced",
};

function rbac(kind: string, plural: string, scope: ResourceRef["scope"]): ResourceRef {
  return { group: "rbac.authorization.k8s.io", version: "v1", kind, plural, scope };
}

function core(kind: string, plural: string, scope: ResourceRef["scope"]): ResourceRef {
  return { group: "", version: "v1", kind, plural, scope };
}

/** A kind with the verbs that it is served with; every Resource is one. */
export interface ManagedResource extends ResourceRef {
  readonly verbs: readonly string[];
}

/** Each kind once, whichever version of it comes first: its objects are the same in all. */
export function oneVersionEach<T extends ManagedResource>(resources: readonly T[]): readonly T[] {
  const seen = new Map<string, T>();
  for (const resource of resources) {
    const name = `${resource.plural}.${resource.group}`;
    if (!seen.has(name)) seen.set(name, resource);
  }
  return [...seen.values()];
}

/** Whether objects of this kind can be followed, read and deleted one by one. */
export function isCollectable(resource: ManagedResource): boolean {
  return ["get", "list", "watch", "delete"].every((verb) => resource.verbs.includes(verb));
}
