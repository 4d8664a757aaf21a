import { findCondition } from "../../apimachinery/conditions.ts";
import type { Condition } from "../../apimachinery/object.ts";
import {
  clusterCondition,
  clusterFinalizer,
  forceDetachAnnotation,
  isAccepted,
  leaveAnnotation,
  type ManagedCluster,
  agentsAnnotation,
} from "../../apis/managed-cluster.ts";
import { isFields } from "../../apis/json-fields.ts";

/** The next step for a cluster. */
export type ClusterStep =
  /** No approver has accepted it, and the hub has created nothing for it. */
  | { readonly kind: "wait" }
  | { readonly kind: "admit" }
  /** It was accepted before, and is denied now. */
  | { readonly kind: "deny" }
  /** The object is being deleted, also at the request of its agent: everything that belongs to it is deleted too. */
  | { readonly kind: "leave" }
  | { readonly kind: "detach" };

/** The next step for a cluster. A cluster that was never accepted is left alone. */
export function clusterStep(cluster: ManagedCluster): ClusterStep {
  const { deletionTimestamp, finalizers = [], annotations = {} } = cluster.metadata;
  const isHeld = finalizers.includes(clusterFinalizer);
  if (deletionTimestamp !== undefined) return isHeld ? { kind: "detach" } : { kind: "wait" };
  if (isAccepted(cluster)) return { kind: "admit" };
  const wasAccepted = isHeld || conditionOf(cluster, clusterCondition.accepted)?.status === "True";
  if (!wasAccepted) return { kind: "wait" };
  return { kind: annotations[leaveAnnotation] === "true" ? "leave" : "deny" };
}

/** The condition of a cluster of a type. */
export function conditionOf(cluster: ManagedCluster, type: string): Condition | undefined {
  return findCondition(cluster.status?.conditions, type);
}

export const acceptedCondition: Condition = {
  type: clusterCondition.accepted,
  status: "True",
  reason: "HubClusterAdminAccepted",
  message: "Accepted by hub cluster admin",
};

export const deniedCondition: Condition = {
  type: clusterCondition.accepted,
  status: "False",
  reason: "HubClusterAdminDenied",
  message: "Denied by hub cluster admin",
};

/** Written where the hub could not create what the agent needs. */
export function failedCondition(why: string): Condition {
  return { type: clusterCondition.accepted, status: "False", reason: "Error", message: why.slice(0, 1024) };
}

/** How long the deletion of a cluster waits for its agent to remove its objects, in milliseconds. */
export const detachGraceMs = 300_000;

/** Whether the deletion no longer waits for the agent: the time is up, or an administrator requests it. */
export function isForcedOff({ metadata }: ManagedCluster, now: number): boolean {
  const since = Date.parse(metadata.deletionTimestamp ?? "");
  return metadata.annotations?.[forceDetachAnnotation] === "true" || now - since >= detachGraceMs;
}

/** An object in the namespace of a cluster that its agent has to release. */
export interface Remainder {
  readonly namespace: string;
  readonly name: string;
  readonly priority: number;
  readonly isDeleting: boolean;
}

const priorityAnnotation = "open-cluster-management.io/cleanup-priority";

/** The cleanup priority of an object, 0 to 100; anything else is 0. */
export function cleanupPriority(annotations: Readonly<Record<string, string>> | undefined): number {
  const written = annotations?.[priorityAnnotation] ?? "";
  const priority = written === "" ? 0 : Number(written);
  return Number.isInteger(priority) && priority >= 0 && priority <= 100 ? priority : 0;
}

/** Objects of the lowest priority that are not being deleted yet; the others wait until these are gone. */
export function nextToDelete(remainders: readonly Remainder[]): readonly Remainder[] {
  const lowest = Math.min(...remainders.map(({ priority }) => priority));
  return remainders.filter(({ priority, isDeleting }) => priority === lowest && !isDeleting);
}

/** When the latest certificate of each agent expires, in milliseconds. */
export type ClusterAgents = ReadonlyMap<string, number>;

/** More agents than a cluster has at one time; beyond, the agents whose certificates expire first are dropped. */
const maxAgents = 32;

/** Longer names cannot be revoked. */
const maxAgentCharacters = 900;
/** The end of the year 9999: no certificate expires later, and not every later time can be written. */
const lastEnd = 253_402_300_799_000;

/** The recorded agents; an unreadable record, or one that the hub did not write, counts as empty. */
export function agentsOn({ metadata }: ManagedCluster): ClusterAgents {
  const written = metadata.annotations?.[agentsAnnotation] ?? "";
  const entries = Object.entries(parsed(written)).flatMap(([agent, end]) => {
    const at = typeof end === "string" ? Date.parse(end) : Number.NaN;
    const isAgent = agent !== "" && agent.length <= maxAgentCharacters && !agent.includes(":");
    return isAgent && at <= lastEnd ? [[agent, at] as const] : [];
  });
  return new Map(entries.sort(([, one], [, other]) => other - one).slice(0, maxAgents));
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text === "" ? "{}" : text);
    return isFields(value) ? value : {};
  } catch {
    // A broken record is replaced; its contents are lost already.
    return {};
  }
}

/** The record with newly issued certificates, without expired ones; undefined where nothing changes. */
export function withAgents(known: ClusterAgents, issued: ClusterAgents, now: number): string | undefined {
  const ends = new Map(known);
  for (const [agent, end] of issued) ends.set(agent, Math.max(end, ends.get(agent) ?? 0));
  const live = [...ends]
    .filter(([, end]) => end > now)
    .sort(([, a], [, b]) => b - a)
    .slice(0, maxAgents);
  const isSame = live.length === known.size && live.every(([agent, end]) => known.get(agent) === end);
  if (isSame) return undefined;
  const written = live.map(([agent, end]) => [agent, new Date(end).toISOString()] as const);
  return JSON.stringify(Object.fromEntries(written.sort(([a], [b]) => (a < b ? -1 : 1))));
}
