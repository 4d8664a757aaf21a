import { keyOf } from "../../client/object-key.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import type { ObjectKey } from "../../apimachinery/object.ts";
import { managedClusters, managedClusterSetBindings, managedClusterSets } from "../../apis/managed-cluster.ts";
import {
  bindingConditions,
  countIn,
  keptSet,
  keptSets,
  setConditions,
  type ManagedClusterSet,
} from "./cluster-sets-policy.ts";
import { done, retryOn, type Controller, type Outcome } from "../controller.ts";
import { namespaces } from "../kinds.ts";
import type { SharedInformers } from "../shared-informers.ts";

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
