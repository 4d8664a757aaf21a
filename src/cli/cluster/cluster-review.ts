import { readRequest, csrView, hasCondition, type CsrView } from "../../controllers/certificates/csr-view.ts";
import { getOrUndefined, ignoreReasons } from "../../client/api-errors.ts";
import type { Client } from "../../client/client.ts";
import {
  clusterBootstrapAccount,
  clusterBootstrapGroup,
} from "../../authorization/bootstrap-policy/registration-roles.ts";
import { agentsOn, conditionOf } from "../../controllers/clusters/managed-cluster-policy.ts";
import { agentRequest, labelledCluster } from "../../controllers/clusters/cluster-request.ts";
import { certificateSigningRequests } from "../../controllers/kinds.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { serviceAccountUser, type UserInfo } from "../../apimachinery/user.ts";
import { parseCsr } from "../../pki/csr.ts";
import { keyFingerprint } from "../../pki/keys.ts";
import {
  agentUser,
  clusterCondition,
  clusterNameLabel,
  managedClusters,
  requesterAnnotation,
  type ManagedCluster,
  isAccepted,
} from "../../apis/managed-cluster.ts";
import { isRecentlyDenied, listed, type NameMark } from "../access/name-marks.ts";

/** A request for the first certificate of an agent. Texts are as the requester chose them, but for the agent's id. */
export interface AgentRequest {
  readonly object: ApiObject;
  readonly name: string;
  /** RFC 3339, or empty. */
  readonly created: string;
  readonly agent: string;
  /** The requester that the server recorded. */
  readonly requester: UserInfo;
  /** `SHA256:<base64>` of the public key. */
  readonly fingerprint: string;
  readonly state: "Pending" | "Approved" | "Issued" | "Denied" | "Failed";
}

/** A cluster with its requests, for an approver. */
export interface ClusterSight {
  readonly name: string;
  /** Absent where there is only a request for it. */
  readonly cluster: ManagedCluster | undefined;
  /** The newest first; undefined where requests may not be listed. */
  readonly requests: readonly AgentRequest[] | undefined;
  /** Pending requests with its name that cannot be its agent's. */
  readonly unfit: readonly { readonly name: string; readonly why: string }[];
}

/** Reads one cluster and its requests. Requests that may not be listed are left out. @throws StatusError, ConnectionError */
export async function lookAtCluster(client: Client, name: string): Promise<ClusterSight> {
  const labelSelector = `${clusterNameLabel}=${name}`;
  const [cluster, requests] = await Promise.all([
    getOrUndefined<ManagedCluster>(client, managedClusters, { name }),
    ignoreReasons(client.list(certificateSigningRequests, { labelSelector }), "Forbidden"),
  ]);
  return sightOf(name, cluster, requests?.items);
}

/** A cluster with the requests of its name. */
export function sightOf(
  name: string,
  cluster: ManagedCluster | undefined,
  requests: readonly ApiObject[] | undefined,
): ClusterSight {
  const own = (requests ?? []).filter((request) => labelledCluster(request) === name).map((one) => read(one, name));
  const newestFirst = (a: AgentRequest, b: AgentRequest): number =>
    a.created === b.created ? (a.name < b.name ? 1 : -1) : a.created < b.created ? 1 : -1;
  return {
    name,
    cluster,
    requests: requests && own.filter((one) => one !== undefined && "agent" in one).sort(newestFirst),
    unfit: own.filter((one) => one !== undefined && "why" in one),
  };
}

/** Undefined for renewals, and for decided requests that were never an agent's. */
function read(object: ApiObject, cluster: string): AgentRequest | ClusterSight["unfit"][number] | undefined {
  const view = csrView(object);
  const { name = "", creationTimestamp: created = "" } = object.metadata;
  const contents = readRequest(parseCsr, view);
  const state = stateOf(view);
  const unfit = (why: string): ClusterSight["unfit"][number] | undefined =>
    state === "Pending" ? { name, why } : undefined;
  if (typeof contents === "string") return unfit(contents);
  const identity = agentRequest(view, cluster, contents);
  if (typeof identity === "string") return unfit(identity);
  const { requester } = view;
  if (requester.username === agentUser(identity)) return undefined;
  const fingerprint = keyFingerprint(contents.spki);
  return { object, name, created, agent: identity.agent, requester, fingerprint, state };
}

