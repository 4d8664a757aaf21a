import type { StoreEvent, StoreUsage } from "./store.ts";

/** The metadata of a log, written in the same transaction as every change. */
export interface LogHeader {
  /** The newest revision. */
  readonly last: number;
  /** How many records there are, whatever their revision. */
  readonly count: number;
  /** Reads below this revision are refused. */
  readonly compacted: number;
  /**
   * Up to here superseded records are removed: at most one record per key, and no deletion. Above it every revision has
   * its record. At most `compacted`, and below it while a compaction is under way or was interrupted.
   */
  readonly trimmed: number;
}

/** One transaction of a log. */
export interface LogChange {
  /** In revision order, from the revision after the last one. */
  readonly append: readonly StoreEvent[];
  /** Revisions whose records are removed. */
  readonly remove: readonly number[];
  /** The header after the change. */
  readonly header: LogHeader;
}

/** Records by revision, durable: what a driver of the embedded store implements, without keys or conflicts. */
export interface RevisionLog {
  /** The header as found when opened; all zeros in a new log. */
  readonly header: LogHeader;

  /**
   * Applies all of `change` or nothing, and resolves once it is durable. The caller awaits each before the next. Rejects with the
   * driver's own error; whether the change is stored is then unknown, and `establish` must precede any other commit.
   */
  commit(change: LogChange): Promise<void>;

  /**
   * After a failed commit: makes the present state durable, and resolves with its header, which shows whether that commit is stored.
   * Rejects with the driver's own error while the disk does not allow it; it may be called again.
   */
  establish(): Promise<LogHeader>;

  /**
   * Whether `change` has room, and `reserveBytes` besides it, without anything being taken from the file system. A bound on what the
   * log may contain applies only with a reserve: a write that may use the reserve is never refused because of such a bound.
   */
  hasRoom(change: LogChange, reserveBytes: number): boolean;

  /** Allocates the room that `hasRoom` lacks. Never while a commit is under way. @throws StorageError full, quota, unwritten. */
  makeRoom(change: LogChange, reserveBytes: number): Promise<void>;

  usage(): Promise<StoreUsage>;

  /** The record of `revision`, checked against damage. @throws StorageError corrupt. */
  read(revision: number): StoreEvent | undefined;

  /** All records in revision order, each checked against damage. @throws StorageError corrupt. */
  scan(): Iterable<StoreEvent>;

  /** The place of the log, for messages. */
  readonly place: string;

  close(): Promise<void>;
}

/** The header of a log without records. */
export const emptyHeader: LogHeader = { last: 0, count: 0, compacted: 0, trimmed: 0 };
