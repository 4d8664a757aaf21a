import { findCondition } from "../../apimachinery/conditions.ts";
import { createHash } from "node:crypto";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { dnsSubdomainProblems } from "../../apimachinery/names.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { nodeReturningAs, returningGroup } from "../../apimachinery/expired-credential.ts";
import { nodeUserPrefix } from "../../apimachinery/user.ts";
import { parseCertificate } from "../../pki/parse-certificate.ts";
import { CertificateError } from "../../pki/certificate.ts";
import { keyFingerprint } from "../../pki/keys.ts";
import { PemError, decodePem } from "../../pki/pem.ts";
import { oids } from "../../pki/oids.ts";
import { subjectOf } from "../../pki/names.ts";
import type { AccessRequest, AccessRequestStatus } from "../../apis/access-request.ts";
import { csrDeciderOf } from "../../apis/certificate-signing-request.ts";
import {
  issuedCredentials,
  type CredentialIdentity,
  type CredentialIssue,
  type IssuedCredential,
} from "../../apis/issued-credential.ts";
import { maxRecoveries } from "../../apis/schemas/access.ts";
import { csrView } from "../certificates/csr-view.ts";

/** One credential and its identity. */
export interface Issue {
  readonly identity: CredentialIdentity;
  readonly issue: CredentialIssue;
}

/** The maximum number of credentials in a record. */
const maxIssues = 8;

/** The name of the record of an identity: readable for nodes and machines, a digest for names that are no valid object names. */
export function recordName({ username, purpose }: CredentialIdentity): string {
  const [, namespace, account] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username) ?? [];
  const plain = username.startsWith(nodeUserPrefix)
    ? `node.${username.slice(nodeUserPrefix.length)}`
    : namespace === undefined
      ? undefined
      : `account.${namespace}.${account}`;
  const word = purpose.toLowerCase();
  const name = `${word}.${plain}`;
  if (plain !== undefined && dnsSubdomainProblems(name).length === 0) return name;
  return `${word}.user.${createHash("sha256").update(username).digest("hex").slice(0, 32)}`;
}

/** A record of an identity without credentials. */
export function newRecord(identity: CredentialIdentity): IssuedCredential {
  const { group, version, kind } = issuedCredentials;
  return { apiVersion: `${group}/${version}`, kind, metadata: { name: recordName(identity) }, spec: { identity } };
}

/** The record with one more credential; the same record where it has that credential already. */
export function withIssue(record: IssuedCredential, issue: CredentialIssue): IssuedCredential {
  const { issued = [], count = 0 } = record.status ?? {};
  const isKnown = issued.some(
    ({ credentialID, request }) =>
      (issue.credentialID !== undefined && credentialID === issue.credentialID) ||
      (issue.credentialID === undefined && request === issue.request),
  );
  const nameless = issued.findIndex(
    ({ credentialID, notAfter }) => credentialID === undefined && notAfter === issue.notAfter,
  );
  if (issue.credentialID !== undefined && nameless !== -1) {
    // The token of an access request: its answer is sealed, so its id arrives later from another source.
    const { credentialID } = issue;
    const named = issued.map((one, at) => (at === nameless ? { ...one, credentialID } : one));
    return { ...record, status: { ...record.status, issued: named } };
  }
  // Older than all credentials of a full record: it was counted before it was dropped.
  const isForgotten = issued.length >= maxIssues && issued.every((one) => beginOf(one) > beginOf(issue));
  if (isKnown || isForgotten) return record;
  const numbered = { ...issue, generation: count + 1 };
  // By their start: requests are processed in no order after a restart, and a later credential may expire sooner.
  const all = [...issued, numbered].toSorted((one, other) => beginOf(one) - beginOf(other));
  const kept = remembered(all);
  // A credential that is dropped at once was counted before.
  if (!kept.includes(numbered)) return record;
  return { ...record, status: { ...record.status, ...recovered(record, issue), issued: kept, count: count + 1 } };
}

/**
 * As many as a record has room for. Drops repeated answers to one request first, except its first and last: a client that repeats a
 * request of the machine must not displace the entry that identifies its own, earlier credential.
 */
function remembered(issued: readonly CredentialIssue[]): readonly CredentialIssue[] {
  if (issued.length <= maxIssues) return issued;
  const isRepeated = (at: number): boolean => {
    const { key } = issued[at] ?? {};
    const hasKey = (one: CredentialIssue): boolean => key !== undefined && one.key === key;
    return issued.slice(0, at).some(hasKey) && issued.slice(at + 1).some(hasKey);
  };
  const repeated = issued.flatMap((one, at) => (isRepeated(at) ? [{ at, isUsed: one.firstUsed !== undefined }] : []));
  const least = repeated.find(({ isUsed }) => !isUsed) ?? repeated[0];
  return remembered(issued.toSpliced(least?.at ?? 0, 1));
}

