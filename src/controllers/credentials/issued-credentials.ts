import type { Clock } from "../../apimachinery/clock.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import type { Client } from "../../client/client.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import { accessRequests, type AccessRequest } from "../../apis/access-request.ts";
import { accessRequestOf, newestIssue, timesOf } from "../../apis/credential-state.ts";
import { issuedCredentials, type CredentialIssue, type IssuedCredential } from "../../apis/issued-credential.ts";
import { done, retryOn, type Controller, type Outcome } from "../controller.ts";
import { expiryReport, issueReport } from "./credential-reports.ts";
import { issueOfAccess, issueOfCsr, newRecord, recordName, withIssue, type Issue } from "./credential-record.ts";
import { certificateSigningRequests } from "../kinds.ts";
import type { SharedInformers } from "../shared-informers.ts";
import { referenceTo, type Report } from "../report.ts";

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

export interface IssuedCredentialsOptions {
  readonly informers: SharedInformers;
  readonly clock: Clock;
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
      const { uid } = record.metadata;
      await client.delete(issuedCredentials, key, uid === undefined ? {} : { preconditions: { uid } });
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
