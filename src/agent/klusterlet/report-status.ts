import { hasReason } from "../../client/api-errors.ts";
import { ConnectionError, type ResourceRef } from "../../client/client.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { findCondition } from "../../apimachinery/conditions.ts";
import { clusterCondition, managedClusters, type ManagedCluster } from "../../apis/managed-cluster.ts";
import { isAcceptedByHub, microTime } from "./lease-updater.ts";
import { clusterStatusPatch, whyWithheld, type SpokeFacts } from "./cluster-status.ts";
import { recovered, repeatedly, type Serving } from "./serving-cluster.ts";
import { gatherFacts } from "./spoke-facts.ts";
import type { RemoteClient } from "../../client/remote.ts";

const everyMs = 60_000;

/** Checks the spoke each minute, and on each change of the ManagedCluster, and writes its status on the hub. Ends with its signal. */
export async function reportStatus(serving: Serving): Promise<void> {
  const { notes, options } = serving;
  const judge = healthJudge();
  let withheld = "";
  await repeatedly(serving, { topic: "status", failure: "the status is not written", everyMs }, async (cluster) => {
    const why = cluster === undefined ? undefined : whyWithheld(cluster);
    if (why !== undefined && why !== withheld) options.report({ kind: "withheld", message: why });
    withheld = why ?? "";
    if (!isAcceptedByHub(cluster) || why !== undefined) {
      forgetHealth(notes);
      return everyMs;
    }
    const health = judge(await problemOf(serving), options.clock.now());
    if (health.isSettled) await writeHealth(cluster, health, serving);
    recovered(notes, "status");
    return health.isSettled ? everyMs : suspiciousMs;
  });
}

async function problemOf({ options, signal }: Serving): Promise<string | undefined> {
  // A cluster without an API is available while its agent runs.
  return options.spoke === undefined ? undefined : lookAtSpoke(options.spoke, signal);
}

async function writeHealth(cluster: ManagedCluster, health: SpokeHealth, serving: Serving): Promise<void> {
  const { options, notes } = serving;
  const { isGood, message } = health;
  await writeStatus(cluster, health, serving);
  const before = findCondition(cluster.status?.conditions, clusterCondition.available)?.status;
  const after = isGood ? "True" : "False";
  const wasReported = notes.reported.has(`health ${after}`);
  if (before === after && wasReported) return;
  forgetHealth(notes);
  notes.reported.add(`health ${after}`);
  if (!wasReported) options.report(isGood ? { kind: "available" } : { kind: "unavailable", message });
  if (before !== after) await writeEvent(cluster, health, serving);
}

async function writeStatus(cluster: ManagedCluster, health: SpokeHealth, serving: Serving): Promise<void> {
  const { session, options, notes } = serving;
  const facts = health.isGood ? await factsOf(serving) : undefined;
  const patch = clusterStatusPatch(cluster, { health, facts, rotated: notes.rotated }, options.clock.now());
  if (patch === undefined) return;
  const { name = "" } = cluster.metadata;
  await session.client.patch(managedClusters, { name }, patch, { subresource: "status" });
}

/** The next failure is reported again. */
function forgetHealth({ reported }: Serving["notes"]): void {
  reported.delete("health True");
  reported.delete("health False");
}

async function factsOf({ options }: Serving): Promise<SpokeFacts> {
  const { spoke, machine } = options;
  if (spoke !== undefined) return gatherFacts(spoke);
  if (machine === undefined) return {};
  const size = { cpu: String(machine.cpus), memory: `${Math.floor(machine.memoryBytes / 1024)}Ki` };
  return { capacity: size, allocatable: size };
}

const events: ResourceRef = {
  group: "events.k8s.io",
  version: "v1",
  plural: "events",
  kind: "Event",
  scope: "Namespaced",
};

/** An Event for people; a hub that rejects events loses nothing. */
async function writeEvent(
  { metadata: { uid = "" } }: ManagedCluster,
  { isGood, message }: SpokeHealth,
  { session: { client }, options, state }: Serving,
): Promise<void> {
  const { clusterName: namespace, agentName } = state.now();
  const now = options.clock.now();
  const apiVersion = "cluster.open-cluster-management.io/v1";
  // Its namespace is that of the Event, which is refused otherwise, although a cluster lies in none.
  const regarding = { apiVersion, kind: "ManagedCluster", namespace, name: namespace, uid };
  const common = {
    kind: "Event",
    metadata: { generateName: `${namespace.slice(0, 40)}.`, namespace },
    reason: isGood ? "Available" : "Unavailable",
    type: isGood ? "Normal" : "Warning",
  };
  try {
    await client.create(events, {
      apiVersion: "events.k8s.io/v1",
      ...common,
      action: common.reason,
      regarding,
      reportingController: "klusterlet-agent",
      reportingInstance: `klusterlet-agent-${agentName}`,
      eventTime: microTime(now),
      note: message,
    });
  } catch (error) {
    if (!hasReason(error, "NotFound")) return;
    const times = { firstTimestamp: rfc3339(now), lastTimestamp: rfc3339(now), count: 1 };
    const core = { apiVersion: "v1", ...common, message, involvedObject: regarding, ...times };
    await client.create({ ...events, group: "" }, core).catch(() => undefined);
  }
}

/** The result of the last check of a spoke's API. */
interface SpokeHealth {
  readonly isGood: boolean;
  readonly message: string;
  /** Whether a failure has lasted long enough to be reported. */
  readonly isSettled: boolean;
}

/** How long a failure must last before it is reported, and how often it is checked until then, in milliseconds. */
const settledMs = 20_000;
const suspiciousMs = 5_000;

/** One check of the API: `/livez`, and `/healthz` where that is not served or not allowed. A returned text is the problem. */
async function lookAtSpoke(client: RemoteClient, signal: AbortSignal): Promise<string | undefined> {
  try {
    const live = await client.raw("GET", "/livez", { signal });
    const { status } =
      live.status === 404 || live.status === 403 ? await client.raw("GET", "/healthz", { signal }) : live;
    return status === 200 ? undefined : `the API answers ${status}`;
  } catch (error) {
    if (error instanceof ConnectionError) return `the API cannot be reached: ${error.message}`;
    throw error;
  }
}

/** Evaluates consecutive checks of an API; `now` in milliseconds since the epoch. */
function healthJudge(): (problem: string | undefined, now: number) => SpokeHealth {
  let since: number | undefined;
  return (problem, now) => {
    if (problem === undefined) {
      since = undefined;
      return { isGood: true, message: "Managed cluster is available", isSettled: true };
    }
    since ??= now;
    return {
      isGood: false,
      message: `The kube-apiserver is not ok: ${problem}`,
      isSettled: now - since >= settledMs,
    };
  };
}
