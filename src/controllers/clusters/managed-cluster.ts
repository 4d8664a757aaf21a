import { sameUid } from "../object-status.ts";
import type { ControllerOptions } from "../shared-informers.ts";
import { keyOf } from "../../client/paths.ts";
import type { Reader } from "../../client/object-store.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import {
  type ManagedCluster,
  clusterNameLabel,
  managedClusterAddOns,
  managedClusters,
} from "../../apis/managed-cluster.ts";
import { type Controller, type Outcome, done, retryOn } from "../controller.ts";
import { clusterRoleBindings, clusterRoles, namespaces, roleBindings } from "../kinds.ts";
import { heartbeats } from "./managed-cluster-grant.ts";
import { type ClusterStep, clusterStep } from "./managed-cluster-policy.ts";
import { type UpkeepParts, admit, deny, detach, removed } from "./managed-cluster-upkeep.ts";

const serviceAccount = "managed-cluster-controller";

export interface ManagedClusterOptions extends ControllerOptions {
  /** Whether certificates of agents are revoked; elsewhere they remain valid until they expire. */
  readonly revokes: boolean;
}

/**
 * Creates namespace, rights and lease of accepted clusters. A denied cluster loses its rights at once; a deleted cluster is removed with
 * everything that belongs to it. Source: ocm pkg/registration/hub/managedcluster.
 */
export function managedCluster(options: ManagedClusterOptions): Controller {
  const { client, reader } = options.informers.as(serviceAccount);
  const clusters = reader({ resource: managedClusters });
  const grants = new Map(
    [clusterRoles, clusterRoleBindings, roleBindings].map((one) => [one, reader({ resource: one })]),
  );
  const parts: UpkeepParts = {
    client,
    clock: options.clock,
    clusters,
    namespaces: reader({ resource: namespaces }),
    leases: reader(heartbeats),
    there: ({ resource, object }) => grants.get(resource)?.get(keyOf(object)),
    revokes: options.revokes,
  };

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const cluster = clusters.get(key);
    if (cluster === undefined) return removed(parts, key.name);
    return retryOn(take(clusterStep(cluster), cluster), "Conflict", "NotFound");
  }

  async function take({ kind }: ClusterStep, cluster: ManagedCluster): Promise<Outcome> {
    switch (kind) {
      case "wait":
        return done;
      case "admit":
        return admit(parts, cluster);
      case "deny":
        return deny(parts, cluster);
      case "leave":
        await client.delete(managedClusters, keyOf(cluster), sameUid(cluster));
        return done;
      case "detach":
        return detach(parts, cluster);
    }
  }

  const ofCluster = ({ metadata }: ApiObject): readonly ObjectKey[] => {
    const name = metadata.labels?.[clusterNameLabel];
    if (name === undefined) return [];
    // Each cluster restores a missing shared role.
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

/** A cluster may wait for the deletion of an add-on. */
function deleting(clusters: Reader, name: string): readonly ObjectKey[] {
  return clusters.get({ name })?.metadata.deletionTimestamp === undefined ? [] : [{ name }];
}
