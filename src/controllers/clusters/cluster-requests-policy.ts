import type { ApiObject } from "../../apimachinery/object.ts";
import { csrView, hasCondition } from "../certificates/csr-view.ts";

/** With ten requests of a cluster about, its agent makes no more. Source: ocm pkg/registration/register/csr. */
const maxKept = 6;

/** How long a request that was decided stays for its agent to see, in milliseconds. */
const seenMs = 600_000;

/** One request of a cluster, as far as its staying is concerned. */
interface Candidate {
  readonly name: string;
  readonly requester: string;
  readonly created: number;
  readonly state: "pending" | "decided";
}

export interface Superseded {
  /** The requests to delete. */
  readonly names: readonly string[];
  /** When to look again, in milliseconds from now; undefined where nothing gets old. */
  readonly againMs: number | undefined;
}

/**
 * Which requests of one cluster, in the order in which they came, nobody waits for any more: decided ones that are ten minutes old, and as many of the oldest as it
 * takes for its agent to be free to ask. The newest of each requester stays.
 */
export function supersededRequests(requests: readonly ApiObject[], now: number): Superseded {
  // Times are in seconds; within one, those that came later are newer.
  const all = requests
    .map(candidate)
    .toReversed()
    .sort((a, b) => b.created - a.created);
  const isOld = ({ state, created }: Candidate): boolean => state === "decided" && now - created >= seenMs;
  const old = all.filter(isOld);
  const rest = all.filter((one) => !isOld(one));
  const newest = new Map(rest.toReversed().map(({ requester, name }) => [requester, name]));
  const isNewest = ({ requester, name }: Candidate): boolean => newest.get(requester) === name;
  // The oldest first, and of them those that are decided.
  const expendable = rest
    .filter((one) => !isNewest(one))
    .toReversed()
    .sort((a, b) => (a.state === b.state ? 0 : a.state === "decided" ? -1 : 1));
  const surplus = expendable.slice(0, Math.max(rest.length - maxKept, 0));
  const waits = rest.flatMap(({ state, created }) => (state === "decided" ? [created + seenMs - now] : []));
  return {
    names: [...old, ...surplus].map(({ name }) => name),
    againMs: waits.length === 0 ? undefined : Math.max(Math.min(...waits), 1000),
  };
}

function candidate(object: ApiObject): Candidate {
  const csr = csrView(object);
  const isDecided = csr.certificate !== "" || hasCondition(csr, "Denied") || hasCondition(csr, "Failed");
  const created = Date.parse(object.metadata.creationTimestamp ?? "");
  return {
    name: object.metadata.name ?? "",
    requester: csr.requester.username,
    created: Number.isNaN(created) ? 0 : created,
    state: isDecided ? "decided" : "pending",
  };
}
