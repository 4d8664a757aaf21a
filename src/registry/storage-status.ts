import { StatusError, internalError } from "../apimachinery/status.ts";
import { StorageError } from "../storage/store.ts";

const storeFull =
  "the disk of the hub is full, and nothing of this write is stored: free space on the file system of the hub's data directory, " +
  "or delete objects; deletions, Leases and revocations are still taken, and the hub takes all writes again within seconds once there is room";

const overQuota =
  "the store of the hub has reached its quota, and nothing of this write is stored: delete objects, or start the hub with a larger " +
  "--quota-backend-bytes; deletions, Leases and revocations are still taken, and the hub takes all writes again within seconds once there is room";

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
    case "full":
      return new StatusError("InsufficientStorage", storeFull);
    case "quota":
      return new StatusError("InsufficientStorage", overQuota);
    case "unwritten":
      return internalError(
        "the disk of the hub refused this write, and nothing of it is stored; the hub's log names the cause, and the hub tries its disk again every few seconds",
      );
    case "unknown":
      return internalError(
        "the disk of the hub failed during this write, and whether it is stored is not known yet; read the object before writing again; the hub's log names the cause",
      );
    case "corrupt":
    case "format":
      return internalError("the store cannot be read; the hub's log says why");
  }
}
