import { addOnGroup, clusterGroup, clusterLeaseName, registerGroup } from "./managed-cluster.ts";
import type { PolicyRule } from "./rbac.ts";

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
