import { rfc3339 } from "../apimachinery/clock.ts";
import { duplicate, type FieldError, forbiddenField, invalid, required } from "../apimachinery/field-error.ts";
import type { ApiObject, Condition } from "../apimachinery/object.ts";
import { collectErrors, requiredOneOf } from "./field-rules.ts";
import { fieldListAt, type Fields, stringAt } from "./json-fields.ts";

const path = "status.conditions";
const approvals: readonly string[] = ["Approved", "Denied"];
/** Conditions that can only be true, and that are never removed. */
const finalTypes: readonly string[] = [...approvals, "Failed"];
const statuses: readonly string[] = ["False", "True", "Unknown"];

/** Errors of the conditions of a CertificateSigningRequest by themselves. Source: pkg/apis/certificates/validation validateConditions. */
export function validateCsrConditions(request: ApiObject): readonly FieldError[] {
  const seen = new Set<string>();
  return collectErrors(fieldListAt(request, "status", "conditions"), (condition, index) => {
    const at = `${path}[${index}]`;
    const type = stringAt(condition, "type");
    const isContradicted = approvals.includes(type) && approvals.some((other) => other !== type && seen.has(other));
    const repeated = seen.has(type);
    seen.add(type);
    return [
      type === "" && required(`${at}.type`),
      requiredOneOf(`${at}.status`, stringAt(condition, "status"), finalTypes.includes(type) ? ["True"] : statuses),
      isContradicted && invalid(`${at}.type`, type, "Approved and Denied conditions are mutually exclusive"),
      repeated && duplicate(`${at}.type`, type),
    ];
  });
}

/** No update removes Approved, Denied or Failed. */
export function validateCsrConditionsKept(next: ApiObject, stored: ApiObject): readonly FieldError[] {
  return finalTypes
    .filter((type) => ofType(next, type).length < ofType(stored, type).length)
    .map((type) => forbiddenField(path, `updates may not remove a condition of type ${JSON.stringify(type)}`));
}

/** Only the subresource `approval` adds Approved and Denied. `withStoredApprovals` has restored their contents. */
export function validateCsrApprovalsUntouched(next: ApiObject, stored: ApiObject): readonly FieldError[] {
  return approvals
    .filter((type) => ofType(next, type).length > ofType(stored, type).length)
    .map((type) => forbiddenField(path, `updates may not add a condition of type ${JSON.stringify(type)}`));
}

/** The conditions of `incoming` with every Approved and Denied as it is stored; validation rejects one that was added or removed. */
export function withStoredApprovals(incoming: ApiObject, stored: ApiObject): readonly Fields[] {
  const kept = new Map<string, readonly Fields[]>();
  for (const type of approvals) {
    const before = ofType(stored, type);
    if (ofType(incoming, type).length === before.length) kept.set(type, before);
  }
  return fieldListAt(incoming, "status", "conditions").map(
    (condition) => kept.get(stringAt(condition, "type"))?.[0] ?? condition,
  );
}

/** Conditions with the times that a client omitted: updated at `now` (milliseconds), in transition since the stored condition of equal type and status, else since `now`. */
export function withConditionTimes(conditions: readonly Fields[], stored: ApiObject, now: number): readonly Fields[] {
  const time = rfc3339(now);
  const since = new Map<string, string>();
  for (const condition of fieldListAt(stored, "status", "conditions")) {
    const transition = stringAt(condition, "lastTransitionTime");
    if (transition !== "" && !since.has(typeAndStatus(condition))) since.set(typeAndStatus(condition), transition);
  }
  return conditions.map((condition) => ({
    ...condition,
    lastUpdateTime: stringAt(condition, "lastUpdateTime") || time,
    lastTransitionTime: stringAt(condition, "lastTransitionTime") || (since.get(typeAndStatus(condition)) ?? time),
  }));
}

/** The cell of `kubectl get csr`: `Approved,Issued`, `Denied`, `Pending`, `Approved,Failed` and so on. */
export function csrConditionCell(request: ApiObject): string {
  const has = (type: string): boolean => ofType(request, type).length > 0;
  const decision = has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending";
  const failed = has("Failed") ? ",Failed" : "";
  const issued = stringAt(request, "status", "certificate") === "" ? "" : ",Issued";
  return `${decision}${failed}${issued}`;
}

function ofType(request: ApiObject, type: string): readonly Fields[] {
  return fieldListAt(request, "status", "conditions").filter((condition) => stringAt(condition, "type") === type);
}

function typeAndStatus(condition: Fields): string {
  return JSON.stringify([stringAt(condition, "type"), stringAt(condition, "status")]);
}

/** The condition of a certificate request that the automatic approver leaves to an approver. It is no decision, and stays true after one. */
export const notApprovedCondition = "NotApprovedAutomatically";
/** The condition of an approved request that its signer fails to sign. */
export const signingDelayedCondition = "SigningDelayed";
/** The condition of a certificate request for a node name that belongs to another key. It is no decision. */
export const nameInUseCondition = "NameInUse";
/** The condition of a certificate request of a returning machine, with the reason why it is pending. */
export const returningCondition = "Returning";

/** The most specific one first. */
const beforeDecision: readonly string[] = [nameInUseCondition, returningCondition, notApprovedCondition];
/** The conditions that Pratique sets on pending requests. */
export const waitingConditions: ReadonlySet<string> = new Set([...beforeDecision, signingDelayedCondition]);

/**
 * The reason why a certificate request is pending, from its conditions: `Reason: message`, or undefined. The
 * condition of a controller outside of Pratique is quoted with its type and status, as its meaning is unknown here.
 */
export function waitingText(conditions: readonly Condition[]): string | undefined {
  const isApproved = conditions.some(({ type, status }) => type === "Approved" && status === "True");
  const types = isApproved ? [signingDelayedCondition] : beforeDecision;
  for (const type of types) {
    const own = conditions.find((one) => one.type === type && one.status === "True");
    if (own !== undefined) return reasonAndMessage(own);
  }
  const [latest] = conditions
    .filter(({ type, message = "" }) => !waitingConditions.has(type) && !finalTypes.includes(type) && message !== "")
    .toSorted((one, other) => timeOf(other) - timeOf(one));
  return latest && `condition ${latest.type}=${latest.status}: ${reasonAndMessage(latest)}`;
}

function reasonAndMessage({ reason = "", message = "" }: Condition): string {
  return [reason, message].filter((part) => part !== "").join(": ");
}

function timeOf({ lastTransitionTime = "" }: Condition): number {
  return Date.parse(lastTransitionTime) || 0;
}
