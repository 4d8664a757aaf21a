import { sameUid } from "../object-status.ts";
import type { ControllerOptions } from "../shared-informers.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import type { Client } from "../../client/client.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import { accessRequests, type AccessRequest } from "../../apis/access-request.ts";
import { accessRequestOf, credentialState, newestIssue, timesOf } from "../../apis/credential-state.ts";
import { issuedCredentials, type CredentialIssue, type IssuedCredential } from "../../apis/issued-credential.ts";
import { done, retryOn, type Controller, type Outcome, referenceTo, type Report } from "../controller.ts";
import { issueOfAccess, issueOfCsr, newRecord, recordName, withIssue, type Issue } from "./credential-record.ts";
import { certificateSigningRequests } from "../kinds.ts";
import { nodeUserPrefix } from "../../apimachinery/user.ts";
import type { ObjectReference } from "../../apis/event.ts";

const serviceAccount = "credential-controller";

/** What authentication has heard of an identity. */
export interface CredentialUse {
  /** When this user last made a request, in milliseconds since the epoch. */
  readonly lastSeen: (username: string) => number | undefined;
  /** When somebody first came in with the credential of this id, in milliseconds since the epoch, as far as that is remembered. */
  readonly firstUsed: (id: string) => number | undefined;
  /** The last token that this user was given, and that is in no record yet. */
  readonly lastToken: (username: string) => Issue["issue"] | undefined;
}

export interface IssuedCredentialsOptions extends ControllerOptions {
  readonly use: CredentialUse;
}

/** Writes down what was given out: each certificate and each answer to an access request, in the record of who holds it. */
export function credentialRecorders(options: IssuedCredentialsOptions): readonly Controller[] {
  const { client, reader } = options.informers.as(serviceAccount);
  const csrs = reader({ resource: certificateSigningRequests });
  const requests = reader({ resource: accessRequests });
  const records = reader({ resource: issuedCredentials });
  const recorder = (
    name: string,
    resource: typeof accessRequests | typeof certificateSigningRequests,
    issueOf: (key: ObjectKey) => Issue | undefined,
  ): Controller => ({
    name,
    serviceAccount,
    watches: [{ resource }, { resource: issuedCredentials, keys: () => [] }],
    concurrency: 8,
    reconcile: async (key) => {
      const found = issueOf(key);
      if (found === undefined) return done;
      const known = records.get({ name: recordName(found.identity) }) as IssuedCredential | undefined;
      const next = withIssue(known ?? newRecord(found.identity), found.issue);
      const outcome = await written(client, known, next);
      // Access that was granted is reported by who grants it.
      const isReported = outcome.kind === "done" && next !== known && resource === certificateSigningRequests;
      const object = csrs.get(key);
      if (!isReported || object === undefined) return outcome;
      return { ...outcome, reports: [issueReport(referenceTo(certificateSigningRequests, object), next, found.issue)] };
    },
  });
  return [
    recorder("certificate-recorder", certificateSigningRequests, (key) => {
      const object = csrs.get(key);
      return object === undefined ? undefined : issueOfCsr(object);
    }),
    recorder("access-recorder", accessRequests, (key) => {
      const object = requests.get(key);
      return object === undefined ? undefined : issueOfAccess(object as AccessRequest);
    }),
  ];
}

async function written(client: Client, known: ApiObject | undefined, next: IssuedCredential): Promise<Outcome> {
  if (next === known) return done;
  const write =
    known === undefined
      ? client.create(issuedCredentials, next)
      : client.update(issuedCredentials, next, { subresource: "status" });
  const written = write.then(() => done);
  return retryOn(written, "Conflict", "AlreadyExists", "NotFound");
}

/** How often a record is looked at, and so how exact `lastSeen` is; more often where credentials hold for minutes only. */
const lookEveryMs = 600_000;
const lookSoonMs = 30_000;

function lookMs(record: IssuedCredential, now: number): number {
  const { notBefore = "", notAfter = "" } = newestIssue(record) ?? {};
  const life = Date.parse(notAfter) - Date.parse(notBefore);
  const createdAt = Date.parse(record.metadata.creationTimestamp ?? "");
  // People look whether a machine has come in.
  const isNew = record.status?.lastSeen === undefined && now - createdAt < lookEveryMs;
  return isNew || life < 20 * lookSoonMs ? lookSoonMs : life < 20 * lookEveryMs ? life / 20 : lookEveryMs;
}

