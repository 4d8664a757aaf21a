import type { CredentialIssue, IssuedCredential } from "../../apis/issued-credential.ts";

/**
 * How the credential with which somebody asks for the next one stands among all that its identity was given. `unknown`: no record has
 * it; `newest`; `repeated`: a later one is of the very key that is asked with now, so an answer was lost; `superseded`: there are
 * later ones that nobody has ever come in with, so answer and key were lost; `cloned`: a later one is in use elsewhere.
 */
export type CredentialStatus = "unknown" | "newest" | "repeated" | "superseded" | "cloned";

/** What is known of somebody that asks for the next credential. */
export interface CredentialStatusView {
  readonly record: IssuedCredential | undefined;
  /** Of the credential with which it asks. */
  readonly ids: readonly string[];
  /** The fingerprint of the key for which it asks. */
  readonly key: string;
  readonly isUsed: (issue: CredentialIssue) => boolean;
  /** What is revoked counts as never issued. */
  readonly isRevoked: (issue: CredentialIssue) => boolean;
}

/** A standing, with the credentials that it is about. */
export interface FoundCredentialStatus {
  readonly credentialStatus: CredentialStatus;
  readonly asking: CredentialIssue | undefined;
  /** Those issued after it. */
  readonly later: readonly CredentialIssue[];
}

/** Judges by the order in which credentials were issued. */
export function findCredentialStatus({
  record,
  ids,
  key,
  isUsed,
  isRevoked,
}: CredentialStatusView): FoundCredentialStatus {
  const issued = record?.status?.issued ?? [];
  const at = issued.findIndex(({ credentialID = "" }) => credentialID !== "" && ids.includes(credentialID));
  if (at === -1) return { credentialStatus: "unknown", asking: undefined, later: [] };
  const later = issued.slice(at + 1).filter((issue) => !isRevoked(issue));
  return { credentialStatus: statusAmong(later), asking: issued[at], later };

  function statusAmong(newer: readonly CredentialIssue[]): CredentialStatus {
    if (newer.length === 0) return "newest";
    if (newer.some((issue) => issue.key === key)) return "repeated";
    return newer.some(isUsed) ? "cloned" : "superseded";
  }
}
