import { constants } from "node:fs";
import { open, stat, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { shellWord } from "../apimachinery/shell-word.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import { statsIfThere, trustedOwners } from "../host/own-folders.ts";
import { octal } from "../host/octal.ts";

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;

/**
 * Opens the audit log of a data directory for appending, mode 0600 where it is made. Its folder and itself must be what they are named, no
 * links, and belong to this process, to root or to the owner of the data directory: another user could turn them into a file of its choice.
 * @throws HubError data-dir
 */
export async function openOwnAuditFile(path: string): Promise<FileHandle> {
  const folder = dirname(path);
  const trusted = await trustedOwners(dirname(folder));
  await refuseOthers(folder, "isDirectory", trusted);
  await refuseOthers(path, "isFile", trusted);
  // Between the look and this, a link could have been put there only by an owner of the folder.
  return open(path, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600);
}

async function refuseOthers(path: string, kind: "isDirectory" | "isFile", trusted: ReadonlySet<number>): Promise<void> {
  const found = await statsIfThere(path);
  if (found === undefined) return;
  const next = `move it away, or say with --audit-log-path where audit events are written`;
  if (found.isSymbolicLink())
    throw new HubError("data-dir", `${path} is a symbolic link, which the hub does not follow; ${next}`);
  if (!found[kind]()) {
    const what = kind === "isFile" ? "regular file" : "directory";
    throw new HubError("data-dir", `${path} is no ${what}; ${next}`);
  }
  if (!trusted.has(found.uid)) {
    throw new HubError(
      "data-dir",
      `${path} belongs to another user (uid ${found.uid}), who could change what is recorded; ${next}`,
    );
  }
}

/** A sentence about an audit log that others than its owner may read or write, with the command that corrects it; undefined where none may. */
export async function openAuditLogWarning(path: string): Promise<string | undefined> {
  const found = await stat(path);
  if (!found.isFile() || (found.mode & 0o077) === 0) return undefined;
  return `the audit log ${path} says who did what and has mode ${octal(found.mode)}, so others than its owner may use it; correct it with: chmod 600 ${shellWord(path)}`;
}