/** Long enough for a machine that was off for a year, and then some. */
const keptMs = 400 * 86_400_000;

/** Keeps the records: when each holder was last seen, an Event before a credential ends unrenewed and one when it has, an end long after it. */
export function issuedCredentialController(options: IssuedCredentialsOptions): Controller {
  const { clock, use } = options;
  const { client, reader } = options.informers.as(serviceAccount);
  const records = reader({ resource: issuedCredentials });
  const requests = reader({ resource: accessRequests });

  /** Access whose request was revoked or deleted; it ended then, and its last token is not missed. */
  const isTakenBack = (record: IssuedCredential): boolean => {
    const name = accessRequestOf(record);
    if (name === undefined) return false;
    const request = requests.get({ name }) as AccessRequest | undefined;
    return request === undefined || request.status?.revoked === true;
  };

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const record = records.get(key) as IssuedCredential | undefined;
    if (record === undefined) return done;
    const now = clock.now();
    const everyMs = lookMs(record, now);
    const seen = withUse(record, use, everyMs);
    const newest = newestIssue(seen) ?? {};
    const times = timesOf(newest);
    const begun = Date.parse(record.metadata.creationTimestamp ?? "");
    if (now > (times?.end ?? begun) + keptMs) {
      await client.delete(issuedCredentials, key, sameUid(record));
      return done;
    }
    const { next, warning } = isTakenBack(record) ? { next: seen, warning: [] } : warned(seen, newest, now);
    const outcome = await written(client, record, next);
    if (outcome.kind !== "done") return outcome;
    const renewed =
      record.status?.count !== seen.status?.count
        ? [issueReport(referenceTo(issuedCredentials, record), seen, newest)]
        : [];
    const warningAt = times && [times.windowTo, times.end].find((at) => at > now);
    const afterMs = Math.max(1000, Math.min(everyMs, warningAt === undefined ? everyMs : warningAt - now));
    return { kind: "requeue", afterMs, why: "to see when it is used", reports: [...renewed, ...warning] };
  }

  return {
    name: "credential-keeper",
    serviceAccount,
    watches: [{ resource: issuedCredentials }, { resource: accessRequests, keys: () => [] }],
    concurrency: 4,
    reconcile,
  };
}

/** The record with a note of the warning, where one is due: when its renewal is late, and when it has expired. */
function warned(
  record: IssuedCredential,
  newest: CredentialIssue,
  now: number,
): { readonly next: IssuedCredential; readonly warning: readonly Report[] } {
  const { notAfter } = newest;
  const times = timesOf(newest);
  if (times === undefined || notAfter === undefined || now < times.windowTo) return { next: record, warning: [] };
  const notes = { warnedOf: notAfter, ...(now < times.end ? {} : { expiredOf: notAfter }) };
  const isNoted = Object.keys(notes).every((note) => record.status?.[note as keyof typeof notes] === notAfter);
  if (isNoted) return { next: record, warning: [] };
  return {
    next: { ...record, status: { ...record.status, ...notes } },
    warning: [expiryReport(record, { now, notAfter })],
  };
}

function withUse(record: IssuedCredential, use: CredentialUse, everyMs: number): IssuedCredential {
  const { username, purpose } = record.spec.identity;
  if (purpose === "Serving") return record;
  const token = purpose === "Access" ? use.lastToken(username) : undefined;
  const renewed = withFirstUse(token === undefined ? record : withIssue(record, token), use);
  const seen = use.lastSeen(username);
  const before = Date.parse(renewed.status?.lastSeen ?? "");
  if (seen === undefined || seen - before < everyMs) return renewed;
  return { ...renewed, status: { ...renewed.status, lastSeen: rfc3339(seen) } };
}

function withFirstUse(record: IssuedCredential, use: CredentialUse): IssuedCredential {
  const { issued = [] } = record.status ?? {};
  const next = issued.map((one) => {
    const at = one.firstUsed === undefined ? use.firstUsed(one.credentialID ?? "") : undefined;
    return at === undefined ? one : { ...one, firstUsed: rfc3339(at) };
  });
  const isNew = next.some((one, at) => one !== issued[at]);
  return isNew ? { ...record, status: { ...record.status, issued: next } } : record;
}

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
function expiryReport(
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
