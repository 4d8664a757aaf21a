import { join } from "node:path";
import { inspectDataFile } from "./lmdb-file.ts";
import { decodeHeader, decodeRecord, encodeHeader, encodeRecord, readU64, recordFormat, writeU64 } from "./record.ts";
import { emptyHeader, type LogChange, type LogHeader, type RevisionLog } from "./revision-log.ts";
import { dataFile } from "./store-directory.ts";
import { StorageError, type StoreEvent } from "./store.ts";

/** What is used of LMDB; its own declarations leave out the options of an asynchronous put. */
interface Database {
  put(key: Buffer, value: Buffer, options?: { readonly append: true }): Promise<boolean>;
  remove(key: Buffer): Promise<boolean>;
  /** Applies what `write` puts and removes if `key` is not there; resolves with whether it did. */
  ifNoExists(key: Buffer, write: () => void): Promise<boolean>;
  getBinary(key: Buffer): Buffer | undefined;
  getRange(range: { readonly start: Buffer }): Iterable<{ readonly key: Buffer; readonly value: Buffer }>;
  close(): Promise<void>;
}

// Records lie under their revision, eight bytes big-endian; the header under zero, which is no revision.
const keySize = 8;
const headerKey: Buffer = Buffer.alloc(keySize);

/** Opens the LMDB file in a directory that the caller has locked and inspected. @throws StorageError format, corrupt. */
export async function openLmdbLog(options: {
  readonly dir: string;
  readonly mapSizeBytes: number;
  readonly isNew: boolean;
}): Promise<RevisionLog> {
  const { dir, isNew } = options;
  const damage = isNew ? undefined : inspectDataFile(join(dir, dataFile));
  if (damage !== undefined) throw new StorageError("corrupt", damaged(dir, `${dataFile}: ${damage}`));
  const db = await openDatabase(options);
  try {
    if (isNew) await db.put(headerKey, encodeHeader(emptyHeader));
    return logOver(db, dir, readHeader(db, dir));
  } catch (error) {
    await db.close();
    throw error;
  }
}

async function openDatabase(options: { readonly dir: string; readonly mapSizeBytes: number }): Promise<Database> {
  const { open } = await import("lmdb");
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
    // A promise shall mean durable, not merely visible.
    overlappingSync: false,
    // Conditional batches are atomic by themselves; batching by event turn adds a promise to each that nobody can catch.
    eventTurnBatching: false,
  } as const;
  try {
    const database: object = open(settings);
    return database as Database;
  } catch (cause) {
    throw new StorageError("corrupt", damaged(options.dir, String(cause)), { cause });
  }
}

function logOver(db: Database, dir: string, header: LogHeader): RevisionLog {
  const readKey = Buffer.alloc(keySize);
  return {
    header,
    place: dir,

    commit: (change) => commit(db, change),

    read(revision) {
      writeU64(readKey, revision, 0);
      const bytes = db.getBinary(readKey);
      return bytes === undefined ? undefined : decode(bytes, revision, dir);
    },

    scan: () => scan(db, dir),

    close: () => db.close(),
  };
}

// The condition fences a second writer, should the lock ever fail: whoever comes late writes nothing at all.
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

// The engine's reason is itself a promise, which rejects.
async function causeOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !("commitError" in error)) return error;
  return Promise.resolve(error.commitError).catch((cause: unknown) => cause);
}

function* scan(db: Database, dir: string): Iterable<StoreEvent> {
  for (const { key, value } of db.getRange({ start: keyOf(1) })) {
    yield decode(value, key.length === keySize ? readU64(key, 0) : Number.NaN, dir);
  }
}

function readHeader(db: Database, dir: string): LogHeader {
  const bytes = db.getBinary(headerKey);
  const header = bytes === undefined ? "damaged" : decodeHeader(bytes);
  if (header === "damaged") throw new StorageError("corrupt", damaged(dir, "its header is unreadable"));
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
  if (event === undefined)
    throw new StorageError("corrupt", damaged(dir, `the record of revision ${revision} is unreadable`));
  return event;
}

function damaged(dir: string, what: string): string {
  return `the store in ${dir} is damaged: ${what}; restore the directory from a backup, or move it away to begin anew`;
}

function keyOf(revision: number): Buffer {
  const key = Buffer.alloc(keySize);
  writeU64(key, revision, 0);
  return key;
}
