import type { ApiObject, Condition } from "../apimachinery/object.ts";
import type { PolicyRule } from "./rbac.ts";
import type { Resource } from "./resource.ts";

/** The groups of hub and spoke registration, and the one that exists only in authorization. Source: open-cluster-management.io/api. */
export const clusterGroup = "cluster.open-cluster-management.io";
export const addOnGroup = "addon.open-cluster-management.io";
export const registerGroup = "register.open-cluster-management.io";

/** On each object on the hub that belongs to a cluster: its name. */
export const clusterNameLabel = "open-cluster-management.io/cluster-name";
export const addOnNameLabel = "open-cluster-management.io/addon-name";
export const clusterSetLabel = "cluster.open-cluster-management.io/clusterset";

/** The finalizer of an accepted cluster, removed once all its objects on the hub are deleted. */
export const clusterFinalizer = "cluster.open-cluster-management.io/api-resource-cleanup";

/** The time since when a cluster is accepted automatically; a later denial is not overruled. */
export const autoAcceptedAnnotation = "open-cluster-management.io/automatically-accepted-on";

/** The authenticated requester of a cluster; set by admission and never changed. */
export const requesterAnnotation = "registration.pratique.dev/requested-by";

/** The authenticated user who last accepted or denied a cluster; set by admission, clients cannot write it. */
export const deciderAnnotation = "registration.pratique.dev/decided-by";

/** Why a cluster was denied, in the approver's words. */
export const denialReasonAnnotation = "registration.pratique.dev/denied-because";

/** The agents that have certificates of a cluster, each with the end of the latest. Only the hub writes it. */
export const agentsAnnotation = "registration.pratique.dev/agents";
/** `"true"`: the agent removes its cluster from the hub; the agent may set it together with `hubAcceptsClient: false`. */
export const leaveAnnotation = "agent.open-cluster-management.io/leave";

/** `"true"` on a cluster whose clock may differ from the hub's. */
export const skipClockAnnotation = "registration.open-cluster-management.io/skip-clock-sync-check";

/** `"true"` on a cluster that is deleted: the hub does not wait for its spoke any more. */
export const forceDetachAnnotation = "registration.pratique.dev/force-detach";

/** The heartbeat of a cluster, in its namespace; the hub creates it and the agent renews it. */
export const clusterLeaseName = "managed-cluster-lease";

/** The default lease duration of a cluster. */
export const defaultLeaseSeconds = 60;

/** The groups in the certificate of every agent. */
export const managedClustersGroup = "system:open-cluster-management:managed-clusters";

export const clusterCondition: {
  readonly accepted: string;
  readonly joined: string;
  readonly available: string;
  readonly clock: string;
  readonly deleting: string;
} = {
  accepted: "HubAcceptedManagedCluster",
  joined: "ManagedClusterJoined",
  available: "ManagedClusterConditionAvailable",
  clock: "ManagedClusterConditionClockSynced",
  deleting: "Deleting",
};

/** The kind of a call. */
export type ClusterKind = Pick<Resource, "group" | "version" | "plural" | "kind" | "scope">;

export const managedClusters: ClusterKind = {
  group: clusterGroup,
  version: "v1",
  plural: "managedclusters",
  kind: "ManagedCluster",
  scope: "Cluster",
};

export const managedClusterSets: ClusterKind = {
  group: clusterGroup,
  version: "v1beta2",
  plural: "managedclustersets",
  kind: "ManagedClusterSet",
  scope: "Cluster",
};

export const managedClusterSetBindings: ClusterKind = {
  group: clusterGroup,
  version: "v1beta2",
  plural: "managedclustersetbindings",
  kind: "ManagedClusterSetBinding",
  scope: "Namespaced",
};

export const managedClusterAddOns: ClusterKind = {
  group: addOnGroup,
  version: "v1beta1",
  plural: "managedclusteraddons",
  kind: "ManagedClusterAddOn",
  scope: "Namespaced",
};

/** A cluster that joins the hub, or has joined it. */
export interface ManagedCluster extends ApiObject {
  readonly spec?: ManagedClusterSpec;
  readonly status?: ManagedClusterStatus;
}

export interface ManagedClusterSpec {
  readonly hubAcceptsClient?: boolean;
  readonly leaseDurationSeconds?: number;
  readonly managedClusterClientConfigs?: readonly { readonly url: string; readonly caBundle?: string }[];
  readonly taints?: readonly ClusterTaint[];
}

