import { nodeUserPrefix } from "../../apimachinery/user.ts";
import { credentialState } from "../../apis/credential-state.ts";
import type { ObjectReference } from "../../apis/event.ts";
import { issuedCredentials, type CredentialIssue, type IssuedCredential } from "../../apis/issued-credential.ts";
import { referenceTo, type Report } from "../report.ts";

/**
 * That a credential was issued: the first of its identity, a renewal, or one for another key that its holder did not request itself, while
 * a certificate of an earlier key is valid.
 */
export function issueReport(about: ObjectReference, record: IssuedCredential, issue: CredentialIssue): Report {
  const { username, purpose } = record.spec.identity;
  const isFirst = (record.status?.count ?? 1) <= 1;
  const what = `${purpose.toLowerCase()} credential of ${username}`;
  const other = otherKey(record, issue);
  if (other !== undefined) {
    const until = other.notAfter ?? "an unknown time";
    return {
      reason: "CertificateIssued",
      about,
      message: `${what} issued for a second key, ${issue.key}, valid until ${issue.notAfter ?? "an unknown time"}; the certificate of its earlier key, ${other.key}, is valid until ${until}. If no machine is to have that one: pratique revoke ${other.request ?? `--fingerprint ${fingerprintIn(other)}`}`,
      details: detailsOf(username, issue),
    };
  }
  return {
    reason: isFirst ? "CertificateIssued" : "CredentialRenewed",
    about,
    message: `${what} ${isFirst ? "issued" : "renewed"}, valid until ${issue.notAfter ?? "an unknown time"}`,
    details: detailsOf(username, issue),
  };
}

function detailsOf(user: string, issue: CredentialIssue): NonNullable<Report["details"]> {
  return {
    user,
    requester: issue.requestedBy,
    approver: issue.approvedBy,
    fingerprint: issue.key,
    serial: issue.serialNumber,
    request: issue.request,
  };
}

/** Of a node: the newest certificate of another key that is valid when this one begins, unless the holder of the name requested this one itself. */
function otherKey({ spec, status }: IssuedCredential, issue: CredentialIssue): CredentialIssue | undefined {
  const { username, purpose } = spec.identity;
  const { issued = [] } = status ?? {};
  const isOwn = issue.requestedBy === undefined || issue.requestedBy === username;
  if (purpose !== "Client" || !username.startsWith(nodeUserPrefix) || isOwn || issue.key === undefined)
    return undefined;
  const begun = Date.parse(issue.notBefore ?? "");
  const earlier = issued.filter(({ credentialID }) => credentialID !== issue.credentialID);
  if (earlier.some(({ key }) => key === issue.key)) return undefined;
  return earlier.findLast(({ key, notAfter }) => key !== undefined && Date.parse(notAfter ?? "") > begun);
}

function fingerprintIn({ credentialID = "" }: CredentialIssue): string {
  return credentialID.replace(/^X509SHA256=/, "");
}

/** That a credential was not renewed in time, and whether its holder was seen. */
export function expiryReport(
  record: IssuedCredential,
  { now, notAfter }: { readonly now: number; readonly notAfter: string },
): Report {
  const { username, purpose } = record.spec.identity;
  const isMissing = credentialState(record, now) === "missing";
  const seen = record.status?.lastSeen ?? "never";
  const why = isMissing ? `it was not seen within its renewal window, last seen: ${seen}` : "it has not been renewed";
  const isOver = now >= Date.parse(notAfter);
  return {
    reason: isOver ? "CredentialExpired" : isMissing ? "CredentialUnseen" : "CredentialExpiring",
    about: referenceTo(issuedCredentials, record),
    message: `The ${purpose.toLowerCase()} credential of ${username} ${isOver ? "ended" : "ends"} at ${notAfter}: ${why}.`,
    details: { user: username },
  };
}
