import type { Replay } from "../../policy-server/replay.ts";
import type { ReplayChange } from "../../policy-server/replay-tally.ts";
import { requestText } from "../access/request-text.ts";
import { textTable } from "../text-table.ts";

const headings = ["CHANGE", "COUNT", "USER", "REQUEST", "BEFORE", "AFTER"];

/** The changes as a table, and what they come to. */
export function replayReport(replay: Replay, names: readonly string[]): string {
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
