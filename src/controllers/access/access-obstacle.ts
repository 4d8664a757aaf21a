import { isConditionTrue, findCondition } from "../../apimachinery/conditions.ts";
import type { Condition } from "../../apimachinery/object.ts";
import { reasons, type Reason } from "../../apimachinery/reasons.ts";
import { StatusError } from "../../apimachinery/status.ts";
import type { AccessProfile } from "../../apis/access-profile.ts";
import { accessRequests, type AccessRequest, type AccessRequestStatus } from "../../apis/access-request.ts";
import { hasReason, isTerminating } from "../../client/api-errors.ts";
import { referenceTo, type Report } from "../controller.ts";

/** Why nothing can be issued: reason and message of the condition `Issued`. */
export interface Obstacle {
  readonly reason: Reason;
  readonly message: string;
}

const roleKinds: readonly string[] = ["clusterroles", "roles"];

/** What a rejected API call means for the profile whose access is issued; undefined for transient errors and faults. */
export function obstacleOf(error: unknown, { metadata, spec }: AccessProfile): Obstacle | undefined {
  const profile = JSON.stringify(metadata.name ?? "");
  const namespace = JSON.stringify(spec.namespace);
  if (isTerminating(error)) {
    const message = `namespace ${namespace} of profile ${profile} is being deleted; create it again, or change the profile`;
    return { reason: "ProfileNamespaceTerminating", message };
  }
  if (!(error instanceof StatusError)) return undefined;
  const { kind, name } = missingObject(error);
  if (kind === "namespaces") {
    const message = `namespace ${namespace} of profile ${profile} does not exist; create it (kubectl create namespace ${spec.namespace}), or change the profile`;
    return { reason: "ProfileNamespaceMissing", message };
  }
  if (roleKinds.includes(kind)) {
    const message = `role ${JSON.stringify(name)} of profile ${profile} does not exist; create it, or change the profile`;
    return { reason: "ProfileRoleMissing", message };
  }
  // The reader of the request may not be allowed to read the log of the controller.
  if (hasReason(error, "Forbidden", "Invalid", "BadRequest", "MethodNotAllowed")) {
    return { reason: "IssuingFailed", message: `the API refused what profile ${profile} grants: ${error.message}` };
  }
  return undefined;
}

function missingObject(error: StatusError): { readonly kind: string; readonly name: string } {
  const { kind = "", name = "" } = hasReason(error, "NotFound") ? (error.details ?? {}) : {};
  return { kind, name };
}

/** The obstacle in the status of a request; undefined where it is answered, has ended, or is not approved. */
export function obstacleIn(status: AccessRequestStatus): Obstacle | undefined {
  const issued = findCondition(status.conditions, "Issued");
  if (issued?.status !== "False" || !awaitsAnswer(status)) return undefined;
  const { reason = "", message = "" } = issued;
  return { reason: isReason(reason) ? reason : "IssuingFailed", message };
}

function awaitsAnswer({ accepted, ready, denied, revoked, conditions }: AccessRequestStatus): boolean {
  const isOver = ready === true || denied === true || revoked === true || isConditionTrue(conditions, "Expired");
  return accepted === true && !isOver;
}

function isReason(text: string): text is Reason {
  return Object.hasOwn(reasons, text);
}

/** Whether an object of this kind, by its plural, may be what the request waits for. */
export function waitsFor({ status = {} }: AccessRequest, plural: string): boolean {
  switch (obstacleIn(status)?.reason) {
    case "ProfileNamespaceMissing":
    case "ProfileNamespaceTerminating":
      return plural === "namespaces";
    case "ProfileRoleMissing":
      return roleKinds.includes(plural);
    default:
      return false;
  }
}

/** The report that goes with the obstacle. */
export function obstacleReport(request: AccessRequest, { reason, message }: Obstacle): Report {
  return {
    reason,
    about: referenceTo(accessRequests, request),
    message: `nothing is issued: ${message}`,
    details: whoOf(request.status),
  };
}

/** The reports for a request that gets the status `next`: one for each condition that became true or changed its reason. */
export function accessReports(request: AccessRequest, next: AccessRequestStatus): readonly Report[] {
  const before = request.status?.conditions ?? [];
  const about = referenceTo(accessRequests, request);
  return (next.conditions ?? []).flatMap((condition): readonly Report[] => {
    const known = findCondition(before, condition.type);
    const reason = reportedAs(condition);
    // A request may have ended before it is superseded: its condition is true already, because its token expired.
    if (reason === undefined || (known !== undefined && reportedAs(known) === reason)) return [];
    const message = `${reportedTexts[reason]}${condition.message === "" ? "" : `: ${condition.message}`}`;
    return [{ reason, about, message, details: whoOf(next) }];
  });
}

const reportedTexts = {
  AccessRequestApproved: "access request approved",
  AccessRequestDenied: "access request denied",
  AccessRequestExpired: "access request expired",
  AccessGranted: "access granted",
  AccessRevoked: "access revoked",
  AccessSuperseded: "access superseded",
  RecoveryNotApproved: "not approved automatically",
} as const satisfies Partial<Record<Reason, string>>;

const reportOf: Readonly<Record<string, keyof typeof reportedTexts>> = {
  Approved: "AccessRequestApproved",
  Issued: "AccessGranted",
  Denied: "AccessRequestDenied",
  Revoked: "AccessRevoked",
  // Not the end of its first token, after which the machine may have renewed it.
  "Expired Unanswered": "AccessRequestExpired",
  "Expired Superseded": "AccessSuperseded",
  Returning: "RecoveryNotApproved",
};

function reportedAs({ type, status, reason = "" }: Condition): keyof typeof reportedTexts | undefined {
  if (status !== "True") return undefined;
  const key = type === "Expired" ? `${type} ${reason}` : type;
  return Object.hasOwn(reportOf, key) ? reportOf[key] : undefined;
}

/** Who decided last, on which key, and why. */
function whoOf({ decisions = [], fingerprint, evidence }: AccessRequestStatus = {}): NonNullable<Report["details"]> {
  const last = decisions.at(-1);
  return { user: last?.user, fingerprint, why: last?.reason, address: evidence?.sourceAddress };
}
