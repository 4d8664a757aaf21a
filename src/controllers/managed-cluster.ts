import type { Client } from "../client/client.ts";
import { keyOf } from "../client/object-key.ts";
import type { Clock } from "../core/clock.ts";
import type { ApiObject, Condition, ObjectKey } from "../core/object.ts";
import { StatusError } from "../core/status.ts";
import {
  clusterFinalizer,
  clusterNameLabel,
  managedClusterAddOns,
  managedClusters,
  type ManagedCluster,
} from "../resources/managed-cluster.ts";
import { hasReason } from "./api-errors.ts";
import { done, type Controller, type Outcome } from "./controller.ts";
import { clusterRoleBindings, clusterRoles, leases, namespaces, roleBindings } from "./kinds.ts";
import { detachCluster } from "./managed-cluster-detach.ts";
import {
  clusterLease,
  clusterNamespace,
  clusterRbac,
  grantState,
  heartbeats,
  leaseKey,
  namespaceBindings,
  sharedRoles,
  type ClusterObject,
} from "./managed-cluster-grant.ts";
import {
  acceptedCondition,
  clusterStep,
  conditionOf,
  deniedCondition,
  failedCondition,
  withClusterCondition,
} from "./managed-cluster-policy.ts";
import type { Reader } from "../client/object-store.ts";
import type { SharedInformers } from "./shared-informers.ts";

const serviceAccount = "managed-cluster-controller";

export interface ManagedClusterOptions {
  readonly informers: SharedInformers;
  readonly clock: Clock;
  /** Ends what was issued to the agents of a cluster so far; absent where certificates live until they end by themselves. */
  readonly revoke?: (cluster: ManagedCluster) => Promise<void>;
}

/**
 * Lets accepted clusters in: makes the namespace, the rights and the heartbeat of each. What is denied loses its rights at once, what
 * is deleted goes with all that belongs to it. Source: ocm pkg/registration/hub/managedcluster.
 */
export function managedCluster(options: ManagedClusterOptions): Controller {
  const { clock, revoke } = options;
  const { client, reader } = options.informers.as(serviceAccount);
  const clusters = reader({ resource: managedClusters });
  const homes = reader({ resource: namespaces });
  const beats = reader(heartbeats);
  const grants = new Map(
    [clusterRoles, clusterRoleBindings, roleBindings].map((one) => [one, reader({ resource: one })]),
  );
  const there = ({ resource, object }: ClusterObject): ApiObject | undefined =>
    grants.get(resource)?.get(keyOf(object));

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const cluster = clusters.get(key);
    if (cluster === undefined) return removed(key.name);
    const step = clusterStep(cluster);
    try {
      switch (step.kind) {
        case "wait":
          return done;
        case "admit":
          return await admit(cluster);
        case "deny":
          return await deny(cluster);
        case "leave":
          await client.delete(managedClusters, key, uidOf(cluster));
          return done;
        case "detach":
          return await detach(cluster);
      }
    } catch (error) {
      // Somebody else wrote first; what they wrote wakes this cluster again.
      if (hasReason(error, "Conflict", "NotFound")) return { kind: "retry", why: error.message };
      throw error;
    }
  }

  async function admit(cluster: ManagedCluster): Promise<Outcome> {
    const { name = "", finalizers = [] } = cluster.metadata;
    // First, so that nothing is ever made for a cluster that would not be taken down with it; the write wakes it again.
    if (!finalizers.includes(clusterFinalizer)) {
      await client.patch(
        managedClusters,
        { name },
        { metadata: { ...seen(cluster), finalizers: [...finalizers, clusterFinalizer] } },
      );
      return done;
    }
    try {
      if (!(await hasHome(client, homes, cluster))) return { kind: "retry", why: "its namespace is being deleted" };
      for (const one of clusterRbac(cluster)) await grant(client, one, there(one));
      if (beats.get(leaseKey(name)) === undefined)
        await createdOrThere(client.create(leases, clusterLease(cluster, clock.now())));
    } catch (error) {
      if (error instanceof StatusError && error.reason !== "Conflict")
        await say(cluster, failedCondition(error.message));
      throw error;
    }
    await say(cluster, acceptedCondition);
    return done;
  }

  async function deny(cluster: ManagedCluster): Promise<Outcome> {
    const { name = "" } = cluster.metadata;
    // What gives most goes first.
    for (const one of namespaceBindings(name)) await revoked(client, one, there(one));
    for (const one of clusterRbac(cluster)) await grant(client, one, there(one));
    if (conditionOf(cluster, deniedCondition.type)?.status !== "False") await revoke?.(cluster);
    await say(cluster, deniedCondition);
    return done;
  }

  async function detach(cluster: ManagedCluster): Promise<Outcome> {
    const left = await detachCluster({ client, clock, cluster, say: (condition) => say(cluster, condition) });
    if (left !== undefined) return { kind: "requeue", afterMs: 5000, why: left };
    const { name = "", finalizers = [] } = cluster.metadata;
    await revoke?.(cluster);
    await removeRights(name);
    await missingIsFine(client.delete(leases, leaseKey(name)));
    await removeHome(client, homes, cluster);
    const rest = finalizers.filter((one) => one !== clusterFinalizer);
    await client.patch(managedClusters, { name }, { metadata: { ...seen(cluster), finalizers: rest } });
    return done;
  }

  /** What is left of a cluster whose object went without us. */
  async function removed(name: string): Promise<Outcome> {
    if (name === "") return done;
    await removeRights(name);
    if (clusters.list().length > 0) return done;
    for (const one of sharedRoles()) await revoked(client, one, there(one));
    return done;
  }

  async function removeRights(name: string): Promise<void> {
    const gone = { apiVersion: "", kind: "", metadata: { name } };
    const own = clusterRbac(gone);
    for (const one of [...namespaceBindings(name), ...own.toReversed()]) await revoked(client, one, there(one));
  }

  async function say(cluster: ManagedCluster, condition: Condition): Promise<void> {
    const conditions = withClusterCondition(cluster, condition, clock.now());
    if (conditions === undefined) return;
    const { name = "" } = cluster.metadata;
    const patch = { metadata: seen(cluster), status: { conditions } };
    await client.patch(managedClusters, { name }, patch, { subresource: "status" });
  }

  const ofCluster = ({ metadata }: ApiObject): readonly ObjectKey[] => {
    const name = metadata.labels?.[clusterNameLabel];
    if (name === undefined) return [];
    // A role that all share is made again with any of them.
    return name === "" ? clusters.list().slice(0, 1).map(keyOf) : [{ name }];
  };
  return {
    name: "managed-cluster",
    serviceAccount,
    watches: [
      { resource: managedClusters },
      { resource: namespaces, keys: ofCluster },
      { ...heartbeats, keys: () => [] },
      { resource: managedClusterAddOns, keys: ({ metadata }) => deleting(clusters, metadata.namespace ?? "") },
      ...[...grants.keys()].map((resource) => ({ resource, keys: ofCluster })),
    ],
    concurrency: 32,
    reconcile,
  };
}

