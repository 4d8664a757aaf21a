/** A key with its value as of `revision`, the revision of the write that put it there. */
export interface StoredValue {
  readonly key: string;
  readonly value: Uint8Array;
  readonly revision: number;
}

/** One change. A put records whether the key was absent before. */
export type StoreEvent =
  | {
      readonly type: "put";
      readonly key: string;
      readonly value: Uint8Array;
      readonly revision: number;
      readonly created: boolean;
    }
  | { readonly type: "delete"; readonly key: string; readonly revision: number };

/** How a write is to be treated. */
export interface WriteOptions {
  /** Whether it may use the reserve, which is kept for deletions, leases and revocations. Default no. */
  readonly mayUseReserve?: boolean;
}

/** Whether a store accepts writes. */
export interface StoreCondition {
  /** Why writes are refused; undefined while they are accepted. With code `full` or `quota`, writes that may use the reserve are still accepted. */
  readonly refusal: StorageError | undefined;
  /** Commits so far, by how long each took until it was durable, in seconds. */
  readonly commits: CommitTimes;
}

/** A histogram: how many commits took at most the bound of the same index in seconds, and how many more; not cumulative. */
export interface CommitTimes {
  readonly bounds: readonly number[];
  readonly buckets: readonly number[];
  readonly seconds: number;
}

/** Bytes on disk. */
export interface StoreUsage {
  /** Length of the data file, with its free space. */
  readonly sizeBytes: number;
  /** The part of it that records and their tree take. */
  readonly usedBytes: number;
  /** The free space of the file system for this process; undefined where there is none. */
  readonly freeBytes: number | undefined;
  /** The limit for records and their tree; undefined without one. */
  readonly quotaBytes: number | undefined;
}

/** Changes in revision order; `revision` is the newest revision that the batch covers. */
export interface WatchBatch {
  readonly revision: number;
  readonly events: readonly StoreEvent[];
}

/**
 * A revisioned, durable map of keys to bytes: the only shared state of a hub. Revisions are one strictly growing sequence
 * without gaps over all keys, from 1. A race that the caller must handle is returned; a failure is thrown as StorageError.
 * An acknowledged write is durable and visible to every later read.
 */
export interface Store {
  /** The value of `key` now, or as of `revision`. @throws StorageError compacted, future. */
  get(
    key: string,
    options?: { readonly revision?: number },
  ): Promise<{ readonly value: StoredValue | undefined; readonly revision: number }>;

  /** Values under `prefix` in key order, now or as of `revision`, after the key `after`, at most `limit`. @throws StorageError compacted, future. */
  list(
    prefix: string,
    options?: { readonly revision?: number; readonly limit?: number; readonly after?: string },
  ): Promise<{ readonly values: readonly StoredValue[]; readonly revision: number; readonly more: boolean }>;

  create(
    key: string,
    value: Uint8Array,
    options?: WriteOptions,
  ): Promise<
    { readonly kind: "created"; readonly revision: number } | { readonly kind: "exists"; readonly current: StoredValue }
  >;

  /** Replaces the value if the key's revision is still `ifRevision`. */
  update(
    key: string,
    value: Uint8Array,
    options: WriteOptions & { readonly ifRevision: number },
  ): Promise<
    | { readonly kind: "updated"; readonly revision: number }
    | { readonly kind: "conflict"; readonly current: StoredValue }
    | { readonly kind: "missing" }
  >;

  /** Removes the key if its revision is still `ifRevision`. May use the reserve. */
  delete(
    key: string,
    options: { readonly ifRevision: number },
  ): Promise<
    | { readonly kind: "deleted"; readonly revision: number }
    | { readonly kind: "conflict"; readonly current: StoredValue }
    | { readonly kind: "missing" }
  >;

  /**
   * Every change under `prefix` with a revision above `fromRevision`, in order, without end until `signal` aborts.
   * Delivery of a write happens before that write is acknowledged to a reader of the same process.
   * @throws StorageError compacted when `fromRevision` is below the compacted revision.
   */
  watch(
    prefix: string,
    options: { readonly fromRevision: number; readonly signal: AbortSignal },
  ): AsyncIterable<WatchBatch>;

  /** Removes superseded values at or below `revision`; reads and watches from before it then fail as compacted. */
  compact(revision: number): Promise<void>;

  currentRevision(): Promise<number>;

  /** The revision at or below which history is compacted; 0 for none. */
  compactedRevision(): Promise<number>;

  /** Whether writes are accepted now, and how long commits took. Costs nothing. */
  condition(): StoreCondition;

  /** The size and free space on disk. Reads the file system. */
  usage(): Promise<StoreUsage>;

  /**
   * Where writes are refused, tries to accept them again: establishes the outcome of a failed commit, or finds room. To be called at
   * intervals; does nothing where writes are accepted. Never rejects.
   */
  recover(): Promise<void>;

  /** Finishes writes under way, then refuses new ones. Idempotent. */
  close(): Promise<void>;
}

/**
 * Why a store failed: not a race, but a state in which the call cannot be answered. `full`: there is no room, and nothing was written.
 * `quota`: as `full`, for the configured limit of the store instead of the disk.
 * `unwritten`: the disk refused, and nothing was written. `unknown`: the disk refused, and whether this write is stored is not known yet.
 */
export type StorageErrorCode =
  | "compacted"
  | "future"
  | "unreachable"
  | "corrupt"
  | "timeout"
  | "closed"
  | "full"
  | "quota"
  | "unwritten"
  | "unknown"
  | "locked"
  | "format";

export class StorageError extends Error {
  readonly code: StorageErrorCode;

  constructor(code: StorageErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StorageError";
    this.code = code;
  }
}

/** The failure of a store in `place` whose records cannot be read, or contradict each other. */
export function damagedStore(place: string, what: string, options?: ErrorOptions): StorageError {
  const next = "restore the directory from a backup, or move it away to start with an empty store";
  return new StorageError("corrupt", `the store in ${place} is damaged: ${what}; ${next}`, options);
}

/** Whether a store has no room for a write: writes that may use the reserve are still accepted, and deletions free room. */
export function isOutOfRoom(error: unknown): boolean {
  return error instanceof StorageError && (error.code === "full" || error.code === "quota");
}
