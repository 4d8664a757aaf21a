import { findCondition } from "../../apimachinery/conditions.ts";
import { type Conditioned, changedConditions, patchConditions, versionOf } from "../object-status.ts";
import type { ControllerOptions } from "../shared-informers.ts";
import type { Change } from "../../client/object-store.ts";
import type { ApiObject, Condition, ObjectKey } from "../../apimachinery/object.ts";
import {
  type ManagedCluster,
  clusterCondition,
  managedClusterAddOns,
  managedClusters,
} from "../../apis/managed-cluster.ts";
import { type Controller, type Outcome, done, retryOn } from "../controller.ts";
import { qualifiedNameProblems } from "../../apimachinery/names.ts";
import { conditionOf } from "./managed-cluster-policy.ts";

const serviceAccount = "managed-cluster-controller";

/** Sets the add-ons of an unknown cluster to Unknown, and labels each cluster with the state of its add-ons. Source: ocm pkg/registration/hub/addon. */
export function clusterAddOns(options: ControllerOptions): Controller {
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
      await patchConditions({ client, resource: managedClusterAddOns }, addOn, conditions);
    }
    const labels = featureLabels(cluster, addOns);
    if (labels !== undefined)
      await client.patch(managedClusters, { name }, { metadata: { ...versionOf(cluster), labels } });
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

type ManagedClusterAddOn = ApiObject & Conditioned;

const featurePrefix = "feature.open-cluster-management.io/addon-";

/** The conditions of an add-on of an unknown cluster, or undefined where nothing changes. */
function addOnConditions(
  addOn: ManagedClusterAddOn,
  cluster: ManagedCluster,
  now: number,
): readonly Condition[] | undefined {
  const available = conditionOf(cluster, clusterCondition.available);
  if (available?.status !== "Unknown") return undefined;
  const { reason = "Unknown", message = "" } = available;
  return changedConditions(addOn, { type: "Available", status: "Unknown", reason, message }, now);
}

/** The patch of the labels of a cluster for the state of its add-ons; null removes a label. Undefined where nothing changes. */
function featureLabels(
  cluster: ManagedCluster,
  addOns: readonly ManagedClusterAddOn[],
): Readonly<Record<string, string | null>> | undefined {
  const wanted = new Map(
    addOns
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map((addOn) => [featurePrefix + (addOn.metadata.name ?? ""), healthOf(addOn)] as const)
      // A label is shorter than the longest name.
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
  const available = findCondition(status?.conditions, "Available");
  if (available?.status === "True") return "available";
  return available?.status === "False" ? "unhealthy" : "unreachable";
}
