import type { Condition } from "../apimachinery/object.ts";

/** The condition of a certificate request that the automatic approver leaves to an approver. It is no decision, and stays true after one. */
export const notApprovedCondition = "NotApprovedAutomatically";
/** The condition of an approved request that its signer tries in vain to sign. */
export const signingDelayedCondition = "SigningDelayed";
/** The condition of a certificate request that asks for a node name that another key holds. It is no decision. */
export const nameInUseCondition = "NameInUse";
/** The condition of a certificate request that says what a machine that comes back waits for. */
export const returningCondition = "Returning";

/** The one that says most comes first. */
const beforeDecision: readonly string[] = [nameInUseCondition, returningCondition, notApprovedCondition];
/** The conditions that Pratique writes on requests that wait. */
export const waitingConditions: ReadonlySet<string> = new Set([...beforeDecision, signingDelayedCondition]);
const finalTypes: ReadonlySet<string> = new Set(["Approved", "Denied", "Failed"]);

/**
 * What the conditions of a certificate request without a certificate say about why it waits: `Reason: message`, or undefined. The
 * condition of a controller that is not Pratique's is quoted with its type and status, as nothing here knows which of them is the good one.
 */
export function waitingText(conditions: readonly Condition[]): string | undefined {
  const isApproved = conditions.some(({ type, status }) => type === "Approved" && status === "True");
  const types = isApproved ? [signingDelayedCondition] : beforeDecision;
  for (const type of types) {
    const own = conditions.find((one) => one.type === type && one.status === "True");
    if (own !== undefined) return reasonAndMessage(own);
  }
  const [latest] = conditions
    .filter(({ type, message = "" }) => !waitingConditions.has(type) && !finalTypes.has(type) && message !== "")
    .toSorted((one, other) => timeOf(other) - timeOf(one));
  return latest && `condition ${latest.type}=${latest.status}: ${reasonAndMessage(latest)}`;
}

function reasonAndMessage({ reason = "", message = "" }: Condition): string {
  return [reason, message].filter((part) => part !== "").join(": ");
}

function timeOf({ lastTransitionTime = "" }: Condition): number {
  return Date.parse(lastTransitionTime) || 0;
}
