import { type Conditioned, changedConditions, patchConditions } from "../object-status.ts";
import type { ControllerOptions } from "../shared-informers.ts";
import { keyOf } from "../../client/paths.ts";
import type { ApiObject, Condition, ObjectKey } from "../../apimachinery/object.ts";
import {
  clusterGroup,
  clusterSetLabel,
  managedClusterSetBindings,
  managedClusterSets,
  managedClusters,
} from "../../apis/managed-cluster.ts";
import { type Controller, type Outcome, done, retryOn } from "../controller.ts";
import { namespaces } from "../kinds.ts";
import { jsonEqual } from "../../apimachinery/equal.ts";
import { type LabelSelectorObject, labelSelectorFrom, matchesLabels } from "../../apimachinery/label-selector.ts";
import { SelectorError } from "../../apimachinery/selector-error.ts";

const serviceAccount = "managed-cluster-controller";

/** How long changes of clusters are gathered before sets are counted anew, in milliseconds. */
const gatherMs = 1000;

/**
 * Keeps the sets `default` and `global`, says of each set whether it has clusters, and of each binding whether its set exists. The
 * key of a binding has a namespace. Source: ocm pkg/registration/hub/{managedclusterset,managedclustersetbinding}.
 */
export function clusterSets(options: ControllerOptions): Controller {
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
    const set: ManagedClusterSet | undefined = sets.get(key);
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
    const conditions = changedConditions(set, setCondition(countIn(set, clusters.list())), clock.now());
    await patchConditions({ client, resource: managedClusterSets }, set, conditions);
    return done;
  }

  async function bind(key: ObjectKey): Promise<Outcome> {
    const binding: ManagedClusterSet | undefined = bindings.get(key);
    if (binding === undefined) return done;
    const condition = sets.get({ name: key.name }) === undefined ? setNotFound : setBound;
    const conditions = changedConditions(binding, condition, clock.now());
    await patchConditions({ client, resource: managedClusterSetBindings }, binding, conditions);
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

/** A set of clusters. */
interface ManagedClusterSet extends ApiObject, Conditioned {
  readonly spec?: {
    readonly clusterSelector?: {
      readonly selectorType?: string;
      readonly labelSelector?: LabelSelectorObject;
    };
  };
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
  const { annotations = {}, deletionTimestamp } = there.metadata;
  if (annotations[autoupdate] === "false" || deletionTimestamp !== undefined) return undefined;
  const isSame = jsonEqual(selectorOf(there.spec), selectorOf(spec));
  return isSame ? undefined : { ...there, spec: { ...there.spec, ...spec } };
}

function selectorOf({ clusterSelector = {} }: NonNullable<ManagedClusterSet["spec"]> = {}): readonly unknown[] {
  return [clusterSelector.selectorType, clusterSelector.labelSelector ?? null];
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

/** What is said of a set of so many clusters. */
function setCondition(count: number): Condition {
  const type = "ClusterSetEmpty";
  return count === 0
    ? { type, status: "True", reason: "NoClusterMatched", message: "No ManagedCluster selected" }
    : { type, status: "False", reason: "ClustersSelected", message: `${count} ManagedClusters selected` };
}

const setBound: Condition = { type: "Bound", status: "True", reason: "ClusterSetBound", message: "" };
const setNotFound: Condition = {
  type: "Bound",
  status: "False",
  reason: "ClusterSetNotFound",
  message: "The set does not exist",
};
