import { ignoreReasons } from "../../client/api-errors.ts";
import type { Client, ResourceRef } from "../../client/client.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import type { Condition } from "../../apimachinery/object.ts";
import { clusterCondition, managedClusterAddOns, type ManagedCluster } from "../../apis/managed-cluster.ts";
import { cleanupPriority, isForcedOff, nextToDelete, type Remainder } from "./managed-cluster-policy.ts";

const manifestWorks: ResourceRef = {
  group: "work.open-cluster-management.io",
  version: "v1",
  plural: "manifestworks",
  kind: "ManifestWork",
  scope: "Namespaced",
};

export interface Detaching {
  readonly client: Client;
  readonly clock: Clock;
  readonly cluster: ManagedCluster;
  readonly writeCondition: (condition: Condition) => Promise<void>;
}

/**
 * Deletes what the spoke has to let go of, add-ons before works, the lowest priority first, and says what is still there, or
 * undefined once nothing is. When time is up or an administrator says so, it goes without the spoke, which may be gone for good.
 */
export async function detachCluster({
  client,
  clock,
  cluster,
  writeCondition,
}: Detaching): Promise<string | undefined> {
  const { name = "" } = cluster.metadata;
  for (const resource of [managedClusterAddOns, manifestWorks]) {
    const remainders = await remaining(client, resource, name);
    if (remainders.length === 0) continue;
    if (isForcedOff(cluster, clock.now())) {
      for (const one of remainders) await release(client, resource, one);
      continue;
    }
    for (const one of nextToDelete(remainders)) await ignoreReasons(client.delete(resource, one), "NotFound");
    const message = `${remainders.length} ${resource.plural} are left, which the agent of the cluster has to let go of`;
    await writeCondition({ type: clusterCondition.deleting, status: "False", reason: "ResourceRemaining", message });
    return message;
  }
  return undefined;
}

async function remaining(client: Client, resource: ResourceRef, namespace: string): Promise<readonly Remainder[]> {
  // A hub without that kind holds none of it.
  const list = await ignoreReasons(client.list(resource, { namespace }), "NotFound");
  return (list?.items ?? []).map(({ metadata }) => ({
    namespace,
    name: metadata.name ?? "",
    priority: cleanupPriority(metadata.annotations),
    isDeleting: metadata.deletionTimestamp !== undefined,
  }));
}

async function release(client: Client, resource: ResourceRef, { namespace, name }: Remainder): Promise<void> {
  const key = { namespace, name };
  await ignoreReasons(client.delete(resource, key), "NotFound");
  await ignoreReasons(client.patch(resource, key, { metadata: { finalizers: null } }), "NotFound");
}