function stateOf(view: CsrView): AgentRequest["state"] {
  if (hasCondition(view, "Denied")) return "Denied";
  if (hasCondition(view, "Failed")) return "Failed";
  if (!hasCondition(view, "Approved")) return "Pending";
  return view.certificate === "" ? "Approved" : "Issued";
}

/** The pending requests, the newest first. */
export const openRequests = ({ requests = [] }: ClusterSight): readonly AgentRequest[] =>
  requests.filter(({ state }) => state === "Pending");

/** The denied requests, the newest first; their agents request again when these are deleted. */
export const deniedRequests = ({ requests = [] }: ClusterSight): readonly AgentRequest[] =>
  requests.filter(({ state }) => state === "Denied");

/** Warnings for the approver of the given pending requests. `now` in milliseconds. */
export function clusterWarnings(sight: ClusterSight, open: readonly AgentRequest[], now: number): readonly string[] {
  const marks = clusterNameMarks(sight, open, now);
  return [...marks.map(({ message }) => message), ...requesterWarnings(sight, open)];
}

/** Why the name of a cluster needs a second look before the given pending requests are approved. `now` in milliseconds. */
export function clusterNameMarks(sight: ClusterSight, open: readonly AgentRequest[], now: number): readonly NameMark[] {
  const messages = {
    NameContested: rivalWarnings(open),
    NameInUse: ownerWarnings(sight, open, now),
    NameRecentlyDenied: denialWarnings(sight, open, now),
  } as const;
  return (["NameContested", "NameInUse", "NameRecentlyDenied"] as const).flatMap((reason) =>
    messages[reason].map((message) => ({ reason, message })),
  );
}

function denialWarnings(sight: ClusterSight, open: readonly AgentRequest[], now: number): readonly string[] {
  const denied = (sight.requests ?? []).filter(({ object }) => isRecentlyDenied(csrView(object), now));
  if (open.length === 0 || denied.length === 0) return [];
  return [`a request in its name was denied in the last 24 hours: ${listed(denied.map(({ name }) => `csr/${name}`))}`];
}

function rivalWarnings(open: readonly AgentRequest[]): readonly string[] {
  const ids = [...new Set(open.map(({ agent }) => agent))].sort();
  const keysOf = (id: string): number =>
    new Set(open.flatMap(({ agent, fingerprint }) => (agent === id ? [fingerprint] : []))).size;
  return [
    ...(ids.length > 1 ? [`${ids.length} agents ask in its name: ${ids.map(quoted).join(", ")}`] : []),
    ...ids
      .filter((id) => keysOf(id) > 1)
      .map(
        (id) =>
          `agent ${quoted(id)} asked with ${keysOf(id)} different keys: it was started again, or another agent copies its id`,
      ),
  ];
}

function ownerWarnings({ cluster }: ClusterSight, open: readonly AgentRequest[], now: number): readonly string[] {
  if (cluster === undefined || open.length === 0) return [];
  const live = [...agentsOn(cluster)].filter(([, end]) => end > now);
  if (live.length > 0) {
    const agents = live.map(([id, end]) => `${quoted(id)}, which was given a certificate until ${rfc3339(end)}`);
    return [`the name belongs to a cluster that has an agent: ${agents.join("; ")}`];
  }
  return hasJoined(cluster) ? ["the name belongs to a cluster that has joined before"] : [];
}

function requesterWarnings({ cluster }: ClusterSight, open: readonly AgentRequest[]): readonly string[] {
  const creator = cluster?.metadata.annotations?.[requesterAnnotation];
  const { namespace, name } = clusterBootstrapAccount;
  const account = serviceAccountUser(namespace, name).username;
  const others = [...new Map(open.map(({ requester }) => [requester.username, requester])).values()];
  return others.flatMap((requester) => [
    // The identities that clusters join with.
    ...(requester.groups.includes(clusterBootstrapGroup) || requester.username === account
      ? []
      : [`${quoted(requester.username)}, who asks, is no bootstrap identity`]),
    ...(creator === undefined || creator === requester.username
      ? []
      : [`it was made by ${quoted(creator)}, and another asks for its certificate, ${quoted(requester.username)}`]),
  ]);
}

