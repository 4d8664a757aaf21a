import type { ApiObject } from "../../core/object.ts";
import type { Outcome } from "../controller.ts";
import { certificateSigningRequests } from "../kinds.ts";
import { referenceTo, type Told } from "../told.ts";
import { csrView } from "./csr-view.ts";

/** Why a request is not approved by itself, and whether a change of it or of time alone may end that. */
export interface Abstention extends Pick<Told, "reason" | "message"> {
  readonly again: "woken" | "paused";
}

export const revokedRequester: Abstention = {
  reason: "RequesterRevoked",
  message: "the credential of its requester is revoked",
  again: "paused",
};

export const clonedRequester: Abstention = {
  reason: "RequesterCloned",
  message: "two machines hold the credential of its requester",
  again: "woken",
};

/** Asked about again: a grant may follow. */
export const notAllowed: Abstention = {
  reason: "ApprovalNotAllowed",
  message: "it is of a kind that is approved by itself, but its requester lacks the right for it",
  again: "paused",
};

/** A request that a person must decide on. */
export function leftToPeople(object: ApiObject, { reason, message, again }: Abstention): Outcome {
  const about = referenceTo(certificateSigningRequests, object);
  const details = { requester: csrView(object).requester.username };
  return { kind: "blocked", because: { reason, about, message: `not approved by itself: ${message}`, details }, again };
}
