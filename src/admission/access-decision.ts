import { jsonEqual } from "../apimachinery/equal.ts";
import { anonymousUser } from "../apimachinery/user.ts";
import type { AccessDecision, AccessRequestStatus, DecidedProfile } from "../apis/access-request.ts";

/** A decision of an approver, as the fields of the status have it. */
export type Verdict = AccessDecision["verdict"];

/** The inputs for the decision on one write to the status of a request. */
export interface StatusWrite {
  readonly stored: AccessRequestStatus;
  readonly incoming: AccessRequestStatus;
  /** The user name of the writer, as authenticated or impersonated. */
  readonly user: string;
  /** The authenticated user name, where `user` is impersonated and the API records it. */
  readonly impersonator?: string | undefined;
  /** RFC 3339. */
  readonly now: string;
  /** Whether the writer may write sealed answers; the controllers may. */
  readonly mayIssue: boolean;
  /** How many different users must approve; undefined where the request is for no profile. */
  readonly approvers: number | undefined;
  /** What an approval grants at this moment; an approval of anything else does not count. */
  readonly profile: DecidedProfile | undefined;
}

export type StampedStatus =
  | { readonly kind: "status"; readonly status: AccessRequestStatus; readonly verdict: Verdict | undefined }
  | { readonly kind: "refused"; readonly why: string };

/** The fields that only the writers of sealed answers write. */
const issuedFields = [
  "ready",
  "key",
  "token",
  "ca",
  "bootstrapToken",
  "seal",
  "expiresAt",
  "conditions",
  "grant",
] as const satisfies readonly (keyof AccessRequestStatus)[];

/** The fields that are written once: by the API itself where it has the value, else by the writers of sealed answers. */
const observedFields = ["fingerprint", "evidence"] as const satisfies readonly (keyof AccessRequestStatus)[];

const verdictFields: readonly (readonly ["accepted" | "denied" | "revoked", Verdict])[] = [
  ["accepted", "Approved"],
  ["denied", "Denied"],
  ["revoked", "Revoked"],
];

/** The decisions of a write: the fields that it sets and that were not set. */
export function verdictsIn(stored: AccessRequestStatus, incoming: AccessRequestStatus): readonly Verdict[] {
  return verdictFields.flatMap(([field, verdict]) =>
    incoming[field] === true && stored[field] !== true ? [verdict] : [],
  );
}

/**
 * The status to store for a write: decisions are stamped with the user and the time, none can be withdrawn, and each field comes from a
 * writer with permission for it, else from the stored status.
 */
export function stampedStatus(write: StatusWrite): StampedStatus {
  const { stored, incoming } = write;
  const kept = { ...decidedBefore(stored), ...issued(write), ...observed(write) };
  const [verdict, another] = verdictsIn(stored, incoming);
  if (verdict === undefined) return { kind: "status", status: kept, verdict };
  const why = another === undefined ? objection(verdict, write) : `it cannot be ${verdict} and ${another} at once`;
  if (why !== undefined) return { kind: "refused", why };
  const decisions = [...(stored.decisions ?? []), decisionOf(verdict, write)];
  return { kind: "status", status: { ...kept, ...decided(verdict, decisions, write), decisions }, verdict };
}

/** No decision can be withdrawn: an accepted machine is revoked, and creates a new request. */
function decidedBefore(stored: AccessRequestStatus): AccessRequestStatus {
  const fields = verdictFields.flatMap(([field]) => (stored[field] === true ? [field] : []));
  return picked(stored, [...fields, "decisions"]);
}

function issued({ stored, incoming, mayIssue }: StatusWrite): AccessRequestStatus {
  return picked(mayIssue ? incoming : stored, issuedFields);
}

function observed({ stored, incoming, mayIssue }: StatusWrite): AccessRequestStatus {
  if (!mayIssue) return picked(stored, observedFields);
  const evidence = { ...incoming.evidence, ...stored.evidence };
  return { ...picked(incoming, observedFields), ...picked(stored, observedFields), evidence };
}