/** Records that a credential was issued to a machine after its previous one expired. */
function recovered(
  { status }: IssuedCredential,
  { requestedBy = "", request = "", notBefore }: CredentialIssue,
): Pick<NonNullable<IssuedCredential["status"]>, "recoveries"> {
  const isReturn = nodeReturningAs({ username: requestedBy, groups: [returningGroup] }) !== undefined;
  if (!isReturn || notBefore === undefined) return {};
  return { recoveries: [...(status?.recoveries ?? []), { request, time: notBefore }].slice(-maxRecoveries) };
}

function beginOf(issue: CredentialIssue): number {
  const begin = Date.parse(issue.notBefore ?? "");
  return Number.isNaN(begin) ? endOf(issue) : begin;
}

function endOf({ notAfter = "" }: CredentialIssue): number {
  const end = Date.parse(notAfter);
  return Number.isNaN(end) ? 0 : end;
}

/** The certificate of a request; undefined where there is none, or it cannot be parsed. */
export function issueOfCsr(object: ApiObject): Issue | undefined {
  const { certificate } = csrView(object);
  if (certificate === "") return undefined;
  try {
    const leaf = decodePem(certificate)[0];
    return leaf && issueOfCertificate(object, leaf.bytes);
  } catch (error) {
    // Any signer may have written it.
    if (error instanceof CertificateError || error instanceof PemError) return undefined;
    throw error;
  }
}

function issueOfCertificate(object: ApiObject, der: Uint8Array): Issue | undefined {
  const csr = csrView(object);
  const certificate = parseCertificate(der);
  const { commonName } = subjectOf(certificate.subject, "certificate: the subject");
  if (commonName === "") return undefined;
  const purpose = certificate.extendedKeyUsage?.includes(oids.clientAuth) === true ? "Client" : "Serving";
  const approved = csr.conditions.find(({ type }) => type === "Approved");
  return {
    identity: { username: commonName, purpose },
    issue: {
      credentialID: `X509SHA256=${createHash("sha256").update(der).digest("hex")}`,
      key: keyFingerprint(certificate.publicKey.spki),
      serialNumber: certificate.serialNumber,
      issuer: createHash("sha256").update(certificate.rawIssuer).digest("hex"),
      notBefore: rfc3339(certificate.notBefore),
      notAfter: rfc3339(certificate.notAfter),
      requestedBy: csr.requester.username,
      approvedBy: csrDeciderOf(object) ?? approved?.reason ?? "",
      request: `csr/${object.metadata.name}`,
    },
  };
}

/** The first token of an access request. */
export function issueOfAccess(request: AccessRequest): Issue | undefined {
  const { metadata, status = {} } = request;
  const { ready, grant = {}, decisions = [], evidence = {} } = status;
  const { namespace, serviceAccount } = grant;
  if (ready !== true || namespace === undefined || serviceAccount === undefined) return undefined;
  const approvals = decisions.filter(({ verdict }) => verdict === "Approved");
  return {
    identity: { username: `system:serviceaccount:${namespace}:${serviceAccount}`, purpose: "Access" },
    issue: {
      ...validityOf(status),
      requestedBy: evidence.requester ?? "",
      approvedBy: approvals.map(({ user }) => user).join(", "),
      request: `accessrequest/${metadata.name}`,
    },
  };
}

function validityOf({ conditions, expiresAt }: AccessRequestStatus): Pick<CredentialIssue, "notBefore" | "notAfter"> {
  const issued = findCondition(conditions, "Issued")?.lastTransitionTime;
  return {
    ...(issued === undefined ? {} : { notBefore: issued }),
    ...(expiresAt === undefined ? {} : { notAfter: expiresAt }),
  };
}

/**
 * The status of the credential of a requester among all credentials of its identity. `unknown`: it is in no record; `newest`; `repeated`:
 * a later one is for the key that is requested now, so a response was lost; `superseded`: there are later ones that no client has used,
 * so response and key were lost; `cloned`: a later one is in use elsewhere.
 */
export type CredentialStatus = "unknown" | "newest" | "repeated" | "superseded" | "cloned";

/** The inputs for the status of a requester's credential. */
export interface CredentialStatusView {
  readonly record: IssuedCredential | undefined;
  /** Ids of the credential of the requester. */
  readonly ids: readonly string[];
  /** The fingerprint of the requested key. */
  readonly key: string;
  readonly isUsed: (issue: CredentialIssue) => boolean;
  /** Revoked credentials count as never issued. */
  readonly isRevoked: (issue: CredentialIssue) => boolean;
}

/** A credential status, with the credentials that it refers to. */
export interface FoundCredentialStatus {
  readonly credentialStatus: CredentialStatus;
  readonly asking: CredentialIssue | undefined;
  /** Credentials issued after it. */
  readonly later: readonly CredentialIssue[];
}

/** The status by the order in which credentials were issued. */
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
