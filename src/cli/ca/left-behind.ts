import { createHash } from "node:crypto";
import type { Authorities } from "../../hub/authority-folder.ts";
import { newestOf, type Rehearsal } from "../../hub/ca-rehearsal.ts";
import type { CredentialIssue, IssuedCredential } from "../../resources/issued-credential.ts";

/** How one identity would fare at the next step: if the newest CA signed, or if every CA but the newest were gone. */
export interface Fate {
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

/** The fate of everybody who holds something that has not ended, those that would be left behind first. */
export function fatesOf(
  records: readonly IssuedCredential[],
  {
    authorities,
    rehearsal,
    now,
  }: { readonly authorities: Authorities; readonly rehearsal: Rehearsal; readonly now: number },
): readonly Fate[] {
  const newest = newestOf(authorities) ?? authorities.signer;
  const ownName = createHash("sha256").update(newest.rawSubject).digest("hex");
  const isCurrent = rehearsal.pin === newest.pin;
  const signs = newest === authorities.signer;
  const byUser = new Map<string, IssuedCredential[]>();
  for (const record of records) {
    const { username } = record.spec.identity;
    if (endOf(newestIssue(record)) > now) byUser.set(username, [...(byUser.get(username) ?? []), record]);
  }
  const fates = [...byUser].map(([username, own]): Fate => {
    const trustsSince = isCurrent ? rehearsal.shown.get(username) : undefined;
    const issues = own.map(newestIssue);
    const holdsNewest = issues.every((issue) => issue?.issuer === undefined || issue.issuer === ownName);
    const expires =
      issues
        .map((issue) => issue?.notAfter ?? "")
        .toSorted()
        .at(-1) ?? "";
    const leftBehind = [
      ...(trustsSince === undefined ? ["has not shown that it trusts the newest CA"] : []),
      ...(holdsNewest || !signs ? [] : ["holds a certificate of the CA before"]),
    ];
    return { username, trustsSince, holdsNewest, expires, leftBehind };
  });
  return fates.toSorted(
    (one, other) => other.leftBehind.length - one.leftBehind.length || (one.username < other.username ? -1 : 1),
  );
}

function newestIssue({ status }: IssuedCredential): CredentialIssue | undefined {
  return status?.issued?.at(-1);
}

function endOf(issue: CredentialIssue | undefined): number {
  const end = Date.parse(issue?.notAfter ?? "");
  return Number.isNaN(end) ? 0 : end;
}
