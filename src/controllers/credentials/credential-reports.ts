import { credentialState } from "../../resources/credential-state.ts";
import type { ObjectReference } from "../../resources/event.ts";
import { issuedCredentials, type CredentialIssue, type IssuedCredential } from "../../resources/issued-credential.ts";
import { referenceTo, type Told } from "../told.ts";

/** That a credential was issued: the first of its identity, or a further one. */
export function issueReport(about: ObjectReference, record: IssuedCredential, issue: CredentialIssue): Told {
  const { username, purpose } = record.spec.identity;
  const isFirst = (record.status?.count ?? 1) <= 1;
  const what = `${purpose.toLowerCase()} credential of ${username}`;
  return {
    reason: isFirst ? "CertificateIssued" : "CredentialRenewed",
    about,
    message: `${what} ${isFirst ? "issued" : "renewed"}, valid until ${issue.notAfter ?? "an unknown time"}`,
    details: {
      user: username,
      requester: issue.requestedBy,
      approver: issue.approvedBy,
      fingerprint: issue.key,
      serial: issue.serialNumber,
      request: issue.request,
    },
  };
}

/** That a credential was not renewed in time, and whether its holder was seen. */
export function expiryReport(
  record: IssuedCredential,
  { now, notAfter }: { readonly now: number; readonly notAfter: string },
): Told {
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
