import { isFields } from "../../apis/json-fields.ts";
import { agentsAnnotation, type ManagedCluster } from "../../apis/managed-cluster.ts";

/** The end of the latest certificate of each agent, in milliseconds. */
export type ClusterAgents = ReadonlyMap<string, number>;

/** More agents than any cluster has had at one time; of more, those whose certificates end first are forgotten. */
const maxAgents = 32;

/** Longer ones make no user name that could be revoked. */
const maxAgentCharacters = 900;
/** The last moment of the year 9999: no certificate ends later, and not every later time can be written. */
const lastEnd = 253_402_300_799_000;

/** What is on record; what cannot be read, or was never written by the hub, is nothing. */
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
    // Whoever broke it gets a new record; what was in it is lost already.
    return {};
  }
}

/** The record with what was issued since, without what has ended; undefined where it says so already. */
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
