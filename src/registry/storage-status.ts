import { StatusError, internalError } from "../core/status.ts";
import { StorageError } from "../storage/store.ts";

/** The error a client gets for a failure of the store. Anything that is no StorageError is passed through as it is. */
export function storageStatus(error: unknown): unknown {
  if (!(error instanceof StorageError)) return error;
  switch (error.code) {
    case "compacted":
      return new StatusError("Expired", "The resourceVersion for the provided list is too old.");
    case "future":
    case "timeout":
      return new StatusError("Timeout", "Timeout: the store did not answer in time", {
        details: { retryAfterSeconds: 1 },
      });
    case "unreachable":
    case "closed":
    case "locked":
      return new StatusError("ServiceUnavailable", "the store is not available", { details: { retryAfterSeconds: 1 } });
    case "corrupt":
    case "format":
      return internalError("the store cannot be read; the hub's log says why");
  }
}