export interface ClusterTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: "NoSelect" | "PreferNoSelect" | "NoSelectIfNew";
  readonly timeAdded?: string | null;
}

export interface ManagedClusterStatus {
  readonly conditions?: readonly Condition[];
  readonly version?: { readonly kubernetes?: string };
}

/** The subject of a certificate: a cluster, and its agent, which is another after each new installation. */
export interface AgentIdentity {
  readonly cluster: string;
  readonly agent: string;
}

const agentPrefix = "system:open-cluster-management:";

/** The user name of an agent. */
export function agentUser({ cluster, agent }: AgentIdentity): string {
  return `${agentPrefix}${cluster}:${agent}`;
}

/** The group of all agents of one cluster. */
export function clusterGroupOf(cluster: string): string {
  return `${agentPrefix}${cluster}`;
}

/** The groups of the agents of one cluster; agents with an identity that the hub did not issue are in the second. */
export function agentGroups(cluster: string): readonly string[] {
  return [clusterGroupOf(cluster), `open-cluster-management:${cluster}`];
}

/** Whether the role or the group of a cluster of this name would be the one that all agents share. */
export function isSharedName(cluster: string): boolean {
  return sharedNames.has(cluster) || clusterGroupOf(cluster) === managedClustersGroup;
}
const sharedNames: ReadonlySet<string> = new Set(["registration", "work"]);

/** The cluster and agent of a user name, or undefined for other users. The name has exactly two parts, so that no prefix can pass for it. */
export function agentOf(username: string): AgentIdentity | undefined {
  if (!username.startsWith(agentPrefix)) return undefined;
  const [cluster = "", agent = "", more] = username.slice(agentPrefix.length).split(":");
  return cluster === "" || agent === "" || more !== undefined ? undefined : { cluster, agent };
}

/** The effective lease duration, in milliseconds; 0 and less mean the default. */
export function leaseMs(cluster: ManagedCluster): number {
  const seconds = cluster.spec?.leaseDurationSeconds ?? 0;
  return (seconds > 0 ? seconds : defaultLeaseSeconds) * 1000;
}

/** Whether an administrator of the hub accepts the cluster. */
export function isAccepted(cluster: ManagedCluster): boolean {
  return cluster.spec?.hubAcceptsClient === true;
}

/** What the agent of one accepted cluster may do on the whole hub. Source: open-cluster-management.io/ocm manifests. */
export function acceptedAgentRules(cluster: string): readonly PolicyRule[] {
  return [
    rule(["create", "get", "list", "watch"], "certificates.k8s.io", ["certificatesigningrequests"]),
    rule(["renew"], registerGroup, ["managedclusters/clientcertificates"]),
    { ...rule(["get", "list", "update", "watch"], clusterGroup, ["managedclusters"]), resourceNames: [cluster] },
    { ...rule(["patch", "update"], clusterGroup, ["managedclusters/status"]), resourceNames: [cluster] },
  ];
}

/** The rights of the agent of a denied cluster: to read that it was denied. */
export function deniedAgentRules(cluster: string): readonly PolicyRule[] {
  return [{ ...rule(["get", "list", "watch"], clusterGroup, ["managedclusters"]), resourceNames: [cluster] }];
}

/**
 * The roles of agents in the namespace of their cluster, the same for all clusters. Of the leases there, an agent renews
 * only its heartbeat: the namespace may be older than the cluster.
 */
export const sharedAgentRoles: Readonly<Record<"registration" | "work", readonly PolicyRule[]>> = {
  registration: [
    rule(["get", "list", "watch"], "coordination.k8s.io", ["leases"]),
    { ...rule(["update"], "coordination.k8s.io", ["leases"]), resourceNames: [clusterLeaseName] },
    rule(["get", "list", "watch"], addOnGroup, ["managedclusteraddons"]),
    rule(["patch", "update"], addOnGroup, ["managedclusteraddons/status"]),
    rule(["create"], "events.k8s.io", ["events"]),
  ],
  work: [
    { apiGroups: ["", "events.k8s.io"], resources: ["events"], verbs: ["create", "patch", "update"] },
    rule(["get", "list", "patch", "update", "watch"], "work.open-cluster-management.io", ["manifestworks"]),
    rule(["patch", "update"], "work.open-cluster-management.io", ["manifestworks/status"]),
  ],
};

function rule(verbs: readonly string[], group: string, resources: readonly string[]): PolicyRule {
  return { apiGroups: [group], resources, verbs };
}
