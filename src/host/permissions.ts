import { ifThere } from "./private-files.ts";
import type { Stats } from "node:fs";
import { lstat, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { shellWord } from "../apimachinery/shell-word.ts";
import { HubError } from "../apimachinery/hub-error.ts";

/** Permission bits as `ls` and `chmod` have them. */
export function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, "0");
}

/** The allowed owners of files that a hub trusts in its data directory: the user of this process, root, and the owner of the data directory. */
export async function trustedOwners(dataDir: string): Promise<ReadonlySet<number>> {
  return new Set([process.geteuid?.() ?? 0, 0, (await stat(dataDir)).uid]);
}

/** What lies at the path, links not followed; undefined where nothing does. */
export async function statsIfThere(path: string): Promise<Stats | undefined> {
  return ifThere(() => lstat(path));
}

/**
 * Requires that a folder of the data directory, where it is there, belongs to a trusted owner: another user could exchange the keys or the
 * store in it. A symbolic link is followed where only trusted owners can change where it leads: link, directory and all
 * directories above it belong to them, and no other user can write to them.
 * @throws HubError data-dir
 */
export async function requireOwnFolder(path: string, trusted: ReadonlySet<number>): Promise<void> {
  const found = await statsIfThere(path);
  if (found === undefined) return;
  if (!trusted.has(found.uid)) throw foreign(path, found.uid, path);
  if (found.isDirectory()) return;
  if (!found.isSymbolicLink()) throw new HubError("data-dir", `${path} is no directory; move it away`);
  await requireOwnTarget(path, trusted);
}

async function requireOwnTarget(link: string, trusted: ReadonlySet<number>): Promise<void> {
  const target = await ifThere(() => realpath(link));
  if (target === undefined) {
    const next = "mount the volume that it leads to, or make that directory";
    throw new HubError("data-dir", `${link} is a symbolic link that leads to no directory; ${next}`);
  }
  const folder = await stat(target);
  if (!folder.isDirectory()) {
    throw new HubError("data-dir", `${link} is a symbolic link to ${target}, which is no directory; remove the link`);
  }
  if (!trusted.has(folder.uid)) throw foreign(link, folder.uid, target);
  if ((folder.mode & 0o022) !== 0) throw writable(link, target, folder.mode);
  for (let above = dirname(target); ; above = dirname(above)) {
    const { uid, mode } = await stat(above);
    if (!trusted.has(uid)) throw foreign(link, uid, above);
    // In a sticky directory, such as /tmp, others cannot rename what is not theirs.
    if ((mode & 0o022) !== 0 && (mode & 0o1000) === 0) throw writable(link, above, mode);
    if (dirname(above) === above) return;
  }
}

function foreign(path: string, uid: number, owned: string): HubError {
  const who = `belongs to another user (uid ${uid}), who could change what the hub trusts`;
  const next = `run the hub as that user, or correct it with: chown ${process.geteuid?.() ?? 0} ${shellWord(owned)}`;
  return new HubError(
    "data-dir",
    path === owned ? `${path} ${who}; ${next}` : `${path} leads to ${owned}, which ${who}; ${next}`,
  );
}

function writable(link: string, folder: string, mode: number): HubError {
  return new HubError(
    "data-dir",
    `${link} is a symbolic link that leads through ${folder}, to which others than its owner can write (mode ${octal(mode)}); correct it with: chmod go-w ${shellWord(folder)}, or mount the volume at ${link} in place of the link`,
  );
}

/** Which bits let others than the owner in. */
const othersMask = 0o077;

/** The kubelet projects Secrets and tokens into such folders; the pod sets their modes, and chmod cannot. @see k8s pkg/volume/util AtomicWriter */
const projectedFolder = /\/\.\.\d{4}_\d\d_\d\d_[^/]+\//;

/**
 * A warning about a secret that users other than its owner may read or change: path, mode, and the command that fixes it. Undefined for
 * one whose mode has no more than `allowed` (default 0600 for files), that is missing, whose mode cannot be read (reading the file
 * reports why), or that the kubelet has put into a volume of a pod.
 */
export async function openPermissions(path: string, allowed = 0): Promise<string | undefined> {
  const found = await foundMode(path);
  if (found === undefined || (found.mode & othersMask & ~allowed) === 0) return undefined;
  const mode = octal(found.mode);
  const [what, wanted] = found.isFolder ? ["holds secrets", "700"] : ["holds a secret", "600"];
  return `${path} ${what} and has mode ${mode}, so others than its owner may use it; correct it with: chmod ${wanted} ${shellWord(path)}`;
}

async function foundMode(path: string): Promise<{ readonly mode: number; readonly isFolder: boolean } | undefined> {
  try {
    if (projectedFolder.test(await realpath(path))) return undefined;
    const found = await stat(path);
    return { mode: found.mode, isFolder: found.isDirectory() };
  } catch {
    return undefined;
  }
}
