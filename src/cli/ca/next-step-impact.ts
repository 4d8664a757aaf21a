import { createHash } from "node:crypto";
import type { Authorities } from "../../ca/ca-folder.ts";
import { newestOf, type CaCheck } from "../../ca/ca-check.ts";
import { credentialOfIssue, isEndedAccess, type AccessGrants } from "../../apis/credential-state.ts";
import type { CredentialIssue, IssuedCredential } from "../../apis/issued-credential.ts";
import type { RevocationIndex } from "../../apis/revocation-index.ts";

/** The effect of the next step on one identity: if the newest CA signed, or if every other CA were removed. */
export interface Impact {
  readonly username: string;
  /** When it proved that it trusts the newest CA, in milliseconds since the epoch. */
  readonly trustsSince: number | undefined;
  /** Whether its credential is of the newest CA, or needs none, as tokens do; relevant once the newest signs. */
  readonly holdsNewest: boolean;
  /** The expiry of its newest credential. */
  readonly expires: string;
  /** Why it would lose its connection, for people; empty where it would not. */
  readonly leftBehind: readonly string[];
}

/** The inputs of the decision for a machine. */
export interface Circumstances {
  readonly authorities: Authorities;
  readonly check: CaCheck;
  readonly revoked: RevocationIndex;
  /** The AccessRequests; undefined where they are not known. */
  readonly grants: AccessGrants | undefined;
  /** In milliseconds since the epoch. */
  readonly now: number;
}

/**
 * The effect on each user with an unexpired credential, those that would lose their connection first. A credential that is revoked until
 * its expiry does not count, nor does access whose request was revoked or deleted: the hub rejects both already.
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

/** The newest credential that is not revoked until its expiry. */
function heldIssue({ spec, status }: IssuedCredential, revoked: RevocationIndex): CredentialIssue | undefined {
  return status?.issued?.findLast(
    (issue) => revoked.find(credentialOfIssue(spec.identity, issue), endOf(issue) - 1) === undefined,
  );
}

function endOf({ notAfter = "" }: CredentialIssue): number {
  const end = Date.parse(notAfter);
  return Number.isNaN(end) ? 0 : end;
}
