import { type ClusterApprovingOptions, clusterApproving } from "./cluster-approving.ts";
import { type ManagedClusterOptions, managedCluster } from "./managed-cluster.ts";
import { clusterAddOns } from "./cluster-add-ons.ts";
import { clusterHealth } from "./cluster-health.ts";
import { clusterRequests } from "./cluster-requests.ts";
import { clusterSets } from "./cluster-sets.ts";
import type { Controller } from "../controller.ts";

/** What the controllers of managed clusters need. */
export type RegistrationOptions = ManagedClusterOptions & ClusterApprovingOptions;

/** The controllers by which clusters join a hub, stay and leave. */
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
