import { jsonEqual } from "../../apimachinery/equal.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { nodeUserPrefix } from "../../apimachinery/user.ts";
import { accessRequests, type AccessRequest } from "../../apis/access-request.ts";
import { accessRequestOf, credentialState, newestIssue, timesOf } from "../../apis/credential-state.ts";
import type { ObjectReference } from "../../apis/event.ts";
import { issuedCredentials, type CredentialIssue, type IssuedCredential } from "../../apis/issued-credential.ts";
import type { Client, ResourceRef } from "../../client/client.ts";
import type { Reader } from "../../client/object-store.ts";
import { done, referenceTo, retryOn, type Controller, type Outcome, type Report } from "../controller.ts";
import { certificateSigningRequests } from "../kinds.ts";
import { sameUid } from "../object-status.ts";
import type { ControllerOptions } from "../shared-informers.ts";
import { issueOfAccess, issueOfCsr, newRecord, recordName, withIssue, type Issue } from "./credential-record.ts";

const serviceAccount = "credential-controller";

/** What authentication recorded for an identity. */
export interface CredentialUse {
  /** When this user last made a request, in milliseconds since the epoch. */
  readonly lastSeen: (username: string) => number | undefined;
  /** When the credential of this id was first used, in milliseconds since the epoch, if recorded. */
  readonly firstUsed: (id: string) => number | undefined;
  /** The last token issued to this user that is in no record yet. */
  readonly lastToken: (username: string) => Issue["issue"] | undefined;
}

export interface IssuedCredentialsOptions extends ControllerOptions {
  readonly use: CredentialUse;
}

/** Records each certificate, and each token of an access request, in the record of its holder. */
export function credentialRecorders({ informers }: IssuedCredentialsOptions): readonly Controller[] {
  const { client, reader } = informers.as(serviceAccount);
  const records = reader({ resource: issuedCredentials });
  const recorder = (
    name: string,
    resource: ResourceRef,
    issueOf: (object: ApiObject) => Issue | undefined,
  ): Controller => {
    const objects = reader({ resource });
    return {
      name,
      serviceAccount,
      watches: [{ resource }, { resource: issuedCredentials, keys: () => [] }],
      concurrency: 8,
      reconcile: async (key) => {
        const object = objects.get(key);
        const found = object && issueOf(object);
        if (object === undefined || found === undefined) return done;
        const known = records.get({ name: recordName(found.identity) }) as IssuedCredential | undefined;
        const next = withIssue(known ?? newRecord(found.identity), found.issue);
        const outcome = await written(client, known, next);
        // The controller that grants access reports it.
        const isReported = outcome.kind === "done" && next !== known && resource === certificateSigningRequests;
        return isReported
          ? { ...outcome, reports: [issueReport(referenceTo(resource, object), next, found.issue)] }
          : outcome;
      },
    };
  };
  return [
    recorder("certificate-recorder", certificateSigningRequests, issueOfCsr),
    recorder("access-recorder", accessRequests, (object) => issueOfAccess(object as AccessRequest)),
  ];
}

async function written(client: Client, known: ApiObject | undefined, next: IssuedCredential): Promise<Outcome> {
  if (next === known) return done;
  const write =
    known === undefined
      ? client.create(issuedCredentials, next)
      : client.update(issuedCredentials, next, { subresource: "status" });
  const pass = write.then(() => done);
  return retryOn(pass, "Conflict", "AlreadyExists", "NotFound");
}

/**
 * Maintains the records: writes when each holder was last seen, an Event before a credential expires unrenewed and one when it has
 * expired, and deletes records long after.
 */
export function issuedCredentialController({ informers, clock, use }: IssuedCredentialsOptions): Controller {
  const { client, reader } = informers.as(serviceAccount);
  const records = reader({ resource: issuedCredentials });
  const requests = reader({ resource: accessRequests });
  return {
    name: "credential-keeper",
    serviceAccount,
    watches: [{ resource: issuedCredentials }, { resource: accessRequests, keys: () => [] }],
    concurrency: 4,
    reconcile: async (key) => {
      const record = records.get(key) as IssuedCredential | undefined;
      return record === undefined ? done : keep({ client, requests, use, now: clock.now() }, record);
    },
  };
}

interface Keeping {
  readonly client: Client;
  readonly requests: Reader;
  readonly use: CredentialUse;
  readonly now: number;
}

/** Long enough for a machine that was off for more than a year. */
const keptMs = 400 * 86_400_000;

async function keep({ client, requests, use, now }: Keeping, record: IssuedCredential): Promise<Outcome> {
  const everyMs = lookMs(record, now);
  const seen = withUse(record, use, everyMs);
  const newest = newestIssue(seen) ?? {};
  const { windowTo, end } = timesOf(newest) ?? { windowTo: Number.NaN, end: createdAt(record) };
  if (now > end + keptMs) {
    await client.delete(issuedCredentials, { name: record.metadata.name ?? "" }, sameUid(record));
    return done;
  }
  const { next, warnings } = isTakenBack(requests, record) ? { next: seen, warnings: [] } : warned(seen, now);
  const outcome = await written(client, record, next);
  if (outcome.kind !== "done") return outcome;
  const isRenewed = record.status?.count !== seen.status?.count;
  const renewals = isRenewed ? [issueReport(referenceTo(issuedCredentials, record), seen, newest)] : [];
  const dueMs = [windowTo - now, end - now].filter((ms) => ms > 0);
  const afterMs = Math.max(1000, Math.min(everyMs, ...dueMs));
  return { kind: "requeue", afterMs, why: "to see when it is used", reports: [...renewals, ...warnings] };
}

