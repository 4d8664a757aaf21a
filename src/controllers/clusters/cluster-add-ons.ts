import { keyOf } from "../../client/paths.ts";
import type { Change } from "../../client/object-store.ts";
import { rfc3339, type Clock } from "../../apimachinery/clock.ts";
import type { ApiObject, ObjectKey, Condition } from "../../apimachinery/object.ts";
import {
  clusterCondition,
  managedClusterAddOns,
  managedClusters,
  type ManagedCluster,
} from "../../apis/managed-cluster.ts";
import { done, retryOn, type Controller, type Outcome } from "../controller.ts";
import type { SharedInformers } from "../shared-informers.ts";
import { setCondition } from "../../apimachinery/conditions.ts";
import { qualifiedNameProblems } from "../../apimachinery/names.ts";
import { conditionOf } from "./managed-cluster-policy.ts";

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

/** An add-on of a cluster. */
interface ManagedClusterAddOn extends ApiObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

const featurePrefix = "feature.open-cluster-management.io/addon-";

/** The conditions of an add-on of a cluster of which nothing is known, or undefined where they are right. */
function addOnConditions(
  addOn: ManagedClusterAddOn,
  cluster: ManagedCluster,
  now: number,
): readonly Condition[] | undefined {
  const available = conditionOf(cluster, clusterCondition.available);
  if (available?.status !== "Unknown") return undefined;
  const { reason = "Unknown", message = "" } = available;
  const before = addOn.status?.conditions ?? [];
  const after = setCondition(before, { type: "Available", status: "Unknown", reason, message }, rfc3339(now));
  return after === before ? undefined : after;
}

/** What is to change in the labels of a cluster so that they tell how its add-ons are; null takes one away. Undefined where they do. */
function featureLabels(
  cluster: ManagedCluster,
  addOns: readonly ManagedClusterAddOn[],
): Readonly<Record<string, string | null>> | undefined {
  const wanted = new Map(
    addOns
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map((addOn) => [featurePrefix + (addOn.metadata.name ?? ""), healthOf(addOn)] as const)
      // A label is shorter than a name may be.
      .filter(([label]) => qualifiedNameProblems(label).length === 0),
  );
  const { labels = {} } = cluster.metadata;
  const stale = Object.keys(labels).filter((key) => key.startsWith(featurePrefix) && !wanted.has(key));
  const changes = [
    ...[...wanted].filter(([key, value]) => !Object.hasOwn(labels, key) || labels[key] !== value),
    ...stale.map((key) => [key, null] as const),
  ];
  return changes.length === 0 ? undefined : Object.fromEntries(changes);
}

function healthOf({ status }: ManagedClusterAddOn): string {
  const available = status?.conditions?.find(({ type }) => type === "Available");
  if (available?.status === "True") return "available";
  return available?.status === "False" ? "unhealthy" : "unreachable";
}
