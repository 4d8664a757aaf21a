import { type ClusterApprovingOptions, clusterApproving } from "./cluster-approving.ts";
import { type ManagedClusterOptions, managedCluster } from "./managed-cluster.ts";
import { clusterAddOns } from "./cluster-add-ons.ts";
import { clusterHealth } from "./cluster-health.ts";
import { clusterRequests } from "./cluster-requests.ts";
import { clusterSets } from "./cluster-sets.ts";
import type { Controller } from "../controller.ts";

/** The options of the controllers of managed clusters. */
export type RegistrationOptions = ManagedClusterOptions & ClusterApprovingOptions;

/** The controllers for clusters that join, stay in and leave a hub. */
export function registrationControllers(options: RegistrationOptions): readonly Controller[] {
  return [
    managedCluster(options),
    clusterApproving(options),
    clusterRequests(options),
    clusterHealth(options),
    clusterSets(options),
    clusterAddOns(options),
  ];
}
