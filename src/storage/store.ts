/** A key with its value as of `revision`, the revision of the write that put it there. */
export interface StoredValue {
  readonly key: string;
  readonly value: Uint8Array;
  readonly revision: number;
}

/** One change. A put says whether the key was absent before. */
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
  /** Whether it may use the space that is kept for what frees space and what keeps machines in: deletions, leases, revocations. Default no. */
  readonly mayUseReserve?: boolean;
}

/** Whether a store takes writes. */
export interface StoreCondition {
  /** Why writes are refused; undefined while they are taken. With code `full` or `quota`, those that may use the reserve are taken all the same. */
  readonly refusal: StorageError | undefined;
  /** Commits so far, by how long each took until it was durable, in seconds. */
  readonly commits: CommitTimes;
}

/** A histogram: how many commits took at most so many seconds as the bound of the same place, and how many more; not cumulative. */
export interface CommitTimes {
  readonly bounds: readonly number[];
  readonly buckets: readonly number[];
  readonly seconds: number;
}

/** Bytes on disk. */
export interface StoreUsage {
  /** Length of the data file, with what is kept free in it. */
  readonly sizeBytes: number;
  /** What records and their tree take of it. */
  readonly usedBytes: number;
  /** What the file system has left for this process; undefined where there is none. */
  readonly freeBytes: number | undefined;
  /** What records and their tree may take of it; undefined where that has no bound. */
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

  /** Forgets superseded values at or below `revision`; reads and watches from before it then fail as compacted. */
  compact(revision: number): Promise<void>;

  currentRevision(): Promise<number>;

  /** The revision at or below which history is gone; 0 when none is. */
  compactedRevision(): Promise<number>;

  /** Whether writes are taken now, and how long commits took. Costs nothing. */
  condition(): StoreCondition;

  /** What the store takes and has on disk. Reads the file system. */
  usage(): Promise<StoreUsage>;

  /**
   * Where writes are refused, tries to take them again: establishes the outcome of a failed commit, or finds room. To be called at
   * intervals; does nothing where writes are taken. Never rejects.
   */
  recover(): Promise<void>;

  /** Finishes writes under way, then refuses new ones. Idempotent. */
  close(): Promise<void>;
}

/**
 * Why a store failed: not a race, but a state in which the call cannot be answered. `full`: there is no room, and nothing was written.
 * `quota`: as `full`, where the room is that which the store was given, and not that of the disk.
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

/** Whether a store has no room for a write: writes that may use the reserve are taken all the same, and deletions make room. */
export function isOutOfRoom(error: unknown): boolean {
  return error instanceof StorageError && (error.code === "full" || error.code === "quota");
}