function picked(status: AccessRequestStatus, fields: readonly (keyof AccessRequestStatus)[]): AccessRequestStatus {
  return Object.fromEntries(fields.flatMap((field) => (status[field] === undefined ? [] : [[field, status[field]]])));
}

/** Why this verdict is not possible now; undefined where it is. */
function objection(verdict: Verdict, write: StatusWrite): string | undefined {
  const { stored, user } = write;
  if (user === anonymousUser) return "a decision needs an authenticated user";
  if (isRequester(write)) return "a requester cannot decide on its own request; another approver must";
  if (stored.revoked === true) return "it was revoked; the machine must create a new request";
  if (verdict === "Revoked") return stored.accepted === true ? undefined : "it was not approved; deny it instead";
  if (stored.denied === true) return "it was denied; the machine must create a new request";
  if (verdict === "Denied") return stored.accepted === true ? "it was approved; revoke it instead" : undefined;
  return approvalObjection(write);
}

function isRequester({ stored, user, impersonator }: StatusWrite): boolean {
  const requester = stored.evidence?.requester;
  return requester === user || (impersonator !== undefined && requester === impersonator);
}

function approvalObjection({ stored, user, impersonator, approvers, profile }: StatusWrite): string | undefined {
  if (approvers === undefined) {
    return 'it is for no profile: it names none that exists, and none is marked as default by annotation access.pratique.dev/is-default-profile: "true"';
  }
  const again = approvedBy(approvals(stored, profile), [user, impersonator]);
  return again === undefined ? undefined : `${again} approved it already; ${approvers} different approvers must`;
}

/** The user of this write who has approved before: under this name, by impersonating another, or by being impersonated. */
function approvedBy(before: readonly AccessDecision[], users: readonly (string | undefined)[]): string | undefined {
  const counted = new Set(before.flatMap(({ user, impersonator = user }) => [user, impersonator]));
  return users.find((one) => one !== undefined && counted.has(one));
}

/** The approvals of the current profile. */
function approvals(
  { decisions = [] }: AccessRequestStatus,
  profile: DecidedProfile | undefined,
): readonly AccessDecision[] {
  return decisions.filter((one) => one.verdict === "Approved" && jsonEqual(one.profile, profile));
}

function decisionOf(verdict: Verdict, write: StatusWrite): AccessDecision {
  const { incoming, stored, user, impersonator, now, profile } = write;
  const { reason = "", wordsCompared } = incoming;
  return {
    user,
    ...(impersonator === undefined ? {} : { impersonator }),
    time: now,
    verdict,
    ...(reason === "" ? {} : { reason: reason.slice(0, maxReasonCharacters) }),
    ...(verdict === "Approved"
      ? { words: wordsCompared === true ? ("Compared" as const) : ("NotCompared" as const) }
      : {}),
    ...(stored.fingerprint === undefined ? {} : { fingerprint: stored.fingerprint }),
    ...(profile === undefined ? {} : { profile }),
  };
}

const maxReasonCharacters = 1024;

/** With more than one approver the last of them accepts the request. */
function decided(
  verdict: Verdict,
  decisions: readonly AccessDecision[],
  { approvers = Number.POSITIVE_INFINITY, profile }: StatusWrite,
): AccessRequestStatus {
  if (verdict === "Denied") return { denied: true };
  if (verdict === "Revoked") return { revoked: true };
  return approvals({ decisions }, profile).length >= approvers ? { accepted: true } : {};
}

/** The fields that a write sets without permission: such a write is rejected, and not only overruled. */
export function oversteps({ stored, incoming, mayIssue }: StatusWrite): readonly string[] {
  if (mayIssue) return [];
  return [...issuedFields, ...observedFields, "decisions" as const].filter(
    (field) => incoming[field] !== undefined && !jsonEqual(incoming[field], stored[field]),
  );
}
