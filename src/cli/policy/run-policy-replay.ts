import type { Run } from "../command.ts";
import { writeResult, textTable } from "../output.ts";
import { proposedChain } from "../../policy-server/proposed-chain.ts";
import { release } from "../release.ts";
import { proposedChainOf, proposedRbacOf } from "./policy-flags.ts";
import { recordedRelations, replay, type Replay, type ReplayChange } from "../../policy-server/replay.ts";
import { verdictText, requestText } from "./decision-text.ts";
import { usageError } from "../cli-error.ts";

/** A log contains the same request many times; a webhook is called once about each. */
const cacheMs = 3_600_000;

const proposals = [
  "policy",
  "bundle",
  "cel",
  "opa-url",
  "authorization-config",
  "authorization-policy-file",
  "authorization-webhook-config-file",
] as const;

/** Runs the requests of audit logs through a chain that is not in force, and prints which decisions would change. */
export const runPolicyReplay: Run = async (args, io) => {
  const files = args.list("audit-log");
  if (files.length === 0) throw usageError("--audit-log is needed: which requests to replay");
  const lists = [...args.list("rbac"), ...args.list("authorization-mode")];
  const ofServer = args.text("rbac-base") === "server";
  if (lists.length === 0 && !ofServer && proposals.every((name) => args.text(name) === undefined)) {
    throw usageError("nothing is proposed: --policy, --rbac or another option must say what would decide");
  }
  const relations = recordedRelations();
  const index = await proposedRbacOf(args, io);
  const proposed = await proposedChain({
    ...proposedChainOf(args),
    world: io,
    release,
    index,
    graph: relations.graph,
    cacheMs,
  });
  try {
    const found = await replay(files, io, { chain: proposed.chain, relations, describe: verdictText });
    if (found.requests === 0) {
      const { unreadable, undecided } = found.notReplayed;
      const counts = `${unreadable} lines are no audit events, ${undecided} events have no decision`;
      throw usageError(`no request to replay in ${files.join(", ")}: ${counts}`);
    }
    await writeResult(args, io, { data: found, table: () => replayReport(found, proposed.chain.names) });
    return found.nowRefused + found.nowAllowed === 0 ? "ok" : "changed";
  } finally {
    proposed.close();
  }
};

const headings = ["CHANGE", "COUNT", "USER", "REQUEST", "BEFORE", "AFTER"];

/** The changes as a table, and their totals. */
function replayReport(replay: Replay, names: readonly string[]): string {
  const table = replay.changes.length === 0 ? "" : `${textTable({ headings, rows: replay.changes.map(rowOf) })}\n`;
  return `${table}${[...conclusion(replay, names), ...remarks(replay)].join("\n")}\n`;
}

function rowOf(change: ReplayChange): readonly string[] {
  const {
    user,
    impersonatedBy,
    before,
    beforeBy,
    by,
    why,
    verb,
    apiGroup: group,
    resource,
    subresource,
    namespace,
  } = change;
  const asked = { verb, group, resource, subresource, namespace, name: "", path: change.path };
  return [
    change.change,
    String(change.count),
    impersonatedBy === undefined ? user : `${user} (impersonated by ${impersonatedBy})`,
    requestText(asked),
    answer(beforeBy, before) || (change.change === "now refused" ? "allowed" : "refused"),
    by === "nobody" ? why : answer(by, why),
  ];
}

/** Reasons of RBAC begin with its name. */
function answer(by: string, why: string): string {
  return why.startsWith(`${by}: `) ? why : [by, why].filter((text) => text !== "").join(": ");
}

function conclusion(replay: Replay, names: readonly string[]): readonly string[] {
  const { requests, users, first, last, nowRefused, nowAllowed } = replay;
  const chain = `the chain ${names.filter((name) => name !== "Masters").join(", ")}`;
  const same = requests - nowRefused - nowAllowed;
  return [
    `${counted(requests, "request")} of ${counted(users, "user")}, ${first.slice(0, 19)} to ${last.slice(0, 19)}, put to ${chain}:`,
    `  now refused: ${nowRefused}, now allowed: ${nowAllowed}, as before: ${same}.`,
  ];
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function remarks({ failed, asRecorded, notReplayed, others }: Replay): readonly string[] {
  const { unreadable, firstUnreadable, undecided } = notReplayed;
  const more = others["now refused"] + others["now allowed"];
  return [
    ...(more === 0 ? [] : [`  ${more} changed requests are of kinds that found no place above.`]),
    ...(failed === 0 ? [] : [`  On ${failed} requests an authorizer failed; see AFTER, or -o json.`]),
    ...(asRecorded === 0
      ? []
      : [
          `  ${asRecorded} requests of nodes depend on their pods, which no log tells; Node is taken to decide as it did.`,
        ]),
    ...(undecided === 0
      ? []
      : [`  ${undecided} events hold no decision (not authenticated, or refused before) and were left out.`]),
    ...(unreadable === 0
      ? []
      : [`  ${unreadable} lines are no audit events and were left out; the first is ${firstUnreadable ?? ""}.`]),
  ];
}
