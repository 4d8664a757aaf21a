import { open as openFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { inspectDataFile } from "./lmdb-file.ts";
import { lmdbSpace, type LmdbSpace, type TreeSize } from "./lmdb-space.ts";
import { decodeHeader, decodeRecord, encodeHeader, encodeRecord, readU64, recordFormat, writeU64 } from "./record.ts";
import { emptyHeader, type LogChange, type LogHeader, type RevisionLog } from "./revision-log.ts";
import { dataFile, withFile } from "./store-directory.ts";
import { damagedStore, StorageError, type StoreEvent } from "./store.ts";

/** The used part of LMDB; its own declarations leave out the options of an asynchronous put. */
interface Database {
  put(key: Buffer, value: Buffer, options?: { readonly append: true }): Promise<boolean>;
  remove(key: Buffer): Promise<boolean>;
  /** Applies what `write` puts and removes if `key` is not there; resolves with whether it did. */
  ifNoExists(key: Buffer, write: () => void): Promise<boolean>;
  getBinary(key: Buffer): Buffer | undefined;
  getRange(range: { readonly start: Buffer }): Iterable<{ readonly key: Buffer; readonly value: Buffer }>;
  getStats(): Stats;
  close(): Promise<void>;
  readonly status: string;
}

/** Pages of a tree in the file. */
interface Pages {
  readonly treeDepth: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

interface Stats extends Pages {
  readonly pageSize: number;
  readonly lastPageNumber: number;
  readonly free: Pages;
}

interface OpenOptions {
  readonly dir: string;
  readonly mapSizeBytes: number;
  readonly quotaBytes?: number | undefined;
}

// Records lie under their revision, eight bytes big-endian; the header under zero, which is no revision.
const keySize = 8;
const headerKey: Buffer = Buffer.alloc(keySize);

/** Opens the LMDB file in a directory that the caller has locked and inspected. @throws StorageError format, corrupt. */
export async function openLmdbLog(options: OpenOptions & { readonly isNew: boolean }): Promise<RevisionLog> {
  const { dir, isNew } = options;
  const damage = isNew ? undefined : inspectDataFile(join(dir, dataFile));
  if (damage !== undefined) throw damagedStore(dir, `${dataFile}: ${damage}`);
  await allocateLockFile(dir);
  const { open } = await import("lmdb");
  const reopen = (): Database => openDatabase(open, options);
  const db = reopen();
  try {
    if (isNew) await db.put(headerKey, encodeHeader(emptyHeader));
    const header = readHeader(db, dir);
    return await logOver({ db }, { dir, header, reopen, quotaBytes: options.quotaBytes });
  } catch (error) {
    await db.close();
    throw await causeOf(error);
  }
}

function openDatabase(open: (settings: object) => object, options: OpenOptions): Database {
  const settings = {
    path: options.dir,
    noSubdir: false,
    mapSize: options.mapSizeBytes,
    permissionsMode: 0o600,
    maxDbs: 1,
    encoding: "binary",
    keyEncoding: "binary",
    cache: false,
    compression: false,
    // A resolved promise must mean durable, not merely visible.
    overlappingSync: false,
    // Conditional batches are atomic by themselves; batching by event turn adds to each a promise that no caller can catch.
    eventTurnBatching: false,
  } as const;
  try {
    const database: object = open(settings);
    return database as Database;
  } catch (cause) {
    throw damagedStore(options.dir, String(cause), { cause });
  }
}

async function logOver(
  held: { db: Database },
  options: {
    readonly dir: string;
    readonly header: LogHeader;
    readonly reopen: () => Database;
    readonly quotaBytes: number | undefined;
  },
): Promise<RevisionLog> {
  const { dir, header, reopen, quotaBytes } = options;
  const readKey = Buffer.alloc(keySize);
  const path = join(dir, dataFile);
  const database = (): Database => {
    if (held.db.status === "open") return held.db;
    throw new StorageError("unreachable", `the store in ${dir} cannot be opened again after a write that failed`);
  };
  const space: LmdbSpace = await lmdbSpace({ path, place: dir, size: () => treeSize(database()), quotaBytes });
  return {
    header,
    place: dir,
    ...space,

    commit: async (change) => commit(database(), change),

    async establish() {
      // The engine's memory may contain parts of the failed commit.
      if (held.db.status === "open") closeNow(held.db, dir);
      held.db = reopen();
      // The engine rolls back a header whose write failed; the header read now is authoritative once it is on disk as well.
      await withFile(await openFile(path, "r+"), (file) => file.datasync());
      return readHeader(held.db, dir);
    },

    read(revision) {
      writeU64(readKey, revision, 0);
      const bytes = database().getBinary(readKey);
      return bytes === undefined ? undefined : decode(bytes, revision, dir);
    },

    scan: () => scan(database(), dir),

    close: async () => {
      if (held.db.status === "open") await held.db.close();
    },
  };
}

/** Closes synchronously, so that no read happens between it and the reopening. Nothing may be under way. */
function closeNow(db: Database, dir: string): void {
  Object.assign(db, { _endWrites: () => undefined });
  void db.close();
  if (db.status !== "closed") throw new StorageError("unreachable", `the store in ${dir} cannot be opened again`);
}

// The engine's size of it for 126 readers, in whole pages.
const lockFileBytes = 12_288;

/**
 * Allocates the blocks of the engine's lock file. The engine maps it, and where the disk is full a page without a block ends the process with
 * SIGBUS. Its contents matter only while another process has the store open, which the directory's own lock prevents.
 */
async function allocateLockFile(dir: string): Promise<void> {
  await withFile(await openFile(join(dir, "lock.mdb"), "a+", 0o600), async (file) => {
    const { size, blocks } = await file.stat();
    if (size >= lockFileBytes && blocks * 512 >= size) return;
    await file.truncate(0);
    await file.write(Buffer.alloc(lockFileBytes), 0, lockFileBytes);
  });
}

function treeSize(db: Database): TreeSize {
  const stats = db.getStats();
  const pagesOf = (tree: Pages): number => tree.treeBranchPageCount + tree.treeLeafPageCount;
  return {
    pageSize: stats.pageSize,
    lastPage: stats.lastPageNumber,
    treePages: pagesOf(stats) + pagesOf(stats.free) + stats.free.overflowPages,
    valuePages: stats.overflowPages,
    depth: stats.treeDepth,
  };
}

// The condition fences a second writer, should the lock ever fail: the later writer writes nothing at all.
async function commit(db: Database, { append, remove, header }: LogChange): Promise<void> {
  const write = (): void => {
    for (const event of append) db.put(keyOf(event.revision), encodeRecord(event), { append: true }).catch(ignore);
    for (const revision of remove) db.remove(keyOf(revision)).catch(ignore);
    db.put(headerKey, encodeHeader(header)).catch(ignore);
  };
  const first = append[0]?.revision ?? header.last + 1;
  let done: boolean;
  try {
    done = await db.ifNoExists(keyOf(first), write);
  } catch (error) {
    throw await causeOf(error);
  }
  if (!done) throw new StorageError("corrupt", `revision ${first} was written by someone else`);
}

// Each operation of a failed batch is rejected, and the batch as well, which is the one that counts.
function ignore(): void {}

// The engine's reason is itself a promise, which rejects in the same turn, or for some numbers of errors never.
async function causeOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !("commitError" in error)) return error;
  const given = Promise.resolve(error.commitError).catch((cause: unknown) => cause);
  return Promise.race([given, nextTurn(error)]);
}

function* scan(db: Database, dir: string): Iterable<StoreEvent> {
  for (const { key, value } of db.getRange({ start: keyOf(1) })) {
    yield decode(value, key.length === keySize ? readU64(key, 0) : Number.NaN, dir);
  }
}

function readHeader(db: Database, dir: string): LogHeader {
  const bytes = db.getBinary(headerKey);
  const header = bytes === undefined ? "damaged" : decodeHeader(bytes);
  if (header === "damaged") throw damagedStore(dir, "its header is unreadable");
  if ("format" in header) {
    throw new StorageError(
      "format",
      `the records in ${dir} have format ${header.format}, and this program reads format ${recordFormat} only; use the program that wrote them`,
    );
  }
  return header;
}

function decode(bytes: Buffer, revision: number, dir: string): StoreEvent {
  const event = decodeRecord(bytes, revision);
  if (event === undefined) throw damagedStore(dir, `the record of revision ${revision} is unreadable`);
  return event;
}

function keyOf(revision: number): Buffer {
  const key = Buffer.alloc(keySize);
  writeU64(key, revision, 0);
  return key;
}
