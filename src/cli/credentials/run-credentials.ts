import { ignoreReasons } from "../../client/api-errors.ts";
import type { Client } from "../../client/client.ts";
import { humanDuration } from "../../apimachinery/duration.ts";
import { nodeUserPrefix } from "../../apimachinery/user.ts";
import {
  credentialOfIssue,
  credentialState,
  credentialStates,
  isEndedAccess,
  newestIssue,
  type CredentialState,
  accessGrants,
  type AccessGrants,
} from "../../apis/credential-state.ts";
import { issuedCredentials, type CredentialIssue, type IssuedCredential } from "../../apis/issued-credential.ts";
import { CliError } from "../cli-error.ts";
import type { Run } from "../command.ts";
import { writeResult, textTable } from "../output.ts";
import { printable } from "../printable.ts";
import { withServer } from "../server-access.ts";
import { nodeReturningAs, returningGroup } from "../../apimachinery/expired-credential.ts";
import { accessRequests, type AccessRequest } from "../../apis/access-request.ts";
import { clonedAnnotation, credentialRevocations } from "../../apis/credential-revocation.ts";
import { revocationIndex, type RevocationIndex } from "../../apis/revocation-index.ts";

/** The state of an identity; `cloned` and `revoked` take precedence. */
type ShownState = CredentialState | "revoked" | "cloned";

interface Row {
  readonly record: IssuedCredential;
  readonly newest: CredentialIssue;
  readonly state: ShownState;
  readonly secondKey: SecondKey | undefined;
}

const careful: ReadonlySet<ShownState> = new Set(["cloned", "missing", "late", "expired"]);

/** Prints the records, those that need care first. */
export const runCredentials: Run = async (args, io) => {
  return withServer(args, io, async ({ client }) => {
    const now = io.clock.now();
    // In this order: a record is created after its request, so a request that is missing then was deleted.
    const records = await recordsOf(client);
    const revoked = await revocationsOf(client);
    const rows = records
      .map((record) => rowOf(record, revoked, now))
      .filter((row) => !args.on("care") || needsCare(row))
      .toSorted((one, other) => rank(one) - rank(other) || compare(nameOf(one), nameOf(other)));
    await writeResult(args, io, {
      data: rows.map(({ record, state, secondKey }) => ({
        state,
        ...record.spec.identity,
        ...record.status,
        ...(secondKey === undefined ? {} : { validKeys: [secondKey.earlier.key, secondKey.later.key] }),
      })),
      table: () =>
        rows.length > 0 ? tableText(rows, now) : args.on("care") ? "nothing needs care\n" : "nothing has been issued\n",
    });
  });
};

async function recordsOf(client: Client): Promise<readonly IssuedCredential[]> {
  const records = await ignoreReasons(client.list<IssuedCredential>(issuedCredentials), "NotFound");
  if (records !== undefined) return records.items;
  throw new CliError("notFound", "this API keeps no record of what was issued; a hub does");
}

function rowOf(record: IssuedCredential, { index, clones, grants }: Revoked, now: number): Row {
  const newest = newestIssue(record) ?? {};
  const revocation = index.find(credentialOfIssue(record.spec.identity, newest), now);
  const endedState =
    revocation === undefined
      ? isEndedAccess(record, grants, now)
        ? "revoked"
        : undefined
      : clones.has(revocation.name)
        ? "cloned"
        : "revoked";
  const isRevoked = (issue: CredentialIssue): boolean =>
    index.find(credentialOfIssue(record.spec.identity, issue), now) !== undefined;
  const secondKey = secondKeyOf(record, { isRevoked, now });
  return { record, newest, state: endedState ?? credentialState(record, now), secondKey };
}

function needsCare({ state, secondKey }: Row): boolean {
  return careful.has(state) || secondKey !== undefined;
}

function rank({ state, secondKey }: Row): number {
  if (state === "cloned") return -2;
  if (secondKey !== undefined) return -1;
  return state === "revoked" ? credentialStates.length : credentialStates.indexOf(state);
}

