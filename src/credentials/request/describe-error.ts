import { hasReason } from "../../client/api-errors.ts";
import { ConnectionError } from "../../client/client.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { connectionFailure } from "./connection-failure.ts";
import { JoinError, plainText } from "../join-error.ts";

/** What a failed call means, in one sentence without secrets. @throws what is no failure of the world */
export function describeError(error: unknown, server: string): string {
  if (error instanceof JoinError) return error.message;
  if (error instanceof ConnectionError) {
    return URL.canParse(server) ? connectionFailure(error, { server }).message : `${server} cannot be reached`;
  }
  if (!(error instanceof StatusError)) throw error;
  const text = plainText(error.message);
  return error.reason === "Unauthorized"
    ? `${server} refuses the credential (401): ${text}`
    : `${server} refuses: ${text}`;
}

/**
 * Whether an update may go well upon a newer version. A kube-apiserver lets webhooks judge before it compares versions: what the hub has
 * changed meanwhile, such as a taint, then looks like a change of ours.
 */
export function isRace(error: unknown): boolean {
  return hasReason(error, "Conflict", "BadRequest", "Invalid");
}
