import { ignoreReasons } from "../../client/api-errors.ts";
import type { Client } from "../../client/client.ts";
import { agentsOn, conditionOf } from "../../controllers/clusters/managed-cluster-policy.ts";
import { heartbeats } from "../../controllers/clusters/managed-cluster-grant.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { humanDuration } from "../../apimachinery/duration.ts";
import type { Lease } from "../../apis/lease.ts";
import {
  clusterCondition,
  denialReasonAnnotation,
  clusterSetLabel,
  isAccepted,
  managedClusters,
  type ManagedCluster,
} from "../../apis/managed-cluster.ts";
import { withClusters } from "./cluster-access.ts";
import type { Run } from "../command.ts";
import { cut, writeResult, type TextTable } from "../output.ts";

/** Prints the clusters by name. */
export const clusterList: Run = async (args, io) => {
  return withClusters(args, io, async ({ client }) => {
    const [{ items }, beats] = await Promise.all([
      client.list<ManagedCluster>(managedClusters),
      heartbeatsBySpoke(client),
    ]);
    if (beats === undefined) io.stderr.write("note: heartbeats are not shown, since you may not list leases\n");
    const now = io.clock.now();
    const clusters = items
      .map((cluster) => listed(cluster, beats?.get(cluster.metadata.name ?? ""), now))
      .sort((one, other) => (one.name < other.name ? -1 : 1));
    await writeResult(args, io, { data: clusters, table: () => clusterTable(clusters, now) });
  });
};

async function heartbeatsBySpoke(client: Client): Promise<ReadonlyMap<string, string> | undefined> {
  const { resource, fieldSelector } = heartbeats;
  const found = await ignoreReasons(client.list<Lease>(resource, { fieldSelector }), "Forbidden");
  return (
    found &&
    new Map(found.items.map(({ metadata, spec }) => [metadata.namespace ?? "", spec?.renewTime ?? ""] as const))
  );
}

/** One cluster as the list shows it. */
type ListedCluster = ReturnType<typeof listed>;

/** Denied, or accepted before and no longer: by what is stored on the cluster, never by requests, whose labels the requester sets. */
function isDenied(cluster: ManagedCluster): boolean {
  if (isAccepted(cluster)) return false;
  if (conditionOf(cluster, clusterCondition.accepted)?.status !== undefined) return true;
  return cluster.metadata.annotations?.[denialReasonAnnotation] !== undefined;
}

/** `beat` is the last heartbeat of its agent, in RFC 3339; absent where there is none or it may not be read. */
function listed(cluster: ManagedCluster, beat: string | undefined, now: number) {
  const { name = "", labels = {}, annotations = {}, creationTimestamp = "", deletionTimestamp } = cluster.metadata;
  const state = (type: string): string | undefined => conditionOf(cluster, type)?.status;
  const joined = state(clusterCondition.joined) === "True";
  return {
    name,
    accepted: isAccepted(cluster),
    denied: isDenied(cluster),
    deniedBecause: annotations[denialReasonAnnotation],
    deleting: deletionTimestamp !== undefined,
    joined,
    // `Unknown` where its agent no longer sends heartbeats, `None` where it never has.
    available: state(clusterCondition.available) ?? "None",
    version: cluster.status?.version?.kubernetes,
    // The hub sets the first heartbeat when it creates the lease; before the cluster has joined, it is not the agent's.
    lastHeartbeat: joined ? beat : undefined,
    agents: [...agentsOn(cluster)]
      .filter(([, end]) => end > now)
      .map(([id, end]) => ({ id, certificateUntil: rfc3339(end) })),
    set: labels[clusterSetLabel],
    created: creationTimestamp,
  };
}

function clusterTable(clusters: readonly ListedCluster[], now: number): TextTable | string {
  if (clusters.length === 0)
    return "No cluster has registered. To let one ask: pratique cluster token --bootstrap-kubeconfig FILE\n";
  const age = (at: string): string => {
    const ms = now - Date.parse(at);
    return Number.isNaN(ms) ? "<unknown>" : humanDuration(Math.max(ms, 0));
  };
  return {
    headings: ["NAME", "ACCEPTED", "JOINED", "AVAILABLE", "VERSION", "HEARTBEAT", "AGENT ID", "SET", "AGE"],
    rows: clusters.map((one) => [
      one.name,
      one.deleting ? "leaving" : one.accepted ? "yes" : one.denied ? "denied" : "no",
      one.joined ? "yes" : "no",
      one.available === "None" ? "<none>" : one.available,
      cut(one.version ?? "<unknown>"),
      one.lastHeartbeat === undefined ? "<none>" : `${age(one.lastHeartbeat)} ago`,
      cut(one.agents.map(({ id }) => id).join(",") || "<none>"),
      one.set ?? "<none>",
      age(one.created),
    ]),
  };
}
