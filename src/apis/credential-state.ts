import { serviceAccountUser } from "../apimachinery/user.ts";
import { type AccessRequest, type AccessRequestStatus } from "./access-request.ts";
import type { CredentialIdentity, CredentialIssue, IssuedCredential } from "./issued-credential.ts";
import type { Credential } from "./revocation-index.ts";

/**
 * The state of an identity: `active`; `renewing`, in its renewal window; `missing`, that window is
 * over and it was not seen within it; `late`, it was seen and did not renew; `expired`.
 */
export type CredentialState = "active" | "renewing" | "late" | "missing" | "expired" | "unknown";

/** All states, the most urgent first. */
export const credentialStates: readonly CredentialState[] = [
  "missing",
  "late",
  "expired",
  "renewing",
  "active",
  "unknown",
];

/** When a machine renews: these fractions of the lifetime. Source: client-go util/certificate. */
const window = { from: 0.7, to: 0.9 } as const;

/** The start, renewal time and end of the newest credential; in milliseconds, undefined where unknown. */
export interface CredentialTimes {
  readonly windowFrom: number;
  readonly windowTo: number;
  readonly end: number;
}

/** The times of one credential. */
export function timesOf({ notBefore = "", notAfter = "" }: CredentialIssue): CredentialTimes | undefined {
  const [begin, end] = [Date.parse(notBefore), Date.parse(notAfter)];
  if (Number.isNaN(begin) || Number.isNaN(end)) return undefined;
  const at = (part: number): number => begin + (end - begin) * part;
  return { windowFrom: at(window.from), windowTo: at(window.to), end };
}

/** The newest credential of a record. */
export function newestIssue({ status }: IssuedCredential): CredentialIssue | undefined {
  return status?.issued?.at(-1);
}

/** An issued credential, as a revocation would name it. */
export function credentialOfIssue(
  { username }: CredentialIdentity,
  { credentialID, serialNumber, issuer }: CredentialIssue,
): Credential {
  return {
    username,
    ids: credentialID === undefined ? [] : [credentialID],
    ...(serialNumber === undefined ? {} : { serialNumber }),
    ...(issuer === undefined ? {} : { issuer }),
  };
}

const accessPrefix = "accessrequest/";

/** The latest AccessRequest that granted access to a record; undefined for certificates. */
export function accessRequestOf({ status }: IssuedCredential): string | undefined {
  const last = status?.issued?.findLast(({ request }) => request?.startsWith(accessPrefix));
  return last?.request?.slice(accessPrefix.length);
}

/** The access that the existing AccessRequests grant. */
export interface AccessGrants {
  /** The users to whom a request grants access now. */
  readonly holders: ReadonlySet<string>;
  /** The names of the requests that were revoked. */
  readonly revoked: ReadonlySet<string>;
}

/** The access that these requests grant, and which of them were revoked; `requests` must be all that exist. */
export function accessGrants(requests: Iterable<AccessRequest>): AccessGrants {
  const [holders, revoked] = [new Set<string>(), new Set<string>()];
  for (const { metadata, status = {} } of requests) {
    if (status.revoked === true) revoked.add(metadata.name ?? "");
    const holder = metadata.deletionTimestamp === undefined ? holderOf(status) : undefined;
    if (holder !== undefined) holders.add(holder);
  }
  return { holders, revoked };
}

function holderOf({
  accepted,
  revoked,
  grant: { namespace, serviceAccount } = {},
}: AccessRequestStatus): string | undefined {
  const isGranted = accepted === true && revoked !== true && namespace !== undefined && serviceAccount !== undefined;
  return isGranted ? serviceAccountUser(namespace, serviceAccount).username : undefined;
}

/**
 * Whether access ended before its last token: its request was revoked or deleted, and the account is gone. `grants` is undefined where
 * requests may not be listed; then no access counts as ended. Credentials that are no access never end that way.
 */
export function isEndedAccess(record: IssuedCredential, grants: AccessGrants | undefined, now: number): boolean {
  const { username, purpose } = record.spec.identity;
  if (purpose !== "Access" || grants === undefined) return false;
  if (grants.revoked.has(accessRequestOf(record) ?? "")) return true;
  return !grants.holders.has(username) && credentialState(record, now) !== "expired";
}

/** The state of the identity of a record at `now`, in milliseconds. A serving identity is never seen: it is late, not missing. */
export function credentialState(record: IssuedCredential, now: number): CredentialState {
  const times = timesOf(newestIssue(record) ?? {});
  if (times === undefined) return "unknown";
  if (now >= times.end) return "expired";
  if (now < times.windowFrom) return "active";
  if (now < times.windowTo) return "renewing";
  if (record.spec.identity.purpose === "Serving") return "late";
  const seen = Date.parse(record.status?.lastSeen ?? "");
  return seen >= times.windowFrom ? "late" : "missing";
}
