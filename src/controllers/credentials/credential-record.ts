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

/** One credential, and whose it is. */
export interface Issue {
  readonly identity: CredentialIdentity;
  readonly issue: CredentialIssue;
}

/** How many credentials a record remembers. */
const maxIssues = 8;

/** The name of the record of an identity: readable for nodes and machines, a digest for names that no object can have. */
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

/** A record of an identity of which nothing was given out yet. */
export function newRecord(identity: CredentialIdentity): IssuedCredential {
  const { group, version, kind } = issuedCredentials;
  return { apiVersion: `${group}/${version}`, kind, metadata: { name: recordName(identity) }, spec: { identity } };
}

/** The record with one more credential; itself where it knows that one already. */
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
    // The token that an access request was answered with: the answer is sealed, and its id is known from elsewhere.
    const { credentialID } = issue;
    const named = issued.map((one, at) => (at === nameless ? { ...one, credentialID } : one));
    return { ...record, status: { ...record.status, issued: named } };
  }
  // Older than all that a full record remembers: it was counted before it was forgotten.
  const isForgotten = issued.length >= maxIssues && issued.every((one) => beginOf(one) > beginOf(issue));
  if (isKnown || isForgotten) return record;
  const numbered = { ...issue, generation: count + 1 };
  // By their beginning: requests are looked at in no order after a restart, and a later one may end sooner.
  const all = [...issued, numbered].toSorted((one, other) => beginOf(one) - beginOf(other));
  const kept = remembered(all);
  // Forgotten at once is what was counted before as well.
  if (!kept.includes(numbered)) return record;
  return { ...record, status: { ...record.status, ...recovered(record, issue), issued: kept, count: count + 1 } };
}

/**
 * As many as a record holds. First to go are answers to one and the same request, but for the first and the last of them: whoever
 * repeats a request of the machine must not drive out the record by which its own, earlier credential is known.
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

/** Notes that a credential was given to a machine that came back after its end. */
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

/** The certificate that a request was answered with; undefined where there is none, or none that can be read. */
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

/** The first token that an access request was answered with. */
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
