import { chmod, mkdir, open, readdir, readFile, rename, rm, stat, type FileHandle } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { systemErrorCode } from "../apimachinery/system-error.ts";
import { isLockName } from "./directory-lock.ts";
import { StorageError } from "./store.ts";

/** The state of a directory: free for a new store, or containing a store. */
export type DirectoryState = "new" | "ready";

/** The file of all records. */
export const dataFile = "data.mdb";

const formatFile = "format";
const formatDraft = "format.new";
const formatName = "pratique-store";
const formatVersion = "1";
// Until the first header is durable nothing can have been acknowledged, and a store that a crash left incomplete is created again.
const unfinished = "unfinished";

/** Creates the directory if it is absent, accessible to its owner only (mode 0700). */
export async function ensureDirectory(dir: string): Promise<void> {
  await makeDirectory(resolve(dir));
  await chmod(dir, 0o700);
}

// Not mkdir's own recursion: in Node 20 it never ends where no directory can be created, as under /proc.
async function makeDirectory(dir: string): Promise<void> {
  try {
    await mkdir(dir, { mode: 0o700 });
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === "EEXIST" && (await stat(dir)).isDirectory()) return;
    if (code !== "ENOENT" || dirname(dir) === dir) throw error;
    await makeDirectory(dirname(dir));
    await mkdir(dir, { mode: 0o700 });
  }
}

/**
 * Returns the state of `dir`, and changes nothing.
 * @throws StorageError format for a directory of another program or of an unknown version, corrupt when the records are missing.
 */
export async function inspectDirectory(dir: string): Promise<DirectoryState> {
  const names = (await readdir(dir)).filter(
    (name) => !isLockName(name) && name !== formatDraft && name !== "lost+found",
  );
  if (!names.includes(formatFile)) {
    checkEmpty(dir, names);
    return "new";
  }
  const words = (await readFile(join(dir, formatFile), "latin1")).slice(0, 100).trimEnd().split(" ");
  const [name, version, state] = words;
  if (name !== formatName || version === undefined || !/^[0-9]{1,9}$/.test(version)) throw damagedFormat(dir);
  if (version !== formatVersion) {
    throw new StorageError(
      "format",
      `the store in ${dir} has format ${version}, and this program reads format ${formatVersion} only; use the program that wrote it`,
    );
  }
  if (state === unfinished && words.length === 3) return "new";
  if (words.length !== 2) throw damagedFormat(dir);
  if (!names.includes(dataFile)) {
    throw new StorageError(
      "corrupt",
      `${dir} is a store without its ${dataFile}; restore it from a backup, or move the directory away to start with an empty store`,
    );
  }
  return "ready";
}

function checkEmpty(dir: string, [stranger]: readonly string[]): void {
  if (stranger === undefined) return;
  throw new StorageError(
    "format",
    `${dir} holds ${JSON.stringify(stranger)}, but no store; choose an empty directory, or one that a hub has made`,
  );
}

function damagedFormat(dir: string): StorageError {
  const file = join(dir, formatFile);
  return new StorageError("format", `${file} is damaged; restore ${dir} from a backup, or move it away`);
}

/** Marks a locked, new directory as one in which a store is being created, and removes the files of an interrupted creation. */
export async function beginDirectory(dir: string): Promise<void> {
  await writeFormat(dir, `${formatName} ${formatVersion} ${unfinished}\n`);
  for (const name of [dataFile, "lock.mdb"]) await rm(join(dir, name), { force: true });
}

/** Marks the directory durably as one with a store. */
export async function finishDirectory(dir: string): Promise<void> {
  await syncPath(dir);
  await writeFormat(dir, `${formatName} ${formatVersion}\n`);
}

async function writeFormat(dir: string, text: string): Promise<void> {
  const draft = join(dir, formatDraft);
  await withFile(await open(draft, "w", 0o600), async (file) => {
    await file.writeFile(text);
    await file.sync();
  });
  await rename(draft, join(dir, formatFile));
  await syncPath(dir);
}

async function syncPath(path: string): Promise<void> {
  await withFile(await open(path, "r"), (file) => file.sync());
}

/** Uses an open file, and closes it in any case. */
export async function withFile<T>(file: FileHandle, use: (file: FileHandle) => Promise<T>): Promise<T> {
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

/**
 * Whether `dir` contains a complete store with its records; an absent directory contains none. An unreadable directory counts as
 * a store, because opening it reports the reason. @throws StorageError as `inspectDirectory`
 */
export async function holdsStore(dir: string): Promise<boolean> {
  try {
    return (await inspectDirectory(dir)) === "ready";
  } catch (error) {
    if (error instanceof StorageError) throw error;
    return systemErrorCode(error) !== "ENOENT";
  }
}
