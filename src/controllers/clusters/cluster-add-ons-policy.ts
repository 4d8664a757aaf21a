import { setCondition } from "../../apimachinery/conditions.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { qualifiedNameProblems } from "../../apimachinery/names.ts";
import type { ApiObject, Condition } from "../../apimachinery/object.ts";
import { clusterCondition, type ManagedCluster } from "../../apis/managed-cluster.ts";
import { conditionOf } from "./managed-cluster-policy.ts";

/** An add-on of a cluster. */
export interface ManagedClusterAddOn extends ApiObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

const featurePrefix = "feature.open-cluster-management.io/addon-";

/** The conditions of an add-on of a cluster of which nothing is known, or undefined where they are right. */
export function addOnConditions(
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
export function featureLabels(
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
