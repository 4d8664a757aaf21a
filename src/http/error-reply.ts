import { StatusError, internalError, type Status } from "../core/status.ts";
import type { Reply } from "./exchange.ts";

/** The Status for whatever a handler threw: a StatusError as it is, anything else as an InternalError that tells nothing but the request. */
export function statusOf(error: unknown, requestId: string): Status {
  if (error instanceof StatusError) return error.toStatus();
  return internalError(`the hub's log has the cause under request ${requestId}`).toStatus();
}

/** A Status as a reply; `Retry-After` follows from its details. */
export function statusReply(status: Status): Reply {
  const retryAfter = status.details?.retryAfterSeconds;
  return {
    status: status.code ?? 200,
    contentType: "application/json",
    body: JSON.stringify(status),
    headers: {
      ...(retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }),
      ...(status.code === 403 ? { "x-content-type-options": "nosniff" } : {}),
    },
  };
}
