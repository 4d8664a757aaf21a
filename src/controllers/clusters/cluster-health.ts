import type { Clock } from "../../apimachinery/clock.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import type { Lease } from "../../apis/lease.ts";
import { clusterCondition, managedClusters, type ManagedCluster } from "../../apis/managed-cluster.ts";
import {
  healthConditions,
  healthTaints,
  isStale,
  renewTime,
  staleInMs,
  type Heartbeat,
} from "./cluster-health-policy.ts";
import { done, retryOn, type Controller, type Outcome } from "../controller.ts";
import { heartbeats, leaseKey } from "./managed-cluster-grant.ts";
import { conditionOf } from "./managed-cluster-policy.ts";
import type { SharedInformers } from "../shared-informers.ts";
import { referenceTo, type Report } from "../report.ts";

const serviceAccount = "managed-cluster-controller";

export interface ClusterHealthOptions {
  readonly informers: SharedInformers;
  readonly clock: Clock;
}

/**
 * Says of clusters that are silent that nothing is known of them, compares clocks, and keeps the taint that says so to schedulers.
 * Source: ocm pkg/registration/hub/{lease,taint}.
 */
export function clusterHealth(options: ClusterHealthOptions): Controller {
  const { clock } = options;
  const { client, reader } = options.informers.as(serviceAccount);
  const clusters = reader({ resource: managedClusters });
  const beats = reader(heartbeats);
  const memory = heartbeatMemory(clock, (name) => beats.get(leaseKey(name)));

  async function reconcile({ name }: ObjectKey): Promise<Outcome> {
    const cluster = clusters.get({ name });
    if (cluster === undefined) {
      memory.forget(name);
      return done;
    }
    return retryOn(look(cluster, memory.of(name)), "Conflict", "NotFound");
  }

  async function look(cluster: ManagedCluster, beat: Heartbeat): Promise<Outcome> {
    const now = clock.now();
    const { name = "", uid = "", resourceVersion = "" } = cluster.metadata;
    const seen = { uid, resourceVersion };
    const conditions =
      conditionOf(cluster, clusterCondition.accepted) === undefined ? undefined : healthConditions(cluster, beat, now);
    if (conditions !== undefined) {
      const silent =
        isStale(cluster, beat, now) && conditionOf(cluster, clusterCondition.available)?.status !== "Unknown";
      // What is written wakes the cluster again; its taints follow what is stored.
      await client.patch(
        managedClusters,
        { name },
        { metadata: seen, status: { conditions } },
        { subresource: "status" },
      );
      return silent ? { kind: "done", reports: [silence(cluster)] } : done;
    }
    const taints = cluster.metadata.deletionTimestamp === undefined ? healthTaints(cluster) : undefined;
    if (taints !== undefined) {
      await client.patch(managedClusters, { name }, { metadata: seen, spec: { taints } });
      return done;
    }
    if (beat.renewed === undefined || isStale(cluster, beat, now)) return done;
    return { kind: "requeue", afterMs: staleInMs(cluster, beat, now), why: "its next heartbeat is due" };
  }

  const ofLease = ({ metadata }: ApiObject): readonly ObjectKey[] => [{ name: metadata.namespace ?? "" }];
  return {
    name: "managed-cluster-health",
    serviceAccount,
    watches: [{ resource: managedClusters }, { ...heartbeats, keys: ofLease }],
    concurrency: 32,
    reconcile,
  };
}

interface HeartbeatMemory {
  readonly of: (cluster: string) => Heartbeat;
  readonly forget: (cluster: string) => void;
}

/** When heartbeats were first seen. At a start all count as seen then, so that a hub that was down blames nobody. */
function heartbeatMemory(clock: Clock, leaseOf: (cluster: string) => Lease | undefined): HeartbeatMemory {
  const lastBeats = new Map<string, Heartbeat & { readonly uid: string }>();
  function of(name: string): Heartbeat {
    const lease = leaseOf(name);
    const renewed = renewTime(lease);
    const uid = lease?.metadata.uid ?? "";
    const seen = clock.now();
    if (renewed === undefined) {
      lastBeats.delete(name);
      return { renewed, seen, isFresh: false };
    }
    const known = lastBeats.get(name);
    if (known?.uid === uid && known.renewed === renewed) return known;
    const beat = { uid, renewed, seen, isFresh: known?.uid === uid };
    lastBeats.set(name, beat);
    return beat;
  }
  return { of, forget: (name) => void lastBeats.delete(name) };
}

/** In the namespace of the cluster, where those look who work with it. */
function silence(cluster: ManagedCluster): Report {
  const { name = "" } = cluster.metadata;
  return {
    reason: "AvailableUnknown",
    about: { ...referenceTo(managedClusters, cluster), namespace: name },
    message: `The managed cluster (${name}) is unknown: its agent stopped updating its lease.`,
  };
}
