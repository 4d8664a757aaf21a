import { type Outcome, type Report, done, referenceTo } from "../controller.ts";
import type { Client } from "../../client/client.ts";
import { type Clock, rfc3339 } from "../../apimachinery/clock.ts";
import { setCondition } from "../../apimachinery/conditions.ts";
import type { ApiObject, Condition } from "../../apimachinery/object.ts";
import { notApprovedCondition } from "../../apis/csr-conditions.ts";
import { certificateSigningRequests } from "../kinds.ts";
import { csrView, withConditions } from "./csr-view.ts";

/** Why a request is not approved automatically, and whether only a change of the request or only time can change that. */
export interface Abstention extends Pick<Report, "reason" | "message"> {
  readonly again: "woken" | "paused" | number;
}

/** How often a request is checked again without an event: certificates expire, revocations are deleted. */
export const lookAgainMs = 30_000;

export const revokedRequester: Abstention = {
  reason: "RequesterRevoked",
  message: "the credential of its requester is revoked; deny the request, or take back the revocation",
  again: "paused",
};

/** Reason of a request for a certificate of a user that is revoked by name. */
export const userRevokedReason = "UserRevoked";

/** The requested user is revoked, for any requester: the certificate would be rejected as long as the revocation is in force. */
export function revokedUser(user: string): Abstention {
  return {
    reason: userRevokedReason,
    message: `the user ${JSON.stringify(user)} for which it requests a certificate is revoked; delete that CredentialRevocation (pratique revocations list), or deny the request`,
    again: lookAgainMs,
  };
}

export const clonedRequester: Abstention = {
  reason: "RequesterCloned",
  message:
    "two machines hold the credential of its requester; deny the request, and let the right machine join again with a new key",
  again: "woken",
};

/** Checked again: a permission may be granted. */
export function notAllowed(requester: string, right: string): Abstention {
  return {
    reason: "ApprovalNotAllowed",
    message: `an approver decides, since automatic approval requires the right to ${right}, which its requester ${JSON.stringify(requester)} does not have`,
    again: "paused",
  };
}

/** The condition of a marked request. */
export interface Marking {
  readonly client: Client;
  readonly clock: Pick<Clock, "now">;
}

/**
 * Leaves a request to an approver: writes the condition `NotApprovedAutomatically` first, which the requester and approvers read, then
 * reports it. `marking` is undefined where a condition would do harm. @throws StatusError
 */
export async function manualApproval(
  marking: Marking | undefined,
  object: ApiObject,
  { reason, message, again }: Abstention,
): Promise<Outcome> {
  const text = `not approved automatically: ${message}`;
  const csr = csrView(object);
  if (marking !== undefined) {
    const { client, clock } = marking;
    const condition: Condition = {
      type: notApprovedCondition,
      status: "True",
      reason,
      message: text.slice(0, maxText),
    };
    const conditions = setCondition(csr.conditions, condition, rfc3339(clock.now()));
    if (conditions !== csr.conditions) {
      // Through the subresource approval, as only the signer writes the status.
      await client.update(certificateSigningRequests, withConditions(object, conditions), { subresource: "approval" });
    }
  }
  const about = referenceTo(certificateSigningRequests, object);
  return {
    kind: "blocked",
    because: { reason, about, message: text, details: { requester: csr.requester.username } },
    again,
  };
}

const maxText = 1024;

/** Removes the condition of a request that is left to an approver only because no automatic approval is configured. @throws StatusError */
export async function noLongerLeft(marking: Marking | undefined, object: ApiObject): Promise<void> {
  const { conditions } = csrView(object);
  const kept = withoutAbstention(conditions);
  if (marking === undefined || kept.length === conditions.length) return;
  const { client } = marking;
  await client.update(certificateSigningRequests, withConditions(object, kept), { subresource: "approval" });
}

/** Approves a request automatically, also one that was left to an approver before. @throws StatusError */
export async function approveRequest(
  client: Client,
  object: ApiObject,
  approval: Pick<Condition, "reason" | "message">,
): Promise<Outcome> {
  const approved: Condition = { type: "Approved", status: "True", ...approval };
  const conditions = [...withoutAbstention(csrView(object).conditions), approved];
  await client.update(certificateSigningRequests, withConditions(object, conditions), { subresource: "approval" });
  return done;
}

function withoutAbstention(conditions: readonly Condition[]): readonly Condition[] {
  return conditions.filter(({ type }) => type !== notApprovedCondition);
}
