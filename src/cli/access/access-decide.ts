import type { Client } from "../../client/client.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { profileDefaults } from "../../apis/access-profile.ts";
import {
  accessRequests,
  notIssuedIn,
  stateOf,
  type AccessDecision,
  type AccessRequest,
  readKey,
} from "../../apis/access-request.ts";
import { sameWords, pairingWords } from "../../trust/pairing-words.ts";
import type { AccessReview } from "./access-review.ts";
import { grantsText, ownWords } from "./pending-text.ts";
import { CliError, usageError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { Io } from "../io.ts";
import { printable, writeLine } from "../printable.ts";
import type { ServerAccess } from "../server-access.ts";
import { shellWord } from "../../apimachinery/shell-word.ts";
import type { ResolvedKubeconfig } from "../../client/resolve-kubeconfig.ts";
import { certificatesOfBundle } from "../../trust/pins.ts";

/** The decisions about access. */
export type AccessVerdict = AccessDecision["verdict"];

/** The options of the command line, without the request. */
interface AccessAsked {
  readonly verdict: AccessVerdict;
  readonly reason: string | undefined;
  /** The words that the approver typed. */
  readonly words: string | undefined;
}

/** A decision on one request; `seen` is the object that was read, where it was. */
interface AccessAct extends AccessAsked {
  readonly name: string;
  readonly seen: AccessRequest | undefined;
  /** Whether it is one of many that were selected and not named. */
  readonly isBulk: boolean;
  readonly dryRun: boolean;
}

/** The dependencies of a decision. */
export interface AccessDeciding {
  readonly server: ServerAccess;
  readonly io: Io;
  readonly review: (request: AccessRequest) => Promise<AccessReview>;
}

/** Reads the options of a decision on access. */
export function accessAsked(verdict: AccessVerdict, args: Args): AccessAsked {
  const reason = [args.text("reason"), verdict === "Denied" ? args.text("message") : undefined]
    .filter((text) => text !== undefined)
    .join(": ");
  return {
    verdict,
    reason: reason === "" ? undefined : reason,
    words: verdict === "Approved" ? args.text("words") : undefined,
  };
}

const maxTries = 10;

/**
 * Writes the decision and reports it. With words, nothing is written unless they are those of this request and the approver's CA. @throws
 * CliError refused where the words differ, conflict where it was decided otherwise; StatusError
 */
export async function decideAccess(act: AccessAct, deciding: AccessDeciding): Promise<void> {
  const { client } = deciding.server;
  const { name, seen } = act;
  const request = seen ?? (await client.get<AccessRequest>(accessRequests, { name }));
  if (await isDecided(act, request, { ...deciding, warnsOf: act.isBulk ? "nothing" : "care" })) return;
  for (let attempt = 2; attempt <= maxTries; attempt += 1) {
    const now = await client.get<AccessRequest>(accessRequests, { name });
    // A request that was deleted and created again is another one, which the approver has not seen.
    if (request.metadata.uid !== now.metadata.uid) {
      throw conflict(name, "was replaced by another of the same name meanwhile; nothing was done");
    }
    if (await isDecided(act, now, { ...deciding, warnsOf: "nothing" })) return;
  }
  throw conflict(name, "changes all the time; nothing was done");
}

/** Whether the decision is recorded; false where the request was changed meanwhile. */
async function isDecided(
  act: AccessAct,
  request: AccessRequest,
  { server, io, review, warnsOf }: AccessDeciding & { readonly warnsOf: "care" | "nothing" },
): Promise<boolean> {
  const { name, verdict, dryRun } = act;
  const expected = await compared(act, request, server);
  if (isDone(act, request)) {
    io.stdout.write(`accessrequest/${printable(name)} is ${verdict.toLowerCase()} already\n`);
    return true;
  }
  const reviewed = async (one: AccessRequest): Promise<AccessReview | undefined> =>
    verdict === "Approved" ? review(one) : undefined;
  const looked = await reviewed(request);
  if (looked?.needsCare === true && warnsOf === "care") {
    for (const warning of looked.warnings) writeLine(io.stderr, `warning: accessrequest/${name} ${warning}`);
  }
  const after = await written(act, request, server.client);
  if (after === undefined) return false;
  printResult(act, { after, expected, looked: await reviewed(after) }, io);
  if (dryRun && looked !== undefined) io.stdout.write(`${accessSentence(looked)}\n`);
  return true;
}

function conflict(name: string, why: string): CliError {
  return new CliError("conflict", `access request "${name}" ${why}`);
}

/** The words of the approver's side, once the typed ones match; where none were typed: those to compare. */
async function compared(
  act: AccessAct,
  request: AccessRequest,
  { config }: ServerAccess,
): Promise<readonly (readonly string[])[]> {
  const { name, verdict, words, isBulk, dryRun } = act;
  if (verdict !== "Approved" || (isBulk && !dryRun)) return [];
  const expected = await approverWords(request, config);
  if (words === undefined) return expected;
  if (expected.length === 0) {
    throw usageError(
      `the words of accessrequest/${name} cannot be computed: the kubeconfig names no CA (certificate-authority-data), or the request has no key that can be read`,
    );
  }
  if (expected.some((own) => sameWords(own, words))) return expected;
  throw new CliError(
    "refused",
    `these are not the words of accessrequest/${name}; it was not approved`,
    mismatch(expected, words, request),
  );
}

const fewWrong = 2;

/** The right words are not printed: the approver would only type them. */
function mismatch(
  expected: readonly (readonly string[])[],
  typed: string,
  { metadata, status }: AccessRequest,
): readonly string[] {
  const given = typed.toLowerCase().match(/[a-z]+/g) ?? [];
  const wrong = expected.map((own) => own.flatMap((word, at) => (given[at] === word ? [] : [at + 1])));
  const fewest = wrong.toSorted((a, b) => a.length - b.length)[0] ?? [];
  if (given.length === expected[0]?.length && fewest.length <= fewWrong) {
    return [`All but word ${fewest.join(" and ")} agree: have them read again, and type them again.`];
  }
  return [
    "If they were read and typed well, the machine saw another key, another CA or another request than this side:",
    "the connection between the machine and the hub may be intercepted. Then do not approve it, and deny it:",
    `  pratique ${status?.accepted === true ? "revoke" : "deny"} accessrequest/${shellWord(metadata.name ?? "")} --reason "the words differ"`,
  ];
}

/** Whether the decision is recorded already. @throws CliError conflict where it was decided otherwise */
function isDone({ name, verdict }: AccessAct, request: AccessRequest): boolean {
  const { accepted = false, denied = false, revoked = false } = request.status ?? {};
  const isExpired = !accepted && stateOf(request) === "Expired";
  const decided = { accepted, denied, revoked, isExpired };
  const why = obstacles[verdict](decided);
  if (why !== undefined) throw conflict(name, why);
  return decided[fields[verdict]] || (verdict === "Denied" && revoked);
}

interface Decided {
  readonly accepted: boolean;
  readonly denied: boolean;
  readonly revoked: boolean;
  readonly isExpired: boolean;
}

const again = "the machine must create a new request";

/** Why a verdict contradicts an earlier one; undefined where it does not. */
const obstacles: Readonly<Record<AccessVerdict, (decided: Decided) => string | undefined>> = {
  Approved: ({ denied, revoked, isExpired }) => {
    if (revoked) return `is already Revoked; ${again}`;
    if (denied) return `is already Denied; ${again}`;
    return isExpired ? `has expired; ${again}` : undefined;
  },
  Denied: ({ accepted, revoked }) =>
    accepted && !revoked ? "is already Approved; revoke it with pratique revoke" : undefined,
  Revoked: ({ accepted }) => (accepted ? undefined : "was not approved; pratique deny turns it away"),
};

const fields: Readonly<Record<AccessVerdict, "accepted" | "denied" | "revoked">> = {
  Approved: "accepted",
  Denied: "denied",
  Revoked: "revoked",
};

/** The request with the decision; undefined where it was changed meanwhile. */
async function written(act: AccessAct, request: AccessRequest, client: Client): Promise<AccessRequest | undefined> {
  const { name, verdict, reason, words, dryRun } = act;
  const { uid, resourceVersion } = request.metadata;
  const status = {
    [fields[verdict]]: true,
    ...(reason === undefined ? {} : { reason }),
    ...(words === undefined ? {} : { wordsCompared: true }),
  };
  // With its version: the decision is on the object that was read.
  const patch = { metadata: { uid, resourceVersion }, status };
  try {
    return await client.patch<AccessRequest>(accessRequests, { name }, patch, { subresource: "status", dryRun });
  } catch (error) {
    if (error instanceof StatusError && isStale(error)) return undefined;
    if (error instanceof StatusError && error.reason === "Invalid") throw new CliError("conflict", error.message);
    throw error;
  }
}

/** A stale version is a conflict; the uid of another object is a conflict to some servers, and an immutable field to others. */
function isStale({ reason, details }: StatusError): boolean {
  return reason === "Conflict" || details?.causes?.some(({ field }) => field === "metadata.uid") === true;
}

interface DecisionResult {
  readonly after: AccessRequest;
  readonly expected: readonly (readonly string[])[];
  readonly looked: AccessReview | undefined;
}

function printResult({ name, verdict, words, dryRun }: AccessAct, result: DecisionResult, io: Io): void {
  const shown = `accessrequest/${printable(name)}`;
  const dry = dryRun ? " (dry run)" : "";
  if (verdict !== "Approved") {
    io.stdout.write(`${shown} ${verdict.toLowerCase()}${dry}\n`);
    return;
  }
  io.stdout.write(`${shown} ${result.after.status?.accepted === true ? "approved" : partly(result)}${dry}\n`);
  if (words !== undefined) {
    io.stdout.write("The words agree: machine and approver see the same key, CA and request.\n");
    return;
  }
  if (result.expected.length === 0) return;
  const own = result.expected.map((one) => one.join(" ")).join('" or "');
  for (const line of [
    `note: ${shown} ${dryRun ? "would be" : "was"} approved without comparing words. The machine must show: "${own}"`,
    ...(dryRun
      ? []
      : [`      If it shows others, the connection is intercepted: pratique revoke accessrequest/${shellWord(name)}`]),
  ]) {
    writeLine(io.stderr, line);
  }
}

function partly({ looked }: DecisionResult): string {
  const have = looked?.approvals.length ?? 0;
  const approvers = looked?.grants?.approvers;
  if (approvers === undefined || approvers <= profileDefaults.approvers) {
    return "approved by you; other approvers must approve it as well";
  }
  const missing = approvers - have;
  return `approved by you, ${have} of ${approvers}: ${missing === 1 ? "1 other approver" : `${missing} other approvers`} must approve it as well`;
}

const shortPollMs = 100;
const shortLooks = 20;

/**
 * Watches the result of an approval for two seconds, enough for a running controller. @throws CliError failed where access cannot be
 * issued; StatusError
 */
export async function reportObstacle(name: string, client: Client, io: Io): Promise<void> {
  const signal = io.interrupted();
  for (let look = 1; look <= shortLooks && !signal.aborted; look += 1) {
    const { status = {} } = await client.get<AccessRequest>(accessRequests, { name });
    if (status.accepted !== true || status.ready === true) return;
    const obstacle = notIssuedIn(status);
    if (obstacle !== undefined) throw notIssued(name, obstacle);
    await io.clock.sleep(shortPollMs, signal);
  }
}

function notIssued(name: string, { reason, message, mayPass }: NonNullable<ReturnType<typeof notIssuedIn>>): CliError {
  const approved = `access request "${name}" was approved`;
  if (!mayPass) return new CliError("failed", `${approved} and nothing was issued: ${message}`);
  return new CliError("failed", `${approved}, and access cannot be issued yet (${reason}): ${message}`, [
    "Access is issued as soon as that is corrected. Until then pratique pending shows the request.",
  ]);
}

const pollMs = 1000;

/** Waits until the answer is issued, and reports it. @throws CliError failed, conflict, timedOut; StatusError */
export async function awaitIssued(
  { name, until }: { readonly name: string; readonly until: number },
  client: Client,
  io: Io,
): Promise<void> {
  const signal = io.interrupted();
  for (;;) {
    const { status = {} } = await client.get<AccessRequest>(accessRequests, { name });
    if (status.ready === true) {
      io.stdout.write(`accessrequest/${printable(name)} issued, valid until ${printable(status.expiresAt ?? "")}\n`);
      return;
    }
    const isLast = io.clock.now() + pollMs > until;
    const problem = problemOf(name, status, isLast);
    if (problem !== undefined) throw problem;
    if (signal.aborted) throw new CliError("interrupted", `stopped before access request "${name}" was issued`);
    if (isLast) {
      throw new CliError("timedOut", `access request "${name}" is not issued yet; it goes on without waiting`);
    }
    await io.clock.sleep(pollMs, signal);
  }
}

/**
 * The six words that the machine must show, once for each CA of the approver's kubeconfig: from the key in the API and the CA that the
 * approver trusts, with no input from the machine. Empty where the kubeconfig names no CA or the request has no key. @throws PinError
 */
export async function approverWords(
  request: AccessRequest,
  { caPem }: Pick<ResolvedKubeconfig, "caPem">,
): Promise<readonly (readonly string[])[]> {
  const key = readKey(request);
  const { name = "", uid = "" } = request.metadata;
  if (key === undefined || caPem === undefined) return [];
  const pins = new Set(certificatesOfBundle(caPem).map(({ pin }) => pin));
  return Promise.all([...pins].map((caPin) => pairingWords({ name, uid, fingerprint: key.fingerprint, caPin })));
}

function problemOf(name: string, status: NonNullable<AccessRequest["status"]>, isLast: boolean): CliError | undefined {
  const obstacle = notIssuedIn(status);
  if (obstacle !== undefined && (!obstacle.mayPass || isLast)) return notIssued(name, obstacle);
  const isTakenBack = status.denied === true || status.revoked === true;
  return isTakenBack ? conflict(name, "was taken back meanwhile") : undefined;
}

/** One request as one escaped line below its decision. */
function accessSentence(review: AccessReview): string {
  const parts = [
    `profile ${review.profile ?? "<default>"}`,
    `grants ${grantsText(review)}`,
    `key ${review.fingerprint ?? "<unreadable>"}`,
    `from ${review.sourceAddress ?? "<unknown>"}`,
    `says ${ownWords(review) || "nothing"}`,
  ];
  return printable(`  ${review.name}: ${parts.join("; ")}`);
}
