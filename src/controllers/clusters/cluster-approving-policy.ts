import { readAgentRequest, labelledCluster } from "./cluster-request.ts";
import { csrView, hasCondition } from "../certificates/csr-view.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import {
  autoAcceptedAnnotation,
  clusterCondition,
  isAccepted,
  registerGroup,
  requesterAnnotation,
  type AgentIdentity,
  type ManagedCluster,
  agentUser,
} from "../../apis/managed-cluster.ts";
import { agentsOn, conditionOf } from "./managed-cluster-policy.ts";
import type { RequiredAccess } from "../certificates/csr-approving-policy.ts";
import { matchesNodePattern } from "../certificates/node-name-claims.ts";
import type { CsrContents } from "../../pki/csr.ts";
import { keyFingerprint } from "../../pki/keys.ts";
import { issueOfCsr } from "../credentials/credential-record.ts";

/** Which identity joins which clusters without an approver. */
export interface AutoApproval {
  /** The exact name of a user. */
  readonly user: string;
  /** Names of clusters, and patterns with one `*` at their beginning or end. */
  readonly clusters: readonly string[];
  /** Whether it may also join a cluster again whose agent has a certificate. */
  readonly rejoin: boolean;
}

/** The permission that a requester needs for the renewal of its certificate. Source: ocm pkg/registration/hub/csr. */
export const renewalAccess: RequiredAccess = {
  group: registerGroup,
  resource: "managedclusters",
  subresource: "clientcertificates",
  verb: "renew",
};

export interface FirstRequest {
  readonly username: string;
  readonly identity: AgentIdentity;
  /** The cluster, if it exists. */
  readonly cluster: ManagedCluster | undefined;
  readonly rules: readonly AutoApproval[];
  /** A request for its first certificate that is approved for another key. */
  readonly rival?: string | undefined;
  readonly now: number;
}

/** Why the first certificate of an agent is left to an approver, or undefined where it is approved automatically. */
export function firstObjection(request: FirstRequest): string | undefined {
  const { username, identity, cluster, rules, rival } = request;
  const matching = rules.filter(
    ({ user, clusters }) => user === username && clusters.some((one) => matchesNodePattern(one, identity.cluster)),
  );
  if (matching.length === 0) return "no rule of the hub accepts this cluster automatically for its requester";
  if (cluster === undefined) return "there is no such cluster yet";
  const why = clusterObjection(cluster, username);
  if (why !== undefined || matching.some(({ rejoin }) => rejoin)) return why;
  // Otherwise the holder of an old bootstrap identity could take over a joined cluster.
  if (hasAgent(cluster, request)) return "the cluster has an agent already";
  return rival === undefined ? undefined : `csr/${rival} was approved for the cluster with another key`;
}

function clusterObjection(cluster: ManagedCluster, username: string): string | undefined {
  const { deletionTimestamp, annotations = {} } = cluster.metadata;
  if (deletionTimestamp !== undefined) return "the cluster is being deleted";
  const creator = annotations[requesterAnnotation] ?? username;
  if (creator !== username) return "the cluster was created by another user";
  const wasLetIn = annotations[autoAcceptedAnnotation] !== undefined;
  const isDecided = wasLetIn || conditionOf(cluster, clusterCondition.accepted) !== undefined;
  return isDecided && !isAccepted(cluster) ? "the cluster was denied" : undefined;
}

function hasAgent(cluster: ManagedCluster, { identity, now }: FirstRequest): boolean {
  const isOther = ([agent, end]: readonly [string, number]): boolean => agent !== identity.agent && end > now;
  return [...agentsOn(cluster)].some(isOther) || conditionOf(cluster, clusterCondition.joined)?.status === "True";
}

/** Whether a cluster is accepted together with its first certificate; a later denial by an approver is not overruled. */
export function needsAcceptance(cluster: ManagedCluster): boolean {
  return !isAccepted(cluster) && cluster.metadata.annotations?.[autoAcceptedAnnotation] === undefined;
}

/** A request for the first certificate of an agent, to be decided. */
export interface JudgedRequest {
  readonly cluster: string;
  /** `SHA256:<base64>` of its public key. */
  readonly key: string;
  readonly parse: (pem: string) => CsrContents;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The name of another request for a first certificate of the cluster that is approved for another key and has not expired; undefined where there is none. */
export function approvedRival(requests: readonly ApiObject[], judged: JudgedRequest): string | undefined {
  const { cluster, key, parse, now } = judged;
  return requests.find((object) => {
    const csr = csrView(object);
    if (labelledCluster(object) !== cluster || !hasCondition(csr, "Approved") || hasCondition(csr, "Failed"))
      return false;
    const read = readAgentRequest(parse, csr, cluster);
    // A renewal follows a first certificate, which counts itself.
    if (typeof read === "string" || csr.requester.username === agentUser(read.identity)) return false;
    if (keyFingerprint(read.contents.spki) === key) return false;
    return !(Date.parse(issueOfCsr(object)?.issue.notAfter ?? "") <= now);
  })?.metadata.name;
}

/** Runs the functions of one key one after another, in order of arrival; different keys do not wait for each other. */
export function turns(): <T>(key: string, act: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return async (key, act) => {
    const mine = (last.get(key) ?? Promise.resolve()).then(act, act);
    last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (last.get(key) === mine) last.delete(key);
    }
  };
}
