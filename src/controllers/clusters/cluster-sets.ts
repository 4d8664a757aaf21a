import { keyOf } from "../../client/paths.ts";
import { rfc3339, type Clock } from "../../apimachinery/clock.ts";
import type { ObjectKey, ApiObject, Condition } from "../../apimachinery/object.ts";
import {
  clusterGroup,
  clusterSetLabel,
  managedClusters,
  managedClusterSetBindings,
  managedClusterSets,
} from "../../apis/managed-cluster.ts";
import { done, retryOn, type Controller, type Outcome } from "../controller.ts";
import { namespaces } from "../kinds.ts";
import type { SharedInformers } from "../shared-informers.ts";
import { setCondition } from "../../apimachinery/conditions.ts";
import { jsonEqual } from "../../apimachinery/equal.ts";
import { labelSelectorFrom, matchesLabels, type LabelSelectorObject } from "../../apimachinery/label-selector.ts";
import { SelectorError } from "../../apimachinery/selector-error.ts";

const serviceAccount = "managed-cluster-controller";

export interface ClusterSetsOptions {
  readonly informers: SharedInformers;
  readonly clock: Clock;
}

/** How long changes of clusters are gathered before sets are counted anew, in milliseconds. */
const gatherMs = 1000;

/**
 * Keeps the sets `default` and `global`, says of each set whether it has clusters, and of each binding whether its set exists. The
 * key of a binding has a namespace. Source: ocm pkg/registration/hub/{managedclusterset,managedclustersetbinding}.
 */
export function clusterSets(options: ClusterSetsOptions): Controller {
  const { clock } = options;
  const { client, reader } = options.informers.as(serviceAccount);
  const sets = reader({ resource: managedClusterSets });
  const bindings = reader({ resource: managedClusterSetBindings });
  const clusters = reader({ resource: managedClusters });
  const counted = new Map<string, number>();

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const pass = key.namespace === undefined || key.namespace === "" ? keep(key) : bind(key);
    return retryOn(pass, "Conflict", "NotFound", "AlreadyExists");
  }

  async function keep(key: ObjectKey): Promise<Outcome> {
    const set = sets.get(key);
    const wanted = keptSet(key.name, set);
    if (wanted !== undefined) {
      await (set === undefined ? client.create(managedClusterSets, wanted) : client.update(managedClusterSets, wanted));
      return done;
    }
    if (set === undefined) {
      counted.delete(key.name);
      return done;
    }
    // A thousand clusters that join at once are not counted a thousand times.
    const since = clock.now() - (counted.get(key.name) ?? Number.NEGATIVE_INFINITY);
    if (since < gatherMs) return { kind: "requeue", afterMs: gatherMs - since, why: "more clusters may change" };
    counted.set(key.name, clock.now());
    const conditions = setConditions(set, countIn(set, clusters.list()), clock.now());
    if (conditions !== undefined) {
      await client.patch(
        managedClusterSets,
        key,
        { metadata: seen(set), status: { conditions } },
        { subresource: "status" },
      );
    }
    return done;
  }

  async function bind(key: ObjectKey): Promise<Outcome> {
    const binding = bindings.get(key);
    if (binding === undefined) return done;
    const conditions = bindingConditions(binding, sets.get({ name: key.name }) !== undefined, clock.now());
    if (conditions !== undefined) {
      const patch = { metadata: seen(binding), status: { conditions } };
      await client.patch(managedClusterSetBindings, key, patch, { subresource: "status" });
    }
    return done;
  }

  // A cluster that moves concerns the set that it was in as well, and there are few sets.
  const allSets = (): readonly ObjectKey[] => [...keptSets.map((name) => ({ name })), ...sets.list().map(keyOf)];
  return {
    name: "managed-cluster-sets",
    serviceAccount,
    watches: [
      {
        resource: managedClusterSets,
        keys: (set) => [
          keyOf(set),
          ...bindings
            .list()
            .filter(({ metadata }) => metadata.name === set.metadata.name)
            .map(keyOf),
        ],
      },
      { resource: managedClusterSetBindings },
      { resource: managedClusters, keys: allSets },
      // Which is always there: without a single cluster or set, something has to begin.
      { resource: namespaces, fieldSelector: "metadata.name=default", keys: allSets },
    ],
    concurrency: 4,
    reconcile,
  };
}

function seen({ metadata }: ManagedClusterSet): { readonly uid: string; readonly resourceVersion: string } {
  return { uid: metadata.uid ?? "", resourceVersion: metadata.resourceVersion ?? "" };
}

/** A set of clusters. */
interface ManagedClusterSet extends ApiObject {
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
const keptSets: readonly string[] = Object.keys(keptSpecs);

/** A kept set as it has to be, or undefined where it is so, is none of the hub's, or is left to an administrator. */
function keptSet(name: string, there: ManagedClusterSet | undefined): ManagedClusterSet | undefined {
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
function countIn(set: ManagedClusterSet, clusters: readonly ApiObject[]): number {
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
function setConditions(set: ManagedClusterSet, count: number, now: number): readonly Condition[] | undefined {
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
function bindingConditions(
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
