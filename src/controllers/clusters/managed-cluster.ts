import { keyOf } from "../../client/paths.ts";
import type { Reader } from "../../client/object-store.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import {
  clusterNameLabel,
  managedClusterAddOns,
  managedClusters,
  type ManagedCluster,
} from "../../apis/managed-cluster.ts";
import { done, retryOn, type Controller, type Outcome } from "../controller.ts";
import { clusterRoleBindings, clusterRoles, namespaces, roleBindings } from "../kinds.ts";
import { heartbeats } from "./managed-cluster-grant.ts";
import { clusterStep, type ClusterStep } from "./managed-cluster-policy.ts";
import { clusterUpkeep } from "./managed-cluster-upkeep.ts";
import type { SharedInformers } from "../shared-informers.ts";

const serviceAccount = "managed-cluster-controller";

export interface ManagedClusterOptions {
  readonly informers: SharedInformers;
  readonly clock: Clock;
  /** Whether what was issued to agents is taken back; elsewhere certificates live until they end by themselves. */
  readonly revokes: boolean;
}

/**
 * Lets accepted clusters in: makes the namespace, the rights and the heartbeat of each. What is denied loses its rights at once, what
 * is deleted goes with all that belongs to it. Source: ocm pkg/registration/hub/managedcluster.
 */
export function managedCluster(options: ManagedClusterOptions): Controller {
  const { client, reader } = options.informers.as(serviceAccount);
  const clusters = reader({ resource: managedClusters });
  const grants = new Map(
    [clusterRoles, clusterRoleBindings, roleBindings].map((one) => [one, reader({ resource: one })]),
  );
  const upkeep = clusterUpkeep({
    client,
    clock: options.clock,
    clusters,
    homes: reader({ resource: namespaces }),
    beats: reader(heartbeats),
    there: ({ resource, object }) => grants.get(resource)?.get(keyOf(object)),
    revokes: options.revokes,
  });

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const cluster = clusters.get(key);
    if (cluster === undefined) return upkeep.removed(key.name);
    return retryOn(take(clusterStep(cluster), cluster), "Conflict", "NotFound");
  }

  async function take({ kind }: ClusterStep, cluster: ManagedCluster): Promise<Outcome> {
    switch (kind) {
      case "wait":
        return done;
      case "admit":
        return upkeep.admit(cluster);
      case "deny":
        return upkeep.deny(cluster);
      case "leave":
        await client.delete(managedClusters, keyOf(cluster), { preconditions: { uid: cluster.metadata.uid ?? "" } });
        return done;
      case "detach":
        return upkeep.detach(cluster);
    }
  }

  const ofCluster = ({ metadata }: ApiObject): readonly ObjectKey[] => {
    const name = metadata.labels?.[clusterNameLabel];
    if (name === undefined) return [];
    // A role that all share is made again with any of them.
    return name === "" ? clusters.list().slice(0, 1).map(keyOf) : [{ name }];
  };
  return {
    name: "managed-cluster",
    serviceAccount,
    watches: [
      { resource: managedClusters },
      { resource: namespaces, keys: ofCluster },
      { ...heartbeats, keys: () => [] },
      { resource: managedClusterAddOns, keys: ({ metadata }) => deleting(clusters, metadata.namespace ?? "") },
      ...[...grants.keys()].map((resource) => ({ resource, keys: ofCluster })),
    ],
    concurrency: 32,
    reconcile,
  };
}

/** An add-on that goes may be what a cluster waits for. */
function deleting(clusters: Reader, name: string): readonly ObjectKey[] {
  return clusters.get({ name })?.metadata.deletionTimestamp === undefined ? [] : [{ name }];
}
