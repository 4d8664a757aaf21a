import { constants } from "node:fs";
import { chmod, chown, open, readlink } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import type { FoundCredential } from "./find-credentials.ts";
import { JoinError } from "../../credentials/join-error.ts";
import { joinRecordPath } from "../join/join-folder.ts";
import type { FileAccess } from "../../host/private-files.ts";
import { systemErrorCode, systemErrorText } from "../../apimachinery/system-error.ts";

/**
 * Lets other accounts read an existing credential, as `access` says: the folders from the agent's down to it, and the files that a
 * program needs. Keys of requests, and the requests, stay the agent's. @throws JoinError write-failed
 */
export async function shareCredential(
  found: FoundCredential,
  { dirs, access }: { readonly dirs: readonly string[]; readonly access: FileAccess },
): Promise<void> {
  const [folder, files] =
    found.kind === "token"
      ? [found.dir, ["token", "kubeconfig", "ca.crt"].map((name) => join(found.dir, name))]
      : [found.certDir, filesOfNode(found)];
  for (const path of foldersTo(folder, dirs)) await attempt(path, () => shareFolder(path, access));
  for (const path of files) await attempt(path, () => shareFile(path, access));
}

function filesOfNode({ certDir, kubeconfig }: Extract<FoundCredential, { readonly kind: "node" }>): readonly string[] {
  const current = ["kubelet-client", "kubelet-server"].map((prefix) => join(certDir, `${prefix}-current.pem`));
  return [...current, join(certDir, "ca.crt"), joinRecordPath(certDir), kubeconfig];
}

/** The folders from one of `dirs` down to and including `folder`. */
function foldersTo(folder: string, dirs: readonly string[]): readonly string[] {
  const top = dirs.find((dir) => folder === dir || folder.startsWith(`${dir}${sep}`));
  const steps = top === undefined ? [] : relative(top, folder).split(sep);
  const below = steps.filter((name) => name !== "").map((_name, at) => join(top ?? folder, ...steps.slice(0, at + 1)));
  return [top ?? folder, ...below];
}

async function shareFolder(path: string, { mode, owner }: FileAccess): Promise<void> {
  // An account that may write here could replace these files, so the folder stays its owner's.
  if (owner !== undefined) await chown(path, -1, owner.gid);
  await chmod(path, owner !== undefined || (mode & 0o040) !== 0 ? 0o750 : 0o700);
}

async function shareFile(path: string, { mode, owner }: FileAccess): Promise<void> {
  // A link to a certificate is followed within its folder only, and any other link not at all.
  const file = await open(await fileBehind(path), constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    if (owner !== undefined) await file.chown(owner.uid, owner.gid);
    await file.chmod(mode);
  } finally {
    await file.close();
  }
}

async function fileBehind(path: string): Promise<string> {
  if (!path.endsWith("-current.pem")) return path;
  const target = await readlink(path);
  return dirname(target) === dirname(path) ? target : path;
}

async function attempt(path: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === "ENOENT") return;
    const advice = code === "EPERM" ? "; only root may give files to another user" : "";
    throw new JoinError(
      "write-failed",
      `cannot change who may read ${path}: ${systemErrorText(error, { operation: "write", at: path })}${advice}`,
      {
        cause: error,
        causeCode: code,
      },
    );
  }
}
