import type { CredentialIssue, IssuedCredential } from "./issued-credential.ts";

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
