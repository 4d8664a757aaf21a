import { setCondition } from "../../apimachinery/conditions.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import type { Condition } from "../../apimachinery/object.ts";
import type { Lease } from "../../apis/lease.ts";
import {
  clusterCondition,
  leaseMs,
  skipClockAnnotation,
  type ClusterTaint,
  type ManagedCluster,
} from "../../apis/managed-cluster.ts";
import { conditionOf } from "./managed-cluster-policy.ts";

/** After how many lease durations without a heartbeat a cluster counts as unknown, and how far its clock may be off. */
const patience = 5;

export interface Heartbeat {
  /** What its agent wrote, on the clock of the spoke, in milliseconds; undefined where there is no lease. */
  readonly renewed: number | undefined;
  /** When that was first seen here, on the clock of the hub, in milliseconds. */
  readonly seen: number;
  /** Whether it came while somebody watched: an older one says nothing about clocks, as it may have come at any time before. */
  readonly isFresh: boolean;
}

/** When the agent says that it renewed the lease, in milliseconds. */
export function renewTime(lease: Lease | undefined): number | undefined {
  const at = Date.parse(lease?.spec?.renewTime ?? "");
  return Number.isNaN(at) ? undefined : at;
}

/** Whether nothing was heard of the agent for too long. What counts is when it was heard, as its own clock may be wrong. */
export function isStale(cluster: ManagedCluster, { renewed, seen }: Heartbeat, now: number): boolean {
  if (renewed === undefined) return cluster.metadata.deletionTimestamp !== undefined;
  return now - seen >= patience * leaseMs(cluster);
}

/** How long until the cluster would be stale, in milliseconds. */
export function staleInMs(cluster: ManagedCluster, { seen }: Heartbeat, now: number): number {
  return Math.max(seen + patience * leaseMs(cluster) - now, 0);
}

/** What the hub says of a cluster by its heartbeat: the conditions, or undefined where they say so already. */
export function healthConditions(
  cluster: ManagedCluster,
  beat: Heartbeat,
  now: number,
): readonly Condition[] | undefined {
  const before = cluster.status?.conditions ?? [];
  let conditions = before;
  const addCondition = (condition: Condition): void => {
    conditions = setCondition(conditions, condition, rfc3339(now));
  };
  const clock = clockCondition(cluster, beat);
  if (clock !== undefined) addCondition(clock);
  // Only its agent says that it is available again.
  if (isStale(cluster, beat, now)) addCondition(stoppedCondition);
  return conditions === before ? undefined : conditions;
}

const stoppedCondition: Condition = {
  type: clusterCondition.available,
  status: "Unknown",
  reason: "ManagedClusterLeaseUpdateStopped",
  message: "Registration agent stopped updating its lease.",
};

/** Compared with each heartbeat, on its way through network and watch included. */
function clockCondition(cluster: ManagedCluster, { renewed, seen, isFresh }: Heartbeat): Condition | undefined {
  if (renewed === undefined || !isFresh) return undefined;
  const isSkipped = cluster.metadata.annotations?.[skipClockAnnotation] === "true";
  const isSynced = isSkipped || Math.abs(seen - renewed) < patience * leaseMs(cluster);
  return isSynced
    ? {
        type: clusterCondition.clock,
        status: "True",
        reason: "ManagedClusterClockSynced",
        message: "The clock of the managed cluster is synced with the hub.",
      }
    : {
        type: clusterCondition.clock,
        status: "False",
        reason: "ManagedClusterClockOutOfSync",
        message:
          "The clock of hub and agent is out of sync. This may cause the Unknown status and affect agent functionalities.",
      };
}

const unreachable = "cluster.open-cluster-management.io/unreachable";
const unavailable = "cluster.open-cluster-management.io/unavailable";

/** The taints of a cluster with exactly the one that its availability calls for, or undefined where they are right. */
export function healthTaints(cluster: ManagedCluster): readonly ClusterTaint[] | undefined {
  const { taints = [] } = cluster.spec ?? {};
  const { status } = conditionOf(cluster, clusterCondition.available) ?? {};
  const wanted = status === "True" ? undefined : status === "False" ? unavailable : unreachable;
  const isOurs = ({ key, value = "", effect }: ClusterTaint): boolean =>
    (key === unreachable || key === unavailable) && value === "" && effect === "NoSelect";
  const own = taints.filter(isOurs);
  const isRight = wanted === undefined ? own.length === 0 : own.length === 1 && own[0]?.key === wanted;
  if (isRight) return undefined;
  const others = taints.filter((taint) => !isOurs(taint));
  return wanted === undefined ? others : [...others, { key: wanted, effect: "NoSelect" }];
}
