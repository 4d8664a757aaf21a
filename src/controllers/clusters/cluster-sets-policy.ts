import { setCondition } from "../../apimachinery/conditions.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { jsonEqual } from "../../apimachinery/equal.ts";
import { labelSelectorFrom, matchesLabels, type LabelSelectorObject } from "../../apimachinery/label-selector.ts";
import type { ApiObject, Condition } from "../../apimachinery/object.ts";
import { SelectorError } from "../../apimachinery/selector-error.ts";
import { clusterGroup, clusterSetLabel, managedClusterSets } from "../../apis/managed-cluster.ts";

/** A set of clusters. */
export interface ManagedClusterSet extends ApiObject {
  readonly spec?: {
    readonly clusterSelector?: {
      readonly selectorType?: string;
      readonly labelSelector?: LabelSelectorObject;
    };
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

const autoupdate = "cluster.open-cluster-management.io/autoupdate";

const keptSpecs: Readonly<Record<string, NonNullable<ManagedClusterSet["spec"]>>> = {
  default: { clusterSelector: { selectorType: "ExclusiveClusterSetLabel" } },
  global: { clusterSelector: { selectorType: "LabelSelector", labelSelector: {} } },
};

/** The sets that the hub keeps. */
export const keptSets: readonly string[] = Object.keys(keptSpecs);

/** A kept set as it has to be, or undefined where it is so, is none of the hub's, or is left to an administrator. */
export function keptSet(name: string, there: ManagedClusterSet | undefined): ManagedClusterSet | undefined {
  const spec = Object.hasOwn(keptSpecs, name) ? keptSpecs[name] : undefined;
  if (spec === undefined) return undefined;
  const apiVersion = `${clusterGroup}/${managedClusterSets.version}`;
  if (there === undefined) return { apiVersion, kind: managedClusterSets.kind, metadata: { name }, spec };
  if (there.metadata.annotations?.[autoupdate] === "false" || there.metadata.deletionTimestamp !== undefined)
    return undefined;
  const { clusterSelector } = there.spec ?? {};
  const isSame =
    clusterSelector?.selectorType === spec.clusterSelector?.selectorType &&
    jsonEqual(clusterSelector?.labelSelector ?? null, spec.clusterSelector?.labelSelector ?? null);
  return isSame ? undefined : { ...there, spec: { ...there.spec, ...spec } };
}

/** How many clusters belong to a set. A selector that cannot be read selects none. */
export function countIn(set: ManagedClusterSet, clusters: readonly ApiObject[]): number {
  const { selectorType, labelSelector } = set.spec?.clusterSelector ?? {};
  const { name = "" } = set.metadata;
  if (selectorType !== "LabelSelector") {
    return clusters.filter(({ metadata }) => metadata.labels?.[clusterSetLabel] === name).length;
  }
  try {
    const selector = labelSelectorFrom(labelSelector);
    return clusters.filter(({ metadata }) => matchesLabels(selector, metadata.labels)).length;
  } catch (error) {
    if (error instanceof SelectorError) return 0;
    throw error;
  }
}

/** The conditions of a set of so many clusters, or undefined where they say so already. */
export function setConditions(set: ManagedClusterSet, count: number, now: number): readonly Condition[] | undefined {
  const condition: Condition =
    count === 0
      ? { type: "ClusterSetEmpty", status: "True", reason: "NoClusterMatched", message: "No ManagedCluster selected" }
      : {
          type: "ClusterSetEmpty",
          status: "False",
          reason: "ClustersSelected",
          message: `${count} ManagedClusters selected`,
        };
  return changed(set, condition, now);
}

/** The conditions of a binding whose set is there or not, or undefined where they say so already. */
export function bindingConditions(
  binding: ManagedClusterSet,
  isThere: boolean,
  now: number,
): readonly Condition[] | undefined {
  const condition: Condition = isThere
    ? { type: "Bound", status: "True", reason: "ClusterSetBound", message: "" }
    : { type: "Bound", status: "False", reason: "ClusterSetNotFound", message: "The set does not exist" };
  return changed(binding, condition, now);
}

function changed({ status }: ManagedClusterSet, next: Condition, now: number): readonly Condition[] | undefined {
  const before = status?.conditions ?? [];
  const after = setCondition(before, next, rfc3339(now));
  return after === before ? undefined : after;
}