/** An add-on that goes may be what a cluster waits for. */
function deleting(clusters: Reader, name: string): readonly ObjectKey[] {
  return clusters.get({ name })?.metadata.deletionTimestamp === undefined ? [] : [{ name }];
}

/** The object as it was looked at, so that a write to another one is refused. */
function seen({ metadata }: ApiObject): Pick<ApiObject["metadata"], "uid" | "resourceVersion"> {
  const { uid, resourceVersion } = metadata;
  return { ...(uid === undefined ? {} : { uid }), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
}

function uidOf({ metadata }: ApiObject): { readonly preconditions: { readonly uid: string } } {
  return { preconditions: { uid: metadata.uid ?? "" } };
}

/** Makes the namespace, or marks one that was there before as the cluster's; false while it is on its way out. */
async function hasHome(client: Client, homes: Reader, cluster: ManagedCluster): Promise<boolean> {
  const { name = "" } = cluster.metadata;
  const home = homes.get({ name });
  if (home === undefined) {
    await createdOrThere(client.create(namespaces, clusterNamespace(cluster)));
    return true;
  }
  if (home.metadata.deletionTimestamp !== undefined) return false;
  if (home.metadata.labels?.[clusterNameLabel] === name) return true;
  await client.patch(namespaces, { name }, { metadata: { labels: { [clusterNameLabel]: name } } });
  return true;
}

/** Removes the namespace that was made for this very cluster; one that was there before stays. */
async function removeHome(client: Client, homes: Reader, cluster: ManagedCluster): Promise<void> {
  const { name = "" } = cluster.metadata;
  const home = homes.get({ name });
  const made = clusterNamespace(cluster).metadata.annotations ?? {};
  const isOurs = Object.entries(made).every(([key, uid]) => uid !== "" && home?.metadata.annotations?.[key] === uid);
  if (home === undefined || !isOurs) return;
  await missingIsFine(client.delete(namespaces, { name }, uidOf(home)));
}

async function grant(client: Client, { resource, object }: ClusterObject, there: ApiObject | undefined): Promise<void> {
  const state = grantState(there, object);
  if (state === "same") return;
  if (state === "replaced") await client.delete(resource, keyOf(object));
  if (state === "changed" && there !== undefined) {
    const metadata = { ...there.metadata, labels: { ...there.metadata.labels, ...object.metadata.labels } };
    await client.update(resource, { ...object, metadata });
  } else await createdOrThere(client.create(resource, object));
}

async function revoked(
  client: Client,
  { resource, object }: ClusterObject,
  there: ApiObject | undefined,
): Promise<void> {
  if (there !== undefined) await missingIsFine(client.delete(resource, keyOf(object)));
}

/** One that was there already is looked at again once the informer tells of it. */
async function createdOrThere(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!hasReason(error, "AlreadyExists")) throw error;
  }
}

async function missingIsFine(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!hasReason(error, "NotFound")) throw error;
  }
}
