import type { AuthorizerChain, ChainDecision } from "../authorization/chain.ts";
import type { NodeGraph } from "../authorization/node-graph.ts";
import type { AuditedRequest } from "../apiserver/audit/audited-request.ts";
import type { NamedFiles } from "../host/read-text.ts";
import { replayedRequests, type NotReplayed } from "./replayed-requests.ts";
import type { Attributes } from "../authorization/authorizer.ts";

/** How many kinds of changes are listed: more than a person reads, and few enough for the memory. */
const maxKinds = 20_000;

/** The result of a replay; `-o json` prints it as it is. */
export interface Replay {
  readonly requests: number;
  readonly users: number;
  readonly first: string;
  readonly last: string;
  readonly nowRefused: number;
  readonly nowAllowed: number;
  /** Requests on which an authorizer failed; they are denied unless another one allows them. */
  readonly failed: number;
  /** Requests of nodes that depend on their pods, and count as decided as in the log. */
  readonly asRecorded: number;
  readonly notReplayed: NotReplayed;
  /** Changes beyond the kinds that are listed. */
  readonly others: Readonly<Record<ReplayChange["change"], number>>;
  readonly changes: readonly ReplayChange[];
}

interface ReplayOptions {
  readonly chain: AuthorizerChain;
  /** Their graph is that of the chain. */
  readonly relations: RecordedRelations;
  /** Which authorizer decided, and why, in words. */
  readonly describe: (decision: ChainDecision) => { readonly by: string; readonly why: string };
}

/** Runs the requests of these audit logs through the chain. @throws OptionError usage for a log that cannot be read */
export async function replay(
  files: readonly string[],
  where: Pick<NamedFiles, "cwd">,
  { chain, relations, describe }: ReplayOptions,
): Promise<Replay> {
  const left: NotReplayed = { undecided: 0, repeated: 0, unreadable: 0, firstUnreadable: undefined };
  const tally = replayTally(maxKinds);
  const users = new Set<string>();
  const counts = { requests: 0, users: 0, first: "", last: "", nowRefused: 0, nowAllowed: 0, failed: 0, asRecorded: 0 };
  for await (const request of replayedRequests(files, where, left)) {
    const { attributes, impersonation, wasAllowed, reason: before, by: beforeBy, time, auditId } = request;
    counts.requests += 1;
    countTime(counts, time);
    if (users.size < maxKinds) users.add(attributes.user.username);
    relations.from(request);
    const decision = await decided(request, chain);
    if (relations.wasAsked()) counts.asRecorded += 1;
    if (decision.error !== undefined) counts.failed += 1;
    const allows = decision.verdict === "allow";
    if (allows === wasAllowed) continue;
    counts[allows ? "nowAllowed" : "nowRefused"] += 1;
    const [impersonated] = impersonation;
    const asked = { attributes, impersonatedBy: impersonated?.user.username, wasAllowed, time, auditId };
    tally.add({ ...asked, before, beforeBy, ...describe(decision) });
  }
  return {
    ...counts,
    users: users.size,
    notReplayed: left,
    others: tally.others(),
    changes: tally.changes(),
  };
}

function countTime(span: { first: string; last: string }, time: string): void {
  if (span.first === "" || time < span.first) span.first = time;
  if (time > span.last) span.last = time;
}

/** As the API does: the impersonation itself is authorized first. */
async function decided(request: AuditedRequest, chain: AuthorizerChain): Promise<ChainDecision> {
  for (const check of request.impersonation) {
    const decision = await chain.decide(check, { trace: true });
    if (decision.verdict !== "allow") return decision;
  }
  return chain.decide(request.attributes, { trace: true });
}

interface RecordedRelations {
  readonly graph: NodeGraph;
  readonly from: (request: AuditedRequest) => void;
  /** Whether the decision since `from` depended on the pods of a node. */
  readonly wasAsked: () => boolean;
}

/** No log records which pods a node had: a decision that depends on them counts as the logged one. */
export function recordedRelations(): RecordedRelations {
  let [wasAllowed, wasAsked] = [false, false];
  return {
    graph: {
      put: () => undefined,
      remove: () => undefined,
      reaches: () => {
        wasAsked = true;
        return wasAllowed;
      },
    },
    from: (request) => {
      ({ wasAllowed } = request);
      wasAsked = false;
    },
    wasAsked: () => wasAsked,
  };
}

/** A kind of request whose decision would change. */
export interface ReplayChange {
  readonly change: "now refused" | "now allowed";
  readonly count: number;
  readonly user: string;
  /** The impersonator, where `user` was impersonated. */
  readonly impersonatedBy?: string;
  readonly verb: string;
  readonly apiGroup: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  /** Set in place of the resource. */
  readonly path?: string;
  /** The reason in the log, and its authorizer, where the log names it. */
  readonly before: string;
  readonly beforeBy: string;
  /** Which authorizer would decide, and why. */
  readonly by: string;
  readonly why: string;
  /** The times of the first and the last such request, and the audit id of one of them. */
  readonly first: string;
  readonly last: string;
  readonly auditID: string;
}

/** One request whose decision would change. */
interface ChangedRequest {
  readonly attributes: Attributes;
  readonly impersonatedBy: string | undefined;
  readonly wasAllowed: boolean;
  readonly before: string;
  readonly beforeBy: string;
  readonly by: string;
  readonly why: string;
  readonly time: string;
  readonly auditId: string;
}

/** Changes by user and rule. */
interface ReplayTally {
  readonly add: (request: ChangedRequest) => void;
  /** The largest first. */
  readonly changes: () => readonly ReplayChange[];
  /** How many requests belong to kinds beyond the listed ones. */
  readonly others: () => Readonly<Record<ReplayChange["change"], number>>;
}

const maxReasonCharacters = 1000;

/** An empty tally, which lists at most `maxKinds`. */
export function replayTally(maxKinds: number): ReplayTally {
  const kinds = new Map<string, ReplayChange>();
  const others = { "now refused": 0, "now allowed": 0 };
  return {
    add: (request) => {
      const kind = kindOf(request);
      const key = JSON.stringify(Object.values(kind));
      const known = kinds.get(key);
      const { time, auditId } = request;
      if (known !== undefined) {
        const [first, last] = [time < known.first ? time : known.first, time > known.last ? time : known.last];
        kinds.set(key, { ...known, count: known.count + 1, first, last });
      } else if (kinds.size < maxKinds)
        kinds.set(key, { ...kind, count: 1, first: time, last: time, auditID: auditId });
      else others[kind.change] += 1;
    },
    changes: () => [...kinds.values()].toSorted((a, b) => b.count - a.count || (a.user < b.user ? -1 : 1)),
    others: () => others,
  };
}

function kindOf(request: ChangedRequest): Omit<ReplayChange, "count" | "first" | "last" | "auditID"> {
  const { attributes, impersonatedBy, wasAllowed, before, beforeBy, by, why } = request;
  const { user, verb, group, resource, subresource, namespace, path } = attributes;
  return {
    change: wasAllowed ? "now refused" : "now allowed",
    user: user.username,
    ...(impersonatedBy === undefined ? {} : { impersonatedBy }),
    verb,
    apiGroup: group,
    resource,
    subresource,
    namespace,
    ...(path === undefined ? {} : { path }),
    before: before.slice(0, maxReasonCharacters),
    beforeBy,
    by,
    why: why.slice(0, maxReasonCharacters),
  };
}
