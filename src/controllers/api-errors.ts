import { StatusError } from "../core/status.ts";
import type { StatusReason } from "../core/status.ts";

/** Whether an API call was refused for one of these reasons. */
export function hasReason(error: unknown, ...reasons: readonly StatusReason[]): error is StatusError {
  return error instanceof StatusError && error.reason !== "" && reasons.includes(error.reason);
}

/** Whether a create was refused because its namespace is on its way out. */
export function isTerminating(error: unknown): boolean {
  return (
    hasReason(error, "Forbidden") &&
    (error.details?.causes ?? []).some((cause) => cause.reason === "NamespaceTerminating")
  );
}

/** Whether the API refused a write, so that it has certainly not been made; after any other failure that is not known. */
export function isRefusal(error: unknown): error is StatusError {
  return error instanceof StatusError && error.code < 500;
}
