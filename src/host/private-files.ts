import { randomBytes } from "node:crypto";
import { lstat, mkdir, open, readdir, readFile, readlink, rename, rm, stat, symlink } from "node:fs/promises";
import type { Stats } from "node:fs";
import { dirname, join } from "node:path";
import { systemErrorCode } from "../apimachinery/system-error.ts";

/** The file operations of an agent, as a value, so that a test can make each of them fail. */
export interface PrivateFiles {
  readonly privateFolder: typeof privateFolder;
  readonly replaceFile: typeof replaceFile;
  readonly textIfThere: typeof textIfThere;
  readonly namesIn: typeof namesIn;
  readonly targetOf: typeof targetOf;
  readonly replaceLink: typeof replaceLink;
  readonly removeFile: typeof removeFile;
  readonly removeUnfinished: typeof removeUnfinished;
}

/** Creates a folder, and its missing parents, with mode 0700. @throws the system error when one cannot be created. */
export async function privateFolder(path: string): Promise<void> {
  // One by one: recursive mkdir of Node never ends where the system returns ENOENT although the parent exists, as in /proc.
  if (await folderMade(path, "maybe")) return;
  await privateFolder(dirname(path));
  await folderMade(path, "there");
}

/** Whether the folder exists now; false where its parent is missing. */
async function folderMade(path: string, parent: "maybe" | "there"): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === "EEXIST" && (await stat(path)).isDirectory()) return true;
    if (code === "ENOENT" && parent === "maybe" && dirname(path) !== path) return false;
    throw error;
  }
}

/** Mode and owner of a file to write. The default owner is that of the process. */
export interface FileAccess {
  readonly mode: number;
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
}

/**
 * Replaces a file atomically: a reader, or a crash at any moment, sees the old content or the new one. Only the owner can read the
 * file, until `access` is applied. Where `access` is a mode, a stricter mode of the replaced file is kept, and root keeps its owner.
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  access: number | FileAccess = 0o600,
): Promise<void> {
  const { mode, owner } = typeof access === "number" ? await accessLike(path, access) : access;
  const temporary = join(dirname(path), `.${randomBytes(6).toString("hex")}.tmp`);
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(content);
      if (owner !== undefined) await file.chown(owner.uid, owner.gid);
      if (mode !== 0o600) await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    await syncFolder(dirname(path));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Mode and owner of the existing file, with no more permissions than `mode`. */
async function accessLike(path: string, mode: number): Promise<FileAccess> {
  const [file, folder] = await Promise.all([ifThere(() => lstat(path)), stat(dirname(path))]);
  // A link is replaced by a file of this process.
  if (file === undefined || !file.isFile()) return { mode };
  // The owner must be able to read the new file, whatever the old mode.
  const kept = (mode & file.mode & 0o777) | 0o400;
  const { uid, gid } = file;
  const isForeign = process.getuid?.() === 0 && (uid !== 0 || gid !== process.getgid?.());
  return isForeign && isTrustedFolder(folder, uid) ? { mode: kept, owner: { uid, gid } } : { mode: kept };
}

/** Whether only root and `uid` can create files in the folder; otherwise any user could have created a file to own its replacement. */
function isTrustedFolder(folder: Pick<Stats, "mode" | "uid">, uid: number): boolean {
  return (folder.mode & 0o022) === 0 && (folder.uid === 0 || folder.uid === uid);
}

/** The result of `look`; undefined where the file does not exist (ENOENT). @throws any other system error */
export async function ifThere<T>(look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look();
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** The content of a text file, or undefined where there is none. */
export async function textIfThere(path: string): Promise<string | undefined> {
  return ifThere(() => readFile(path, "utf8"));
}

/** The names of what is in a folder. @throws the system error where it cannot be read */
export async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder);
}

/** Where a symbolic link points to. @throws the system error where it is no link */
export async function targetOf(path: string): Promise<string> {
  return readlink(path);
}

/** Changes the target of a symbolic link atomically: creates the new link at `via`, in the same folder, and renames it to `path`. */
export async function replaceLink(link: {
  readonly path: string;
  readonly target: string;
  readonly via: string;
}): Promise<void> {
  await rm(link.via, { force: true });
  await symlink(link.target, link.via);
  await rename(link.via, link.path);
  await syncFolder(dirname(link.path));
}

/** Removes a file; a missing file is no error. */
export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true });
}

/** Removes what killed writers left in a folder: temporary files of `replaceFile` last written before `before`, milliseconds since the epoch. */
export async function removeUnfinished(folder: string, before: number): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!/^\.[0-9a-f]{12}\.tmp$/.test(name)) continue;
    const path = join(folder, name);
    // Its writer may have renamed it meanwhile.
    const found = await ifThere(() => stat(path));
    if (found !== undefined && found.mtimeMs < before) await rm(path, { force: true });
  }
}

/** The file system of this machine. */
export const privateFiles: PrivateFiles = {
  privateFolder,
  replaceFile,
  textIfThere,
  namesIn,
  targetOf,
  replaceLink,
  removeFile,
  removeUnfinished,
};

// Without it a power failure may undo the rename.
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
