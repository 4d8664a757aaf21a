import { nodeReturningAs, returningGroup } from "../../apimachinery/expired-credential.ts";
import { nodeUserPrefix } from "../../apimachinery/user.ts";
import type { CredentialIssue, IssuedCredential } from "../../apis/issued-credential.ts";

/** A certificate of a node, and an earlier one with another key that is valid too. */
export interface SecondKey {
  readonly earlier: CredentialIssue;
  /** Not requested by the node itself, so no renewal. */
  readonly later: CredentialIssue;
}

/** How to judge the certificates of a record. */
export interface KeyCircumstances {
  readonly isRevoked: (issue: CredentialIssue) => boolean;
  /** In milliseconds since the epoch. */
  readonly now: number;
}

/**
 * The newest client certificate of a node that another requester was given while an earlier one with another key was and is valid. A
 * renewal, which the node itself requests, brings another key as well and does not count.
 */
export function secondKeyOf(record: IssuedCredential, { isRevoked, now }: KeyCircumstances): SecondKey | undefined {
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

/** What a person reads about it, and what to do next. Not escaped. */
export function secondKeyText(username: string, { earlier, later }: SecondKey): string {
  return `${username}: two client certificates with different keys are valid: ${issueText(earlier)}, and ${issueText(later)}. If one machine joined twice, revoke the earlier one; if two machines use this node name, revoke the one that must not: ${revokeLine(earlier)}, or ${revokeLine(later)}`;
}

function issueText({ key = "", request = "", requestedBy = "", notAfter = "" }: CredentialIssue): string {
  return `${key} (${request}, requested by ${requestedBy}, valid until ${notAfter})`;
}

function revokeLine({ credentialID = "" }: CredentialIssue): string {
  return `pratique revoke --fingerprint ${credentialID.slice(credentialID.indexOf("=") + 1)}`;
}