function nameOf({ record }: Row): string {
  const { username } = record.spec.identity;
  return username.startsWith(nodeUserPrefix) ? username.slice(nodeUserPrefix.length) : username;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function tableText(rows: readonly Row[], now: number): string {
  const table = textTable({
    headings: ["", "IDENTITY", "PURPOSE", "STATE", "EXPIRES", "LAST SEEN", "APPROVED BY", "ISSUED"],
    rows: rows.map((row) => {
      const { record, newest, state } = row;
      const { purpose, username } = record.spec.identity;
      return [
        needsCare(row) ? "!" : "",
        username,
        purpose.toLowerCase(),
        careful.has(state) ? state.toUpperCase() : state,
        when(newest.notAfter, now),
        purpose === "Serving" ? "-" : when(record.status?.lastSeen, now, "never"),
        approverText(newest.approvedBy ?? ""),
        `${record.status?.count ?? 0}${row.secondKey === undefined ? "" : " (2 KEYS VALID)"}`,
      ];
    }),
  });
  const notes = rows.flatMap(careTexts).map((text) => `! ${printable(text)}\n`);
  return [table, "\n", lastSeenNote, ...notes].join("");
}

const lastSeenNote =
  "LAST SEEN is up to ten minutes old; for a credential that is valid for minutes, up to half a minute\n";

const ownAccounts = "system:serviceaccount:kube-system:";

function approverText(approvedBy: string): string {
  if (approvedBy.startsWith(ownAccounts)) return `by itself (${approvedBy.slice(ownAccounts.length)})`;
  return approvedBy || "-";
}

function careTexts(row: Row): readonly string[] {
  const { secondKey, record, state } = row;
  return [
    ...(careful.has(state) ? [careText(row)] : []),
    ...(secondKey === undefined ? [] : [secondKeyText(record.spec.identity.username, secondKey)]),
  ];
}

function careText(row: Row): string {
  const { state, newest, record } = row;
  const { username } = record.spec.identity;
  const end = newest.notAfter ?? "";
  if (state === "cloned")
    return `${username}: two machines hold it, and both are locked out: pratique revocations list, docs/recovery.md`;
  if (state === "expired") {
    const returns = username.startsWith(nodeUserPrefix) || record.spec.identity.purpose === "Access";
    const then = returns
      ? "its agent may ask to come back: pratique pending, docs/recovery.md"
      : "it must create a new request";
    return `${username}: its last credential ended at ${end}; ${then}`;
  }
  if (state === "late")
    return `${username}: its renewal window is over, and it has not renewed; its credential ends at ${end}`;
  return `${username}: not seen within its renewal window; its credential ends at ${end}, and it can renew only until then`;
}

function when(time: string | undefined, now: number, none = "-"): string {
  const at = Date.parse(time ?? "");
  if (Number.isNaN(at)) return none;
  return at <= now ? `${humanDuration(now - at)} ago` : `in ${humanDuration(at - now)}`;
}

/** A certificate of a node, and an earlier one with another key that is valid too. */
interface SecondKey {
  readonly earlier: CredentialIssue;
  /** Not requested by the node itself, so no renewal. */
  readonly later: CredentialIssue;
}

/** The inputs for the certificates of a record. */
interface KeyCircumstances {
  readonly isRevoked: (issue: CredentialIssue) => boolean;
  /** In milliseconds since the epoch. */
  readonly now: number;
}

/**
 * The newest client certificate of a node that another requester obtained while an earlier one with another key was valid, and still is.
 * A renewal, which the node itself requests, has another key as well and does not count.
 */
function secondKeyOf(record: IssuedCredential, { isRevoked, now }: KeyCircumstances): SecondKey | undefined {
  const { username, purpose } = record.spec.identity;
  if (purpose !== "Client" || !username.startsWith(nodeUserPrefix)) return undefined;
  const valid = (record.status?.issued ?? []).filter(
    (issue) => issue.key !== undefined && Date.parse(issue.notAfter ?? "") > now && !isRevoked(issue),
  );
  for (const later of valid.toReversed()) {
    if (isOwnRequest(later, username)) continue;
    const earlier = valid.slice(0, valid.indexOf(later)).findLast(({ key }) => key !== later.key);
    if (earlier !== undefined) return { earlier, later };
  }
  return undefined;
}

function isOwnRequest({ requestedBy = "" }: CredentialIssue, username: string): boolean {
  return requestedBy === username || nodeReturningAs({ username: requestedBy, groups: [returningGroup] }) === username;
}

/** The explanation of the state, and the next step. Not escaped. */
function secondKeyText(username: string, { earlier, later }: SecondKey): string {
  return `${username}: two client certificates with different keys are valid: ${issueText(earlier)}, and ${issueText(later)}. If one machine joined twice, revoke the earlier one; if two machines use this node name, revoke the one that must not: ${revokeLine(earlier)}, or ${revokeLine(later)}`;
}

function issueText({ key = "", request = "", requestedBy = "", notAfter = "" }: CredentialIssue): string {
  return `${key} (${request}, requested by ${requestedBy}, valid until ${notAfter})`;
}

function revokeLine({ credentialID = "" }: CredentialIssue): string {
  return `pratique revoke --fingerprint ${credentialID.slice(credentialID.indexOf("=") + 1)}`;
}

/** The revocations that the caller may read. */
interface Revoked {
  readonly index: RevocationIndex;
  /** The AccessRequests; undefined where the server has none, or where they may not be listed. */
  readonly grants: AccessGrants | undefined;
  /** Names of revocations that were created because two machines have one identity. */
  readonly clones: ReadonlySet<string>;
}

/** All revocations of a server; empty where it has no such kind, or where they may not be listed. @throws StatusError */
export async function revocationsOf(client: Client): Promise<Revoked> {
  const index = revocationIndex();
  const clones = new Set<string>();
  const revocations = await ignoreReasons(client.list(credentialRevocations), "Forbidden", "NotFound");
  for (const object of revocations?.items ?? []) {
    index.put(object);
    if (object.metadata.annotations?.[clonedAnnotation] !== undefined) clones.add(object.metadata.name ?? "");
  }
  return { index, clones, grants: await grantsOf(client) };
}

async function grantsOf(client: Client): Promise<AccessGrants | undefined> {
  const requests = await ignoreReasons(client.list<AccessRequest>(accessRequests), "Forbidden", "NotFound");
  return requests && accessGrants(requests.items);
}