function createdAt({ metadata }: IssuedCredential): number {
  return Date.parse(metadata.creationTimestamp ?? "");
}

/** Whether it is an access whose request was revoked or deleted; it ended then, and its last token needs no warning. */
function isTakenBack(requests: Reader, record: IssuedCredential): boolean {
  const name = accessRequestOf(record);
  const request = name === undefined ? undefined : (requests.get({ name }) as AccessRequest | undefined);
  return name !== undefined && (request === undefined || request.status?.revoked === true);
}

/** How often a record is checked, which limits the precision of `lastSeen`; more often where credentials are valid for minutes only. */
const lookEveryMs = 600_000;
const lookSoonMs = 30_000;

function lookMs(record: IssuedCredential, now: number): number {
  const { notBefore = "", notAfter = "" } = newestIssue(record) ?? {};
  const part = (Date.parse(notAfter) - Date.parse(notBefore)) / 20;
  // Operators check whether a new machine has connected.
  const isNew = record.status?.lastSeen === undefined && now - createdAt(record) < lookEveryMs;
  if (isNew) return lookSoonMs;
  return Number.isNaN(part) ? lookEveryMs : Math.min(lookEveryMs, Math.max(lookSoonMs, part));
}

/** The record with the warnings that are due, and their reports: when its renewal is late, and when it has expired. */
function warned(
  record: IssuedCredential,
  now: number,
): { readonly next: IssuedCredential; readonly warnings: readonly Report[] } {
  const newest = newestIssue(record) ?? {};
  const { notAfter = "" } = newest;
  const times = timesOf(newest);
  if (times === undefined || now < times.windowTo) return { next: record, warnings: [] };
  const notes = { warnedOf: notAfter, ...(now < times.end ? {} : { expiredOf: notAfter }) };
  const status = { ...record.status, ...notes };
  if (jsonEqual(status, record.status)) return { next: record, warnings: [] };
  return { next: { ...record, status }, warnings: [expiryReport(record, notAfter, now)] };
}

/** The record with a newly issued token, and with the times when its holder and its credentials were seen. */
function withUse(record: IssuedCredential, use: CredentialUse, everyMs: number): IssuedCredential {
  const { username, purpose } = record.spec.identity;
  if (purpose === "Serving") return record;
  const token = purpose === "Access" ? use.lastToken(username) : undefined;
  const renewed = withFirstUse(token === undefined ? record : withIssue(record, token), use);
  const seen = use.lastSeen(username);
  if (seen === undefined || seen - Date.parse(renewed.status?.lastSeen ?? "") < everyMs) return renewed;
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

const unknownTime = "an unknown time";

/**
 * The report of an issued credential: the first of its identity, a renewal, or one for another key that its holder did not request
 * itself, while a certificate of an earlier key is valid.
 */
export function issueReport(about: ObjectReference, record: IssuedCredential, issue: CredentialIssue): Report {
  const { username, purpose } = record.spec.identity;
  const isFirst = (record.status?.count ?? 1) <= 1;
  const other = otherKey(record, issue);
  const until = `valid until ${issue.notAfter ?? unknownTime}`;
  const what =
    other === undefined
      ? `${isFirst ? "issued" : "renewed"}, ${until}`
      : `issued for a second key, ${issue.key}, ${until}; ${otherText(other)}`;
  return {
    reason: isFirst || other !== undefined ? "CertificateIssued" : "CredentialRenewed",
    about,
    message: `${purpose.toLowerCase()} credential of ${username} ${what}`,
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

function otherText({ key, notAfter = unknownTime, credentialID = "", request }: CredentialIssue): string {
  const target = request ?? `--fingerprint ${credentialID.replace(/^X509SHA256=/, "")}`;
  return `the certificate of its earlier key, ${key}, is valid until ${notAfter}. If no machine is to have that one: pratique revoke ${target}`;
}

/** For a node: the newest certificate of another key that is valid when this one starts, unless the holder of the name requested this one itself. */
function otherKey({ spec, status }: IssuedCredential, issue: CredentialIssue): CredentialIssue | undefined {
  const { username, purpose } = spec.identity;
  const isNode = purpose === "Client" && username.startsWith(nodeUserPrefix);
  const isOwn = (issue.requestedBy ?? username) === username;
  if (!isNode || isOwn || issue.key === undefined) return undefined;
  const begun = Date.parse(issue.notBefore ?? "");
  const earlier = (status?.issued ?? []).filter(({ credentialID }) => credentialID !== issue.credentialID);
  if (earlier.some(({ key }) => key === issue.key)) return undefined;
  return earlier.findLast(({ key, notAfter }) => key !== undefined && Date.parse(notAfter ?? "") > begun);
}

/** The report of a credential that was not renewed in time, with when its holder was seen. */
function expiryReport(record: IssuedCredential, notAfter: string, now: number): Report {
  const { username, purpose } = record.spec.identity;
  const state = credentialState(record, now);
  const why =
    state === "missing"
      ? `it was not seen within its renewal window, last seen: ${record.status?.lastSeen ?? "never"}`
      : "it has not been renewed";
  const reason = state === "missing" ? "CredentialUnseen" : "CredentialExpiring";
  return {
    reason: state === "expired" ? "CredentialExpired" : reason,
    about: referenceTo(issuedCredentials, record),
    message: `The ${purpose.toLowerCase()} credential of ${username} ${state === "expired" ? "ended" : "ends"} at ${notAfter}: ${why}.`,
    details: { user: username },
  };
}
