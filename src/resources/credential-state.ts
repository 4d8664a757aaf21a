import type { AccessRequest } from "./access-request.ts";
import type { CredentialIdentity, CredentialIssue, IssuedCredential } from "./issued-credential.ts";
import type { Credential } from "./revocation-index.ts";

/**
 * How an identity stands: `active`; `renewing`, in the window in which it should ask for the next credential; `missing`, that window is
 * over and it was not seen within it; `late`, it was seen and did not renew; `expired`.
 */
export type CredentialState = "active" | "renewing" | "late" | "missing" | "expired" | "unknown";

/** All states, in the order of care that they need. */
export const credentialStates: readonly CredentialState[] = [
  "missing",
  "late",
  "expired",
  "renewing",
  "active",
  "unknown",
];

/** Where a machine renews: these parts of the lifetime. Source: client-go util/certificate. */
const window = { from: 0.7, to: 0.9 } as const;

/** When the newest credential begins, should be renewed, and ends; in milliseconds, undefined where that is not known. */
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

/** A credential that was given out, as a revocation would name it. */
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

/** The AccessRequest that gave a record its access last; undefined for certificates. */
export function accessRequestOf({ status }: IssuedCredential): string | undefined {
  const last = status?.issued?.findLast(({ request }) => request?.startsWith(accessPrefix));
  return last?.request?.slice(accessPrefix.length);
}

/** Whether access was taken back by its request: the account is gone then, whatever its last token says of its end. */
export function isRevokedAccess(request: AccessRequest | undefined): boolean {
  return request?.status?.revoked === true;
}

/** How the identity of a record stands at `now`, in milliseconds. Whoever serves only is never seen: it is late, not missing. */
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
