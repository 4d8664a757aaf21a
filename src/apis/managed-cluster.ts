import type { ApiObject, Condition } from "../apimachinery/object.ts";
import type { PolicyRule } from "./rbac.ts";
import type { Resource } from "./resource.ts";

/** The groups of hub and spoke registration, and the one that exists in authorization only. Source: open-cluster-management.io/api. */
export const clusterGroup = "cluster.open-cluster-management.io";
export const addOnGroup = "addon.open-cluster-management.io";
export const registerGroup = "register.open-cluster-management.io";

/** On everything on the hub that belongs to a cluster: its name. */
export const clusterNameLabel = "open-cluster-management.io/cluster-name";
export const addOnNameLabel = "open-cluster-management.io/addon-name";
export const clusterSetLabel = "cluster.open-cluster-management.io/clusterset";

/** Put on a cluster when it is accepted, and taken off once nothing of it is left on the hub. */
export const clusterFinalizer = "cluster.open-cluster-management.io/api-resource-cleanup";

/** Says since when a cluster is accepted without a person; who denies it afterwards is not overruled. */
export const autoAcceptedAnnotation = "open-cluster-management.io/automatically-accepted-on";

/** Who asked for a cluster to join, as authenticated; stamped by admission and never changed. */
export const requesterAnnotation = "registration.pratique.dev/requested-by";

/** Who accepted or denied a cluster last, as authenticated; stamped by admission, and never what a client writes. */
export const deciderAnnotation = "registration.pratique.dev/decided-by";

/** Why a cluster was denied, in the words of who denied it. */
export const denialReasonAnnotation = "registration.pratique.dev/denied-because";

/** The agents that hold certificates of a cluster, each with the end of the latest. Only the hub writes it. */
export const agentsAnnotation = "registration.pratique.dev/agents";
/** `"true"`: the agent takes its cluster off the hub, which it may do together with `hubAcceptsClient: false`. */
export const leaveAnnotation = "agent.open-cluster-management.io/leave";

/** `"true"` on a cluster whose clock need not agree with the hub's. */
export const skipClockAnnotation = "registration.open-cluster-management.io/skip-clock-sync-check";

/** `"true"` on a cluster that is deleted: nothing waits for its spoke any more. */
export const forceDetachAnnotation = "registration.pratique.dev/force-detach";

/** The heartbeat of a cluster, in its namespace; the hub makes it and the agent renews it. */
export const clusterLeaseName = "managed-cluster-lease";

/** What a cluster means that names no lease duration. */
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

/** Which kind a call speaks of. */
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

/** Whose certificate it is: a cluster, and the agent in it, which is another after each new installation. */
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

/** The groups in which the agents of one cluster are: the second is of those whose identity is not one of ours. */
export function agentGroups(cluster: string): readonly string[] {
  return [clusterGroupOf(cluster), `open-cluster-management:${cluster}`];
}

/** Whether a cluster of this name would have the role or the group that the agents of all clusters share. */
export function isSharedName(cluster: string): boolean {
  return sharedNames.has(cluster) || clusterGroupOf(cluster) === managedClustersGroup;
}
const sharedNames: ReadonlySet<string> = new Set(["registration", "work"]);

/** Whose user name this is, or undefined for whoever is no agent. The name has exactly two parts, as no prefix of one may stand for it. */
export function agentOf(username: string): AgentIdentity | undefined {
  if (!username.startsWith(agentPrefix)) return undefined;
  const [cluster = "", agent = "", more] = username.slice(agentPrefix.length).split(":");
  return cluster === "" || agent === "" || more !== undefined ? undefined : { cluster, agent };
}

/** The lease duration that counts, in milliseconds; 0 and less mean the default. */
export function leaseMs(cluster: ManagedCluster): number {
  const seconds = cluster.spec?.leaseDurationSeconds ?? 0;
  return (seconds > 0 ? seconds : defaultLeaseSeconds) * 1000;
}

/** Whether an administrator of the hub lets the cluster in. */
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

/** What is left to the agent of a cluster that was denied: to see that it was. */
export function deniedAgentRules(cluster: string): readonly PolicyRule[] {
  return [{ ...rule(["get", "list", "watch"], clusterGroup, ["managedclusters"]), resourceNames: [cluster] }];
}

/**
 * The roles that agents have in the namespace of their cluster, the same for all clusters. Of the leases there, an agent renews
 * none but its heartbeat: a namespace may have been there before the cluster.
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
