import type { AuthorizerChain, ChainDecision } from "../authorization/chain.ts";
import type { NodeGraph } from "../authorization/node-graph.ts";
import type { AuditedRequest } from "../apiserver/audit/audited-request.ts";
import type { NamedFiles } from "../host/read-text.ts";
import { replayTally, type ReplayChange } from "./replay-tally.ts";
import { replayedRequests, type NotReplayed } from "./replayed-requests.ts";

/** Kinds of changes that are told apart: more than anybody reads, and few enough for the memory. */
const maxKinds = 20_000;

/** What came of replaying logs; `-o json` prints it as it is. */
export interface Replay {
  readonly requests: number;
  readonly users: number;
  readonly first: string;
  readonly last: string;
  readonly nowRefused: number;
  readonly nowAllowed: number;
  /** Requests on which an authorizer failed; those are refused unless another one allows them. */
  readonly failed: number;
  /** Requests of nodes that depend on their pods, and were taken to be decided as before. */
  readonly asRecorded: number;
  readonly notReplayed: NotReplayed;
  /** Changes beyond those that are told apart. */
  readonly others: Readonly<Record<ReplayChange["change"], number>>;
  readonly changes: readonly ReplayChange[];
}

export interface ReplayOptions {
  readonly chain: AuthorizerChain;
  /** Of which the graph is that of the chain. */
  readonly relations: RecordedRelations;
  /** Who decided, and why, in words. */
  readonly describe: (decision: ChainDecision) => { readonly by: string; readonly why: string };
}

/** Puts the requests of these audit logs to the chain. @throws OptionError usage for a log that cannot be read */
export async function replay(
  files: readonly string[],
  where: Pick<NamedFiles, "cwd">,
  { chain, relations, describe }: ReplayOptions,
): Promise<Replay> {
  const left: NotReplayed = { undecided: 0, repeated: 0, unreadable: 0, firstUnreadable: undefined };
  const tally = replayTally(maxKinds);
  const users = new Set<string>();
  let [count, nowRefused, nowAllowed, nodes, failed] = [0, 0, 0, 0, 0];
  let [first, last] = ["", ""];
  for await (const request of replayedRequests(files, where, left)) {
    count += 1;
    if (users.size < maxKinds) users.add(request.attributes.user.username);
    first = first === "" || request.time < first ? request.time : first;
    last = request.time > last ? request.time : last;
    relations.from(request);
    const decision = await decided(request, chain);
    if (relations.wasAsked()) nodes += 1;
    if (decision.error !== undefined) failed += 1;
    const allows = decision.verdict === "allow";
    if (allows === request.wasAllowed) continue;
    if (allows) nowAllowed += 1;
    else nowRefused += 1;
    const { attributes, impersonation, wasAllowed, reason: before, by: beforeBy, time, auditId } = request;
    const impersonatedBy = impersonation[0]?.user.username;
    tally.add({ attributes, impersonatedBy, wasAllowed, before, beforeBy, time, auditId, ...describe(decision) });
  }
  return {
    requests: count,
    users: users.size,
    first,
    last,
    nowRefused,
    nowAllowed,
    failed,
    asRecorded: nodes,
    notReplayed: left,
    others: tally.others(),
    changes: tally.changes(),
  };
}

/** As the API does: whoever impersonates must be allowed to first. */
async function decided(request: AuditedRequest, chain: AuthorizerChain): Promise<ChainDecision> {
  for (const check of request.impersonation) {
    const decision = await chain.decide(check, { trace: true });
    if (decision.verdict !== "allow") return decision;
  }
  return chain.decide(request.attributes, { trace: true });
}

export interface RecordedRelations {
  readonly graph: NodeGraph;
  readonly from: (request: AuditedRequest) => void;
  /** Whether the decision since then depended on what pods a node has. */
  readonly wasAsked: () => boolean;
}

/** No log tells which pods a node had: what depends on them is taken to be as it was decided then. */
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
