import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { lockDirectory, type DirectoryLock } from "./directory-lock.ts";
import { openLmdbLog } from "./lmdb-log.ts";
import { openMvcc } from "./mvcc.ts";
import type { RevisionLog } from "./revision-log.ts";
import { beginDirectory, dataFile, ensureDirectory, finishDirectory, inspectDirectory } from "./store-directory.ts";
import { StorageError, type Store } from "./store.ts";

/** Where and how an embedded store lies on disk. */
export interface LmdbOptions {
  /** A directory of the store's own; made when absent, with mode 0700, its files with 0600. */
  readonly dir: string;
  /** Address space reserved for the data file, in bytes, default 16 GiB. It costs nothing until used, and is no limit. */
  readonly mapSizeBytes?: number;
  /**
   * How many bytes records with their history may take; default without bound. The last 2 MiB of it are kept for writes that may use the
   * reserve, which are taken beyond it as well.
   */
  readonly quotaBytes?: number | undefined;
}

const defaultMapSizeBytes = 16 * 1024 ** 3;

/**
 * The embedded store: values in an LMDB file, the index of their keys in memory. Every write is durable (fdatasync) before it is
 * acknowledged; writes made at the same time share a sync.
 * @throws StorageError locked, format or corrupt, naming the directory and what to do; unreachable when it cannot be used at all.
 */
export async function openLmdb(options: LmdbOptions): Promise<Store> {
  const { dir } = options;
  try {
    return await openLocked(options);
  } catch (cause) {
    if (cause instanceof StorageError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StorageError("unreachable", `the store in ${dir} cannot be opened: ${reason}`, { cause });
  }
}

async function openLocked({ dir, mapSizeBytes = defaultMapSizeBytes, quotaBytes }: LmdbOptions): Promise<Store> {
  await ensureDirectory(dir);
  // Before the lock, so that nothing is put into a directory of something else.
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
