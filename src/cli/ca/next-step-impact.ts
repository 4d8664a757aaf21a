import { createHash } from "node:crypto";
import type { Authorities } from "../../ca/ca-folder.ts";
import { newestOf, type CaCheck } from "../../ca/ca-check.ts";
import { credentialOfIssue, isEndedAccess, type AccessGrants } from "../../apis/credential-state.ts";
import type { CredentialIssue, IssuedCredential } from "../../apis/issued-credential.ts";
import type { RevocationIndex } from "../../apis/revocation-index.ts";

/** How one identity would fare at the next step: if the newest CA signed, or if every CA but the newest were gone. */
export interface Impact {
  readonly username: string;
  /** When it has shown that it trusts the newest CA, in milliseconds since the epoch. */
  readonly trustsSince: number | undefined;
  /** Whether what it holds is of the newest CA, or needs none, as tokens do; that counts once the newest signs. */
  readonly holdsNewest: boolean;
  /** When its newest credential ends. */
  readonly expires: string;
  /** Why it would be left behind, for people; empty where it would not. */
  readonly leftBehind: readonly string[];
}

/** What the fate of a machine hangs on. */
export interface Circumstances {
  readonly authorities: Authorities;
  readonly check: CaCheck;
  readonly revoked: RevocationIndex;
  /** What AccessRequests grant; undefined where that is not known. */
  readonly grants: AccessGrants | undefined;
  /** In milliseconds since the epoch. */
  readonly now: number;
}

/**
 * The fate of each user who holds a credential that has not ended, those that would be left behind first. A credential that is revoked for
 * as long as it lasts does not count, nor does access whose request was revoked or deleted: the hub refuses both already.
 */
export function impactsOf(
  records: readonly IssuedCredential[],
  { authorities, check, revoked, grants, now }: Circumstances,
): readonly Impact[] {
  const newest = newestOf(authorities) ?? authorities.signer;
  const ownName = createHash("sha256").update(newest.rawSubject).digest("hex");
  const isCurrent = check.pin === newest.pin;
  const signs = newest === authorities.signer;
  const byUser = new Map<string, CredentialIssue[]>();
  for (const record of records) {
    if (isEndedAccess(record, grants, now)) continue;
    const { username } = record.spec.identity;
    const held = heldIssue(record, revoked);
    if (held !== undefined && endOf(held) > now) byUser.set(username, [...(byUser.get(username) ?? []), held]);
  }
  const impacts = [...byUser].map(([username, issues]): Impact => {
    const trustsSince = isCurrent ? check.shown.get(username) : undefined;
    const holdsNewest = issues.every(({ issuer }) => issuer === undefined || issuer === ownName);
    const expires =
      issues
        .map(({ notAfter = "" }) => notAfter)
        .toSorted()
        .at(-1) ?? "";
    const leftBehind = [
      ...(trustsSince === undefined ? ["has not shown that it trusts the newest CA"] : []),
      ...(holdsNewest || !signs ? [] : ["holds a certificate of the previous CA"]),
    ];
    return { username, trustsSince, holdsNewest, expires, leftBehind };
  });
  return impacts.toSorted(
    (one, other) => other.leftBehind.length - one.leftBehind.length || (one.username < other.username ? -1 : 1),
  );
}

/** The newest credential that is not revoked to its end. */
function heldIssue({ spec, status }: IssuedCredential, revoked: RevocationIndex): CredentialIssue | undefined {
  return status?.issued?.findLast(
    (issue) => revoked.find(credentialOfIssue(spec.identity, issue), endOf(issue) - 1) === undefined,
  );
}

function endOf({ notAfter = "" }: CredentialIssue): number {
  const end = Date.parse(notAfter);
  return Number.isNaN(end) ? 0 : end;
}
