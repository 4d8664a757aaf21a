import { stat } from "node:fs/promises";

/** Which bits let others than the owner in. */
const othersMask = 0o077;

/**
 * A sentence about a secret that others than its owner may read or change: path, mode, and the command that corrects it. Undefined for one
 * that is private, that is not there, or that cannot be looked at; reading it says why.
 */
export async function openPermissions(path: string): Promise<string | undefined> {
  const found = await foundMode(path);
  if (found === undefined || (found.mode & othersMask) === 0) return undefined;
  const mode = (found.mode & 0o777).toString(8).padStart(4, "0");
  const [what, wanted] = found.isFolder ? ["holds secrets", "700"] : ["holds a secret", "600"];
  return `${path} ${what} and has mode ${mode}, so others than its owner may use it; correct it with: chmod ${wanted} ${path}`;
}

async function foundMode(path: string): Promise<{ readonly mode: number; readonly isFolder: boolean } | undefined> {
  try {
    const found = await stat(path);
    return { mode: found.mode, isFolder: found.isDirectory() };
  } catch {
    return undefined;
  }
}