/** Whether an agent of the cluster has ever joined. */
export function hasJoined(cluster: ManagedCluster): boolean {
  return conditionOf(cluster, clusterCondition.joined)?.status === "True";
}

const quoted = (text: string): string => JSON.stringify(text);

/** The request that an approver names, where the choice matters. */
export interface Chosen {
  readonly agentId: string | undefined;
  readonly request: string | undefined;
}

/** The next step towards accepting a cluster, from its present state. */
export type ClusterPlan =
  | { readonly kind: "wait"; readonly missing: string }
  /** The approver must compare first: why, and the choices. */
  | { readonly kind: "refuse"; readonly why: readonly string[]; readonly choice: readonly AgentRequest[] }
  | { readonly kind: "gone" }
  /** The requests of its agents were denied, which is final: the agent requests again when they are deleted. The newest first. */
  | { readonly kind: "denied"; readonly requests: readonly [AgentRequest, ...AgentRequest[]] }
  | {
      readonly kind: "go";
      readonly cluster: ManagedCluster;
      /** The request to approve; absent where it is approved already, or where requests may not be listed. */
      readonly approve?: AgentRequest;
      /** The request that was approved before. */
      readonly approved?: AgentRequest;
      readonly accept: boolean;
      /** The warnings that were overridden by naming the request. */
      readonly warnings: readonly string[];
    };

/** `now` in milliseconds. */
export function planOf(sight: ClusterSight, chosen: Chosen, now: number): ClusterPlan {
  const { cluster, requests } = sight;
  if (cluster === undefined) return { kind: "wait", missing: "the cluster to be registered by its agent" };
  if (cluster.metadata.deletionTimestamp !== undefined) return { kind: "gone" };
  const accept = !isAccepted(cluster);
  if (requests === undefined) return { kind: "go", cluster, accept, warnings: [] };
  const isMeant = ({ agent, name }: AgentRequest): boolean =>
    (chosen.agentId ?? agent) === agent && (chosen.request ?? name) === name;
  const open = openRequests(sight).filter(isMeant);
  const [newest] = open;
  if (newest === undefined) return withoutOpen(sight, { cluster, chosen, isMeant, now });
  const warnings = clusterWarnings(sight, open, now);
  const isNamed =
    chosen.request !== undefined ||
    (chosen.agentId !== undefined && new Set(open.map(({ fingerprint }) => fingerprint)).size === 1);
  if (warnings.length > 0 && !isNamed) return { kind: "refuse", why: warnings, choice: open };
  return { kind: "go", cluster, accept, approve: newest, warnings };
}

interface Rest {
  readonly cluster: ManagedCluster;
  readonly chosen: Chosen;
  readonly isMeant: (request: AgentRequest) => boolean;
  readonly now: number;
}

function withoutOpen(sight: ClusterSight, { cluster, chosen, isMeant, now }: Rest): ClusterPlan {
  const accept = !isAccepted(cluster);
  const { requests = [] } = sight;
  const approved = requests.find((one) => isMeant(one) && (one.state === "Approved" || one.state === "Issued"));
  if (approved !== undefined) return { kind: "go", cluster, accept, approved, warnings: [] };
  const holders = [...agentsOn(cluster)].filter(([id, end]) => end > now && (chosen.agentId ?? id) === id);
  if (holders.length > 0 && chosen.request === undefined) return { kind: "go", cluster, accept, warnings: [] };
  const [denied, ...more] = deniedRequests(sight).filter(isMeant);
  if (denied !== undefined) return { kind: "denied", requests: [denied, ...more] };
  const who = chosen.agentId === undefined ? "its agent" : `agent ${JSON.stringify(chosen.agentId)}`;
  const which = chosen.request === undefined ? "" : ` named ${JSON.stringify(chosen.request)}`;
  const others = [...new Set(openRequests(sight).map(({ agent }) => JSON.stringify(agent)))];
  const there = others.length === 0 ? "" : `; there are requests of ${others.join(", ")}`;
  const unfit = sight.unfit.map(({ name, why }) => `; csr/${name} has its name and cannot be its agent's: ${why}`);
  return { kind: "wait", missing: `a certificate request of ${who}${which}${there}${unfit.join("")}` };
}
