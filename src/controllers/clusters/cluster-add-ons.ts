import { keyOf } from "../../client/object-key.ts";
import type { Change } from "../../client/object-store.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import { managedClusterAddOns, managedClusters } from "../../apis/managed-cluster.ts";
import { addOnConditions, featureLabels } from "./cluster-add-ons-policy.ts";
import { done, retryOn, type Controller, type Outcome } from "../controller.ts";
import type { SharedInformers } from "../shared-informers.ts";

const serviceAccount = "managed-cluster-controller";

export interface ClusterAddOnsOptions {
  readonly informers: SharedInformers;
  readonly clock: Clock;
}

/**
 * Says of the add-ons of a cluster of which nothing is known that nothing is known of them either, and of each cluster by labels how
 * its add-ons are. Source: ocm pkg/registration/hub/addon.
 */
export function clusterAddOns(options: ClusterAddOnsOptions): Controller {
  const { clock } = options;
  const { client, reader } = options.informers.as(serviceAccount);
  const clusters = reader({ resource: managedClusters });
  const byCluster = new Map<string, Map<string, ApiObject>>();

  function observe({ type, object }: Change): void {
    const { namespace = "", name = "" } = object.metadata;
    const addOns = byCluster.get(namespace) ?? new Map<string, ApiObject>();
    if (type === "DELETED") addOns.delete(name);
    else addOns.set(name, object);
    if (addOns.size === 0) byCluster.delete(namespace);
    else byCluster.set(namespace, addOns);
  }

  async function reconcile({ name }: ObjectKey): Promise<Outcome> {
    const cluster = clusters.get({ name });
    if (cluster === undefined) return done;
    const addOns = [...(byCluster.get(name)?.values() ?? [])];
    for (const addOn of addOns) {
      const conditions = addOnConditions(addOn, cluster, clock.now());
      if (conditions === undefined) continue;
      const patch = { metadata: seen(addOn), status: { conditions } };
      await client.patch(managedClusterAddOns, keyOf(addOn), patch, { subresource: "status" });
    }
    const labels = featureLabels(cluster, addOns);
    if (labels !== undefined) await client.patch(managedClusters, { name }, { metadata: { ...seen(cluster), labels } });
    return done;
  }

  return {
    name: "managed-cluster-add-ons",
    serviceAccount,
    watches: [
      { resource: managedClusters },
      { resource: managedClusterAddOns, observe, keys: ({ metadata }) => [{ name: metadata.namespace ?? "" }] },
    ],
    concurrency: 16,
    reconcile: (key) => retryOn(reconcile(key), "Conflict", "NotFound"),
  };
}

function seen({ metadata }: ApiObject): { readonly uid: string; readonly resourceVersion: string } {
  return { uid: metadata.uid ?? "", resourceVersion: metadata.resourceVersion ?? "" };
}
