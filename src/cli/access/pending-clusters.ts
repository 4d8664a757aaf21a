import { labelledCluster } from "../../controllers/clusters/cluster-request.ts";
import { csrView } from "../../controllers/certificates/csr-view.ts";
import { conditionOf } from "../../controllers/clusters/managed-cluster-policy.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { clusterCondition, isAccepted, requesterAnnotation, type ManagedCluster } from "../../apis/managed-cluster.ts";
import { waitingText } from "../../apis/csr-conditions.ts";
import {
  clusterNameMarks,
  clusterWarnings,
  hasJoined,
  openRequests,
  sightOf,
  type AgentRequest,
  type ClusterSight,
} from "../cluster/cluster-review.ts";
import { byAge, groupedBy, type NameMark } from "./name-marks.ts";

/** A cluster that waits for one of its two decisions, or for both. */
export interface PendingCluster {
  readonly kind: "ManagedCluster";
  readonly name: string;
  /** RFC 3339, or empty. */
  readonly created: string;
  /** The agents whose requests are pending, else that of the newest request. */
  readonly agents: readonly string[];
  /** The request to decide on first: the newest pending one, else the newest of all. */
  readonly request: string | undefined;
  readonly requester: string | undefined;
  /** Why the request is not approved automatically, from its conditions: reason and message. */
  readonly waitsFor: string | undefined;
  readonly fingerprint: string | undefined;
  /** The state of the first decision; `NotAsked` where there is no request, `Unknown` where requests may not be listed. */
  readonly certificate: "Pending" | "Approved" | "Issued" | "Denied" | "Failed" | "NotAsked" | "Unknown";
  /** The state of the second decision; `NotRegistered` where there is a request and no cluster. */
  readonly admission: "Pending" | "Accepted" | "Denied" | "NotRegistered";
  /** Pending requests beside the newest. */
  readonly staleRequests: number;
  /** Why its name needs a second look; their sentences are among the warnings. */
  readonly nameMarks: readonly NameMark[];
  /** Sentences about what needs care. */
  readonly warnings: readonly string[];
}

/** The pending clusters, the oldest first, and the names of the requests that they include. */
export interface PendingClusters {
  readonly clusters: readonly PendingCluster[];
  readonly listed: ReadonlySet<string>;
}

/** Joins clusters with their requests, where these may be listed. `now` in milliseconds. */
export function pendingClusters(
  items: readonly ManagedCluster[],
  requests: readonly ApiObject[] | undefined,
  now: number,
): PendingClusters {
  const there = new Map(items.map((cluster) => [cluster.metadata.name ?? "", cluster]));
  const byName = groupedBy(requests ?? [], labelledCluster);
  const names = new Set([...there.keys(), ...byName.keys()]);
  const sights = [...names].map((name) => sightOf(name, there.get(name), requests && (byName.get(name) ?? [])));
  return {
    clusters: sights
      .filter(isWaiting)
      .map((sight) => pendingCluster(sight, now))
      .sort(byAge),
    listed: new Set(sights.flatMap((sight) => openRequests(sight).map(({ name }) => name))),
  };
}

function isWaiting(sight: ClusterSight): boolean {
  if (openRequests(sight).length > 0) return true;
  const { cluster, requests } = sight;
  // The approver who denied its agent has decided, until the agent creates another request.
  if (requests?.[0]?.state === "Denied") return false;
  if (cluster === undefined || isAccepted(cluster) || cluster.metadata.deletionTimestamp !== undefined) return false;
  return conditionOf(cluster, clusterCondition.accepted) === undefined;
}

function pendingCluster(sight: ClusterSight, now: number): PendingCluster {
  const { name, cluster, requests } = sight;
  const open = openRequests(sight);
  const first = open[0] ?? requests?.[0];
  const created = open.at(-1)?.created ?? cluster?.metadata.creationTimestamp ?? "";
  return {
    kind: "ManagedCluster",
    name,
    created,
    ...requestFacts(first, open),
    requester: first?.requester.username ?? requesterOf(cluster),
    certificate: certificateOf(first, requests),
    admission: admissionOf(cluster),
    staleRequests: Math.max(open.length - 1, 0),
    nameMarks: clusterNameMarks(sight, open, now),
    warnings: [
      ...clusterWarnings(sight, open, now),
      ...sight.unfit.map((one) => `csr/${one.name} has its name and cannot be its agent's: ${one.why}`),
    ],
  };
}

function requesterOf(cluster: ManagedCluster | undefined): string | undefined {
  return cluster?.metadata.annotations?.[requesterAnnotation];
}

function certificateOf(
  first: AgentRequest | undefined,
  requests: ClusterSight["requests"],
): PendingCluster["certificate"] {
  return first?.state ?? (requests === undefined ? "Unknown" : "NotAsked");
}

function requestFacts(
  first: AgentRequest | undefined,
  open: readonly AgentRequest[],
): Pick<PendingCluster, "agents" | "request" | "fingerprint" | "waitsFor"> {
  if (first === undefined) return { agents: [], request: undefined, fingerprint: undefined, waitsFor: undefined };
  const { name: request, fingerprint, state, object } = first;
  const agents = [...new Set([first, ...open].map(({ agent }) => agent))].sort();
  const waitsFor = state === "Pending" ? waitingText(csrView(object).conditions) : undefined;
  return { agents, request, fingerprint, waitsFor };
}

function admissionOf(cluster: ManagedCluster | undefined): PendingCluster["admission"] {
  if (cluster === undefined) return "NotRegistered";
  if (isAccepted(cluster)) return "Accepted";
  return conditionOf(cluster, clusterCondition.accepted) !== undefined || hasJoined(cluster) ? "Denied" : "Pending";
}
