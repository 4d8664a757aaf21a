import { randomBytes } from "node:crypto";
import { lstat, mkdir, open, readdir, readFile, readlink, rename, rm, stat, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemErrorCode } from "../apimachinery/system-error.ts";

/** What an agent does to files, as a value, so that a test can let any step of it fail. */
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

/** Makes a folder, and those above it that are missing, that only its owner may enter. @throws the reason of the system when one cannot be made. */
export async function privateFolder(path: string): Promise<void> {
  // One by one: node's own recursion never ends where the system says ENOENT for a folder whose parent is there, as /proc does.
  if (await folderMade(path, "maybe")) return;
  await privateFolder(dirname(path));
  await folderMade(path, "there");
}

/** Whether the folder is there now; false where the one above it is missing. */
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

/** Who may read a file that is written. The owner is that of the process unless given. */
export interface FileAccess {
  readonly mode: number;
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
}

/**
 * Replaces a file as a whole: a reader, or a crash at any moment, sees the old content or the new one. The file is readable by its
 * owner only, unless `access` says otherwise; nobody else can read it for a moment before that holds. Where `access` is a mode, the file that
 * is replaced keeps a stricter one, and root keeps its owner.
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

/** What a file that is there allows already, and no more than `mode`. */
async function accessLike(path: string, mode: number): Promise<FileAccess> {
  const [file, folder] = await Promise.all([ifThere(() => lstat(path)), stat(dirname(path))]);
  // A link is replaced by a file of our own.
  if (file === undefined || !file.isFile()) return { mode };
  // The owner must be able to read what is written, whatever was there.
  const kept = (mode & file.mode & 0o777) | 0o400;
  const { uid, gid } = file;
  const isForeign = process.getuid?.() === 0 && (uid !== 0 || gid !== process.getgid?.());
  // In a folder where others may make files, the owner says nothing: anybody could have put the file there to be given the next one.
  const isTrusted = (folder.mode & 0o022) === 0 && (folder.uid === 0 || folder.uid === uid);
  return isForeign && isTrusted ? { mode: kept, owner: { uid, gid } } : { mode: kept };
}

/** What a look at the file system finds; undefined where nothing is there. @throws any other reason of the system */
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

/** The names of what is in a folder. @throws the reason of the system where it cannot be read */
export async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder);
}

/** Where a symbolic link points to. @throws the reason of the system where it is none */
export async function targetOf(path: string): Promise<string> {
  return readlink(path);
}

/** Points a symbolic link somewhere else at one stroke. The new link is made at `via`, in the same folder, and takes the place of `path`. */
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

/** Removes a file; one that is not there is no failure. */
export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true });
}

/** Removes what writers that were killed have left in a folder: temporary files of `replaceFile` last written before `before`, milliseconds since the epoch. */
export async function removeUnfinished(folder: string, before: number): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!/^\.[0-9a-f]{12}\.tmp$/.test(name)) continue;
    const path = join(folder, name);
    // Its writer may have finished it meanwhile.
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

// Without it a power cut may take the new name back, though not the content.
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
