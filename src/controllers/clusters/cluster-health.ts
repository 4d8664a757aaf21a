import { keyOf } from "../../client/paths.ts";
import { patchConditions, versionOf } from "../object-status.ts";
import type { ControllerOptions } from "../shared-informers.ts";
import { type Clock, rfc3339 } from "../../apimachinery/clock.ts";
import type { ApiObject, Condition, ObjectKey } from "../../apimachinery/object.ts";
import type { Lease } from "../../apis/lease.ts";
import {
  type ClusterTaint,
  type ManagedCluster,
  clusterCondition,
  leaseMs,
  managedClusters,
  skipClockAnnotation,
} from "../../apis/managed-cluster.ts";
import { type Controller, type Outcome, type Report, done, referenceTo, retryOn } from "../controller.ts";
import { heartbeats, leaseKey } from "./managed-cluster-grant.ts";
import { conditionOf } from "./managed-cluster-policy.ts";
import { setCondition } from "../../apimachinery/conditions.ts";

const serviceAccount = "managed-cluster-controller";

/**
 * Sets the condition of clusters whose agent stopped updating its lease to Unknown, compares clocks, and maintains the taint for schedulers.
 * Source: ocm pkg/registration/hub/{lease,taint}.
 */
export function clusterHealth(options: ControllerOptions): Controller {
  const { clock } = options;
  const { client, reader } = options.informers.as(serviceAccount);
  const clusters = reader({ resource: managedClusters });
  const leaseReader = reader(heartbeats);
  const memory = heartbeatMemory(clock, (name) => leaseReader.get(leaseKey(name)));

  async function reconcile({ name }: ObjectKey): Promise<Outcome> {
    const cluster = clusters.get({ name });
    if (cluster === undefined) {
      memory.forget(name);
      return done;
    }
    return retryOn(look(cluster, memory.of(name)), "Conflict", "NotFound");
  }

  async function look(cluster: ManagedCluster, heartbeat: Heartbeat): Promise<Outcome> {
    const now = clock.now();
    const conditions =
      conditionOf(cluster, clusterCondition.accepted) === undefined
        ? undefined
        : healthConditions(cluster, heartbeat, now);
    if (conditions !== undefined) {
      const silent =
        isStale(cluster, heartbeat, now) && conditionOf(cluster, clusterCondition.available)?.status !== "Unknown";
      // The write wakes the cluster again; taints follow the stored conditions.
      await patchConditions({ client, resource: managedClusters }, cluster, conditions);
      return silent ? { kind: "done", reports: [silence(cluster)] } : done;
    }
    const taints = cluster.metadata.deletionTimestamp === undefined ? healthTaints(cluster) : undefined;
    if (taints !== undefined) {
      const patch = { metadata: versionOf(cluster), spec: { taints } };
      await client.patch(managedClusters, keyOf(cluster), patch);
      return done;
    }
    if (heartbeat.renewed === undefined || isStale(cluster, heartbeat, now)) return done;
    return { kind: "requeue", afterMs: staleInMs(cluster, heartbeat, now), why: "its next heartbeat is due" };
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

/** When heartbeats were first seen. At a start all count as seen then, so that a hub that was down reports no cluster as unknown. */
function heartbeatMemory(clock: Clock, leaseOf: (cluster: string) => Lease | undefined): HeartbeatMemory {
  const knownHeartbeats = new Map<string, Heartbeat & { readonly uid: string }>();
  function of(name: string): Heartbeat {
    const lease = leaseOf(name);
    const renewed = renewTime(lease);
    const uid = lease?.metadata.uid ?? "";
    const seen = clock.now();
    if (renewed === undefined) {
      knownHeartbeats.delete(name);
      return { renewed, seen, isFresh: false };
    }
    const known = knownHeartbeats.get(name);
    if (known?.uid === uid && known.renewed === renewed) return known;
    const heartbeat = { uid, renewed, seen, isFresh: known?.uid === uid };
    knownHeartbeats.set(name, heartbeat);
    return heartbeat;
  }
  return { of, forget: (name) => void knownHeartbeats.delete(name) };
}

/** In the namespace of the cluster, where its users look. */
function silence(cluster: ManagedCluster): Report {
  const { name = "" } = cluster.metadata;
  return {
    reason: "AvailableUnknown",
    about: { ...referenceTo(managedClusters, cluster), namespace: name },
    message: `The managed cluster (${name}) is unknown: its agent stopped updating its lease.`,
  };
}

/** After how many lease durations without a heartbeat a cluster is Unknown, and how far its clock may be off. */
const patience = 5;

interface Heartbeat {
  /** The renew time that its agent wrote, by the clock of the spoke, in milliseconds; undefined where there is no lease. */
  readonly renewed: number | undefined;
  /** When the hub first saw it, by the clock of the hub, in milliseconds. */
  readonly seen: number;
  /** Whether the hub saw it arrive: an older heartbeat proves nothing about clocks, as it may have arrived at any time. */
  readonly isFresh: boolean;
}

/** The renew time of the lease, in milliseconds. */
function renewTime(lease: Lease | undefined): number | undefined {
  const at = Date.parse(lease?.spec?.renewTime ?? "");
  return Number.isNaN(at) ? undefined : at;
}

/** Whether the agent sent no heartbeat for too long. The time of arrival counts, as the clock of the agent may be wrong. */
function isStale(cluster: ManagedCluster, { renewed, seen }: Heartbeat, now: number): boolean {
  if (renewed === undefined) return cluster.metadata.deletionTimestamp !== undefined;
  return now - seen >= patience * leaseMs(cluster);
}

/** How long until the cluster would be stale, in milliseconds. */
function staleInMs(cluster: ManagedCluster, { seen }: Heartbeat, now: number): number {
  return Math.max(seen + patience * leaseMs(cluster) - now, 0);
}

/** The conditions of a cluster by its heartbeat; undefined where nothing changes. */
function healthConditions(
  cluster: ManagedCluster,
  heartbeat: Heartbeat,
  now: number,
): readonly Condition[] | undefined {
  const before = cluster.status?.conditions ?? [];
  const clock = clockCondition(cluster, heartbeat);
  // Only its agent sets it to available again.
  const found = [
    ...(clock === undefined ? [] : [clock]),
    ...(isStale(cluster, heartbeat, now) ? [stoppedCondition] : []),
  ];
  const after = found.reduce((conditions, one) => setCondition(conditions, one, rfc3339(now)), before);
  return after === before ? undefined : after;
}

const stoppedCondition: Condition = {
  type: clusterCondition.available,
  status: "Unknown",
  reason: "ManagedClusterLeaseUpdateStopped",
  message: "Registration agent stopped updating its lease.",
};

/** The clock difference at each heartbeat, which includes the delay of network and watch. */
function clockCondition(cluster: ManagedCluster, { renewed, seen, isFresh }: Heartbeat): Condition | undefined {
  if (renewed === undefined || !isFresh) return undefined;
  const isSkipped = cluster.metadata.annotations?.[skipClockAnnotation] === "true";
  const isSynced = isSkipped || Math.abs(seen - renewed) < patience * leaseMs(cluster);
  return isSynced ? syncedCondition : unsyncedCondition;
}

const syncedCondition: Condition = {
  type: clusterCondition.clock,
  status: "True",
  reason: "ManagedClusterClockSynced",
  message: "The clock of the managed cluster is synced with the hub.",
};

const unsyncedCondition: Condition = {
  type: clusterCondition.clock,
  status: "False",
  reason: "ManagedClusterClockOutOfSync",
  message:
    "The clock of hub and agent is out of sync. This may cause the Unknown status and affect agent functionalities.",
};

const unreachable = "cluster.open-cluster-management.io/unreachable";
const unavailable = "cluster.open-cluster-management.io/unavailable";

function wantedTaint(cluster: ManagedCluster): string | undefined {
  const { status } = conditionOf(cluster, clusterCondition.available) ?? {};
  if (status === "True") return undefined;
  return status === "False" ? unavailable : unreachable;
}

/** The taints of a cluster with exactly the one for its availability; undefined where nothing changes. */
function healthTaints(cluster: ManagedCluster): readonly ClusterTaint[] | undefined {
  const { taints = [] } = cluster.spec ?? {};
  const wanted = wantedTaint(cluster);
  const isOurs = ({ key, value = "", effect }: ClusterTaint): boolean =>
    (key === unreachable || key === unavailable) && value === "" && effect === "NoSelect";
  const own = taints.filter(isOurs);
  const isRight = wanted === undefined ? own.length === 0 : own.length === 1 && own[0]?.key === wanted;
  if (isRight) return undefined;
  const others = taints.filter((taint) => !isOurs(taint));
  return wanted === undefined ? others : [...others, { key: wanted, effect: "NoSelect" }];
}
