import type { AuthorizerChain, ChainDecision } from "../../authz/chain.ts";
import type { NodeGraph } from "../../authz/node-graph.ts";
import type { AuditedRequest } from "../../http/audited-request.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { ExitName } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { writeResult } from "../output.ts";
import { proposedChain } from "./proposed-chain.ts";
import { proposedRbac } from "./proposed-rbac.ts";
import { replayReport, type Replay } from "./replay-report.ts";
import { replayTally } from "./replay-tally.ts";
import { replayedRequests, type NotReplayed } from "./replayed-requests.ts";
import { verdictText } from "../why/verdict-text.ts";

/** Kinds of changes that are told apart: more than anybody reads, and few enough for the memory. */
const maxKinds = 20_000;
/** A log holds the same question many times; a webhook is asked once about each. */
const believedMs = 3_600_000;

const proposals = [
  "policy",
  "bundle",
  "cel",
  "opa-url",
  "authorization-config",
  "authorization-policy-file",
  "authorization-webhook-config-file",
] as const;

/** Puts the requests of audit logs to a chain that is not in force, and prints which decisions would be others. */
export async function runPolicyReplay(args: Args, io: Io): Promise<ExitName> {
  const files = args.list("audit-log");
  if (files.length === 0) throw new CliError("usage", "--audit-log is needed: which requests to replay");
  const lists = [...args.list("rbac"), ...args.list("authorization-mode")];
  const ofServer = args.text("rbac-base") === "server";
  if (lists.length === 0 && !ofServer && proposals.every((name) => args.text(name) === undefined)) {
    throw new CliError("usage", "nothing is proposed: --policy, --rbac or another option must say what would decide");
  }
  const relations = recordedRelations();
  const index = await proposedRbac(args, io);
  const proposed = await proposedChain({ args, io, index, graph: relations.graph, believedMs });
  try {
    const replay = await replayed(replayOf(files, io), { chain: proposed.chain, relations });
    if (replay.requests === 0) {
      const { unreadable, undecided } = replay.notReplayed;
      const found = `${unreadable} lines are no audit events, ${undecided} events have no decision`;
      throw new CliError("usage", `no request to replay in ${files.join(", ")}: ${found}`);
    }
    await writeResult(args, io, { data: replay, table: () => replayReport(replay, proposed.chain.names) });
    return replay.nowRefused + replay.nowAllowed === 0 ? "ok" : "changed";
  } finally {
    proposed.close();
  }
}

interface Source {
  readonly requests: AsyncIterable<AuditedRequest>;
  readonly left: NotReplayed;
}

function replayOf(files: readonly string[], io: Io): Source {
  const left: NotReplayed = { undecided: 0, repeated: 0, unreadable: 0, firstUnreadable: undefined };
  return { requests: replayedRequests(files, io, left), left };
}

interface Judges {
  readonly chain: AuthorizerChain;
  readonly relations: RecordedRelations;
}

async function replayed({ requests, left }: Source, { chain, relations }: Judges): Promise<Replay> {
  const tally = replayTally(maxKinds);
  const users = new Set<string>();
  let [count, nowRefused, nowAllowed, nodes, failed] = [0, 0, 0, 0, 0];
  let [first, last] = ["", ""];
  for await (const request of requests) {
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
    tally.add({ attributes, impersonatedBy, wasAllowed, before, beforeBy, time, auditId, ...verdictText(decision) });
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

interface RecordedRelations {
  readonly graph: NodeGraph;
  readonly from: (request: AuditedRequest) => void;
  /** Whether the decision since then depended on what pods a node has. */
  readonly wasAsked: () => boolean;
}

/** No log tells which pods a node had: what depends on them is taken to be as it was decided then. */
function recordedRelations(): RecordedRelations {
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
