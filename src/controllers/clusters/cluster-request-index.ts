import type { Change } from "../../client/object-store.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { labelledCluster } from "./cluster-request.ts";

/** The requests for certificates of agents, by the cluster that they are labelled with. */
export interface ClusterRequestIndex {
  /** For the `observe` of a watch on requests. */
  observe(change: Change): void;
  /** In the order in which they came. */
  of(cluster: string): readonly ApiObject[];
}

/** Knows nothing yet. */
export function clusterRequestIndex(): ClusterRequestIndex {
  const byCluster = new Map<string, Map<string, ApiObject>>();
  const clusterOf = new Map<string, string>();

  function forget(name: string): void {
    const cluster = clusterOf.get(name);
    if (cluster === undefined) return;
    clusterOf.delete(name);
    const requests = byCluster.get(cluster);
    requests?.delete(name);
    if (requests?.size === 0) byCluster.delete(cluster);
  }

  function observe({ type, object }: Change): void {
    const { name = "" } = object.metadata;
    const cluster = type === "DELETED" ? undefined : labelledCluster(object);
    // One that only changes keeps its place: the order is that in which they came.
    if (cluster === undefined || clusterOf.get(name) !== cluster) forget(name);
    if (cluster === undefined) return;
    clusterOf.set(name, cluster);
    const requests = byCluster.get(cluster) ?? new Map<string, ApiObject>();
    byCluster.set(cluster, requests.set(name, object));
  }

  return { observe, of: (cluster) => [...(byCluster.get(cluster)?.values() ?? [])] };
}
