import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { errorText } from "../apimachinery/error-text.ts";
import { lockDirectory, type DirectoryLock } from "./directory-lock.ts";
import { openLmdbLog } from "./lmdb-log.ts";
import { openMvcc } from "./mvcc.ts";
import type { RevisionLog } from "./revision-log.ts";
import { beginDirectory, dataFile, ensureDirectory, finishDirectory, inspectDirectory } from "./store-directory.ts";
import { StorageError, type Store } from "./store.ts";
import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";

/** The directory and the limits of an embedded store. */
export interface LmdbOptions {
  /** A directory of the store's own; created when absent, with mode 0700, its files with 0600. */
  readonly dir: string;
  /** Address space reserved for the data file, in bytes, default 16 GiB. It costs nothing until used, and is no limit. */
  readonly mapSizeBytes?: number;
  /**
   * How many bytes records with their history may take; default without bound. The last 2 MiB of it are kept for writes that may use the
   * reserve, which are accepted beyond it as well.
   */
  readonly quotaBytes?: number | undefined;
}

const defaultMapSizeBytes = 16 * 1024 ** 3;

/**
 * The embedded store: values in an LMDB file, the index of their keys in memory. Every write is durable (fdatasync) before it is
 * acknowledged; concurrent writes share a sync.
 * @throws StorageError locked, format or corrupt, naming the directory and what to do; unreachable when it cannot be used at all.
 */
export async function openLmdb(options: LmdbOptions): Promise<Store> {
  const { dir } = options;
  try {
    return await openLocked(options);
  } catch (cause) {
    if (cause instanceof StorageError) throw cause;
    throw new StorageError("unreachable", `the store in ${dir} cannot be opened: ${errorText(cause)}`, { cause });
  }
}

async function openLocked({ dir, mapSizeBytes = defaultMapSizeBytes, quotaBytes }: LmdbOptions): Promise<Store> {
  await ensureDirectory(dir);
  // Before the lock, so that no file is created in the directory of another program.
  await inspectDirectory(dir);
  const lock = await lockDirectory(dir);
  let log: RevisionLog | undefined;
  try {
    const state = await inspectDirectory(dir);
    if (state === "new") await beginDirectory(dir);
    log = await openLmdbLog({ dir, mapSizeBytes, quotaBytes, isNew: state === "new" });
    for (const name of [dataFile, "lock.mdb"]) await chmod(join(dir, name), 0o600);
    if (state === "new") await finishDirectory(dir);
    return releasing(openMvcc(log), lock);
  } catch (error) {
    await log?.close();
    await lock.release();
    throw error;
  }
}

function releasing(store: Store, lock: DirectoryLock): Store {
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    try {
      await store.close();
    } finally {
      await lock.release();
    }
  };
  return { ...store, close: () => (closing ??= close()) };
}

/** The memory limits of this process, in bytes. */
export interface MemoryLimits {
  /** V8's limit of the heap. */
  readonly heapBytes: number;
  /** The limit of the cgroup, or the memory of the machine. */
  readonly processBytes: number;
}

const mebibyte = 1024 * 1024;
/** Source: etcd, --quota-backend-bytes. */
const maxBytes = 2048 * mebibyte;
const minBytes = 16 * mebibyte;
/** The memory of a hub with an empty store. */
const idleBytes = 128 * mebibyte;
/** Memory for each stored byte: see docs/storage.md, "The quota". */
const memoryPerStored = 8;

/** The quota of a store in bytes with which a hub whose store is at its quota restarts and runs within these limits. */
export function defaultQuotaBytes({ heapBytes, processBytes }: MemoryLimits): number {
  const affordable = Math.floor((Math.min(heapBytes, processBytes) - idleBytes) / memoryPerStored);
  return Math.min(maxBytes, Math.max(minBytes, affordable));
}

/** The limits of this process. */
export function memoryLimits(): MemoryLimits {
  const constrained = process.constrainedMemory();
  return {
    heapBytes: getHeapStatistics().heap_size_limit,
    // Without a limit, the cgroup reports nothing, or a number larger than any machine's memory.
    processBytes: Math.min(totalmem(), constrained === undefined || constrained === 0 ? Infinity : constrained),
  };
}
