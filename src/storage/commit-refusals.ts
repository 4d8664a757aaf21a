import type { LogHeader, RevisionLog } from "./revision-log.ts";
import { StorageError } from "./store.ts";

/** For a write that is refused because of what happened to others before it: nothing of it is stored. */
export function refusedFor(refusal: StorageError): StorageError {
  if (refusal.code !== "unknown") return refusal;
  return new StorageError("unwritten", refusal.message, { cause: refusal });
}

/** The disk refused a commit, and nothing of it is stored. */
export function unwrittenWrite(log: RevisionLog, { last }: LogHeader, cause: unknown): StorageError {
  return new StorageError(
    "unwritten",
    `the store in ${log.place} could not be written after revision ${last} (${reasonOf(cause)}); ` +
      "check the disk; the hub tries again by itself",
    { cause },
  );
}

/** The disk refused a commit, and cannot be asked whether it is stored. */
export function undecidedWrite(log: RevisionLog, { last }: LogHeader, cause: unknown): StorageError {
  return new StorageError(
    "unknown",
    `the store in ${log.place} could not be written after revision ${last}, and what is on disk is not known yet ` +
      `(${reasonOf(cause)}); check the disk; the hub tries again by itself`,
    { cause },
  );
}

/** The log holds something that was never written to it. */
export function corruptLog(log: RevisionLog, { last }: LogHeader): StorageError {
  return new StorageError(
    "corrupt",
    `the store in ${log.place} holds something else than was written after revision ${last}; stop the hub, check the disk, ` +
      "and restore the directory from a backup",
  );
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
