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

/** How long changes of clusters are gathered before sets are counted again, in milliseconds. */
const gatherMs = 1000;

/**
 * Maintains the sets `default` and `global`, a condition on each set whether it has clusters, and one on each binding whether its set
 * exists. The key of a binding has a namespace. Source: ocm pkg/registration/hub/{managedclusterset,managedclustersetbinding}.
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
    // A thousand clusters that join at once must not be counted a thousand times.
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

  // A cluster that moves also affects its previous set, and there are few sets.
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
      // This namespace always exists: it wakes the controller where no cluster or set does.
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

/** The sets that the hub maintains. */
const keptSets: readonly string[] = Object.keys(keptSpecs);

/** The required object of a maintained set; undefined where it is correct, belongs to another owner, or is left to an administrator. */
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

/** How many clusters belong to a set. An invalid selector selects none. */
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

/** The condition of a set with this many clusters. */
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
