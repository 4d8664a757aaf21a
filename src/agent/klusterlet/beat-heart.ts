import { jitteredBackoffMs } from "../../client/backoff.ts";
import type { ResourceRef } from "../../client/client.ts";
import { isConditionTrue } from "../../core/conditions.ts";
import type { ApiObject } from "../../core/object.ts";
import { clusterCondition, clusterLeaseName, leaseMs, type ManagedCluster } from "../../resources/managed-cluster.ts";
import { randomFraction } from "../random-fraction.ts";
import { saidFailure } from "./said-failure.ts";
import { recovered, tellFailure, type Serving } from "./serving-cluster.ts";

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

/** Whether the hub lets the cluster in, in its own words. */
export function isAcceptedByHub(cluster: ManagedCluster | undefined): cluster is ManagedCluster {
  return cluster !== undefined && isConditionTrue(cluster.status?.conditions, clusterCondition.accepted);
}

/**
 * Renews the heartbeat of the cluster while the hub lets it in: each lease duration and up to a quarter more. A change of the duration
 * counts at once; a beat that fails is tried again sooner. Ends with its signal.
 */
export async function beatHeart(serving: Serving): Promise<void> {
  const { cluster, options, signal, notes, session } = serving;
  const { clock, random, report } = options;
  let failures = 0;
  let toldMs = 0;
  while (!signal.aborted) {
    const now = cluster();
    if (!isAcceptedByHub(now)) {
      toldMs = 0;
      await serving.changed(idleMs);
      continue;
    }
    const everyMs = Math.max(minMs, leaseMs(now));
    if (everyMs !== toldMs) report({ kind: "accepted", everyMs });
    toldMs = everyMs;
    let pauseMs = everyMs * (1 + spread * randomFraction(random));
    try {
      await beat(serving);
      failures = 0;
      notes.beatAt = clock.now();
      recovered(notes, "heartbeat");
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      tellFailure(serving, "heartbeat", `no heartbeat: ${saidFailure(error, session.server)}`);
      const backoff = { initialMs: 1000, maxMs: Math.max(1000, everyMs / 2) };
      pauseMs = jitteredBackoffMs(backoff, failures, () => randomFraction(random));
    }
    await untilDue(clock.now() + pauseMs, everyMs, serving);
  }
}

/** The lease is the hub's: it is read first, and everything in it but the time stays. */
async function beat({ session, state, options }: Serving): Promise<void> {
  const key = { namespace: state.now().clusterName, name: clusterLeaseName };
  const lease = await session.client.get<Lease>(leases, key);
  const renewTime = microTime(options.clock.now());
  await session.client.update(leases, { ...lease, spec: { ...lease.spec, renewTime } });
}

async function untilDue(due: number, everyMs: number, { cluster, changed, options, signal }: Serving): Promise<void> {
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
