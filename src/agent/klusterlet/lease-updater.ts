import { randomFraction } from "../../host/system-random.ts";
import { jitteredBackoffMs } from "../../client/backoff.ts";
import type { ResourceRef } from "../../client/client.ts";
import { isConditionTrue } from "../../apimachinery/conditions.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { type ManagedCluster, clusterCondition, clusterLeaseName, leaseMs } from "../../apis/managed-cluster.ts";
import { describeError } from "../../credentials/request/connection-failure.ts";
import { type Serving, recovered, reportFailure } from "./serving-cluster.ts";

const leases: ResourceRef = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  scope: "Namespaced",
};
const idleMs = 60_000;
const minMs = 1000;
const spread = 0.25;

interface Lease extends ApiObject {
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** Whether the hub accepts the cluster, from its ManagedCluster. */
export function isAcceptedByHub(cluster: ManagedCluster | undefined): cluster is ManagedCluster {
  return cluster !== undefined && isConditionTrue(cluster.status?.conditions, clusterCondition.accepted);
}

/**
 * Renews the heartbeat of an accepted cluster: each lease duration and up to a quarter more. A change of the duration takes effect at
 * once; a failed renewal is retried sooner. Ends with its signal.
 */
export async function updateLease(serving: Serving): Promise<void> {
  const { cluster, changes, options, signal, notes, session } = serving;
  const changed = changes.follow();
  const { clock, random, report } = options;
  let failures = 0;
  let reportedMs = 0;
  while (!signal.aborted) {
    const now = cluster();
    if (!isAcceptedByHub(now)) {
      reportedMs = 0;
      await changed(idleMs);
      continue;
    }
    const everyMs = Math.max(minMs, leaseMs(now));
    if (everyMs !== reportedMs) report({ kind: "accepted", everyMs });
    reportedMs = everyMs;
    let pauseMs = everyMs * (1 + spread * randomFraction(random));
    try {
      await renewLease(serving);
      failures = 0;
      notes.beatAt = clock.now();
      recovered(notes, "heartbeat");
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      reportFailure(serving, "heartbeat", `no heartbeat: ${describeError(error, session.server)}`);
      const backoff = { initialMs: 1000, maxMs: Math.max(1000, everyMs / 2) };
      pauseMs = jitteredBackoffMs(backoff, failures, () => randomFraction(random));
    }
    await untilDue({ due: clock.now() + pauseMs, everyMs, changed }, serving);
  }
}

/** The lease is the hub's: the agent reads it first, and changes only its time. */
async function renewLease({ session, state, options }: Serving): Promise<void> {
  const key = { namespace: state.now().clusterName, name: clusterLeaseName };
  const lease = await session.client.get<Lease>(leases, key);
  const renewTime = microTime(options.clock.now());
  await session.client.update(leases, { ...lease, spec: { ...lease.spec, renewTime } });
}

interface Pause {
  /** Milliseconds since the epoch. */
  readonly due: number;
  readonly everyMs: number;
  readonly changed: (ms: number) => Promise<void>;
}

/** Waits until the next heartbeat is due, or a change of the ManagedCluster requires another interval. */
async function untilDue({ due, everyMs, changed }: Pause, { cluster, options, signal }: Serving): Promise<void> {
  while (!signal.aborted) {
    const now = cluster();
    if (!isAcceptedByHub(now) || Math.max(minMs, leaseMs(now)) !== everyMs) return;
    const left = due - options.clock.now();
    if (left <= 0) return;
    await changed(left);
  }
}

/** As the API writes a MicroTime. */
export function microTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -1)}000Z`;
}
