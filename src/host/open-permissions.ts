import { realpath, stat } from "node:fs/promises";
import { shellWord } from "../apimachinery/shell-word.ts";

/** Which bits let others than the owner in. */
const othersMask = 0o077;

/** The kubelet projects Secrets and tokens into such folders; the pod sets their modes, and chmod cannot. @see k8s pkg/volume/util AtomicWriter */
const projectedFolder = /\/\.\.\d{4}_\d\d_\d\d_[^/]+\//;

/**
 * A sentence about a secret that others than its owner may read or change: path, mode, and the command that corrects it. Undefined for one
 * whose mode has no more than `allowed` (default 0600 for files), that is not there, that cannot be looked at (reading it says why), or
 * that the kubelet has put into a volume of a pod.
 */
export async function openPermissions(path: string, allowed = 0): Promise<string | undefined> {
  const found = await foundMode(path);
  if (found === undefined || (found.mode & othersMask & ~allowed) === 0) return undefined;
  const mode = (found.mode & 0o777).toString(8).padStart(4, "0");
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
