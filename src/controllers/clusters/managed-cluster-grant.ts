import type { ResourceRef } from "../../client/client.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { jsonEqual } from "../../apimachinery/equal.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import {
  acceptedAgentRules,
  deniedAgentRules,
  sharedAgentRoles,
  agentGroups,
  clusterLeaseName,
  clusterNameLabel,
  isAccepted,
  leaseMs,
  type ManagedCluster,
} from "../../apis/managed-cluster.ts";
import { rbacGroup, type Subject } from "../../apis/rbac.ts";
import { clusterRoleBindings, clusterRoles, leases, roleBindings } from "../kinds.ts";

/** One object that the hub maintains for a cluster. */
export interface ClusterObject {
  readonly resource: ResourceRef;
  readonly object: ApiObject;
}

/** The name of the role and of the binding of one cluster; the names of the two bindings in its namespace begin with it. */
function clusterRoleName(cluster: string): string {
  return `open-cluster-management:managedcluster:${cluster}`;
}

/** The bindings in the namespace of a cluster, by the shared role that they refer to. */
const halves: readonly (keyof typeof sharedAgentRoles)[] = ["registration", "work"];

/** The objects that the agent needs once its cluster is accepted, roles before bindings; for a denied cluster the remaining ones. */
export function clusterRbac(cluster: ManagedCluster): readonly ClusterObject[] {
  const { name = "" } = cluster.metadata;
  const full = clusterRoleName(name);
  const labels = { [clusterNameLabel]: name };
  const rules = isAccepted(cluster) ? acceptedAgentRules(name) : deniedAgentRules(name);
  const whole = [
    role(full, labels, rules),
    {
      resource: clusterRoleBindings,
      object: binding("ClusterRoleBinding", { name: full, labels }, { cluster: name, role: full }),
    },
  ];
  return isAccepted(cluster) ? [...sharedRoles(), ...whole, ...namespaceBindings(name)] : whole;
}

/** The roles that all agents share. */
export function sharedRoles(): readonly ClusterObject[] {
  return halves.map((half) => role(clusterRoleName(half), { [clusterNameLabel]: "" }, sharedAgentRoles[half]));
}

/** The bindings of the shared roles in the namespace of a cluster. */
export function namespaceBindings(cluster: string): readonly ClusterObject[] {
  return halves.map((half) => {
    const metadata = {
      name: `${clusterRoleName(cluster)}:${half}`,
      namespace: cluster,
      labels: { [clusterNameLabel]: cluster },
    };
    return {
      resource: roleBindings,
      object: binding("RoleBinding", metadata, { cluster, role: clusterRoleName(half) }),
    };
  });
}

function role(name: string, labels: Readonly<Record<string, string>>, rules: readonly object[]): ClusterObject {
  const object = { apiVersion: rbacVersion, kind: "ClusterRole", metadata: { name, labels }, rules };
  return { resource: clusterRoles, object };
}

const rbacVersion = `${rbacGroup}/v1`;

function binding(
  kind: string,
  metadata: ApiObject["metadata"],
  { cluster, role: name }: { readonly cluster: string; readonly role: string },
): ApiObject {
  const subjects: readonly Subject[] = agentGroups(cluster).map((group) => ({
    kind: "Group",
    apiGroup: rbacGroup,
    name: group,
  }));
  return {
    apiVersion: rbacVersion,
    kind,
    metadata,
    roleRef: { apiGroup: rbacGroup, kind: "ClusterRole", name },
    subjects,
  };
}

/** Whether an existing object grants exactly what is required. The role of a binding cannot be changed. */
export function grantState(
  there: ApiObject | undefined,
  wanted: ApiObject,
): "missing" | "same" | "changed" | "replaced" {
  if (there === undefined) return "missing";
  if (!jsonEqual(there["roleRef"], wanted["roleRef"])) return "replaced";
  const labels = Object.entries(wanted.metadata.labels ?? {});
  const isLabelled = labels.every(([key, value]) => there.metadata.labels?.[key] === value);
  const isSame = ["rules", "subjects"].every((field) => jsonEqual(there[field], wanted[field]));
  return isLabelled && isSame ? "same" : "changed";
}

/** The lease that the agent renews, as the hub creates it. */
export function clusterLease(cluster: ManagedCluster, now: number): ApiObject {
  const { name = "" } = cluster.metadata;
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: clusterLeaseName, namespace: name, labels: { [clusterNameLabel]: name } },
    spec: {
      holderIdentity: clusterLeaseName,
      leaseDurationSeconds: leaseMs(cluster) / 1000,
      renewTime: rfc3339(now).replace("Z", ".000000Z"),
    },
  };
}

/** On a namespace that was created for a cluster: the uid of that cluster. The namespace is deleted with it. */
const madeForAnnotation = "registration.pratique.dev/made-for";

/** The namespace of a cluster. */
export function clusterNamespace({ metadata }: ManagedCluster): ApiObject {
  const { name = "", uid = "" } = metadata;
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, labels: { [clusterNameLabel]: name }, annotations: { [madeForAnnotation]: uid } },
  };
}

/** The key of the lease of a cluster. */
export function leaseKey(cluster: string): ObjectKey {
  return { namespace: cluster, name: clusterLeaseName };
}

/** The leases of all clusters. */
export const heartbeats: { readonly resource: ResourceRef; readonly fieldSelector: string } = {
  resource: leases,
  fieldSelector: `metadata.name=${clusterLeaseName}`,
};
