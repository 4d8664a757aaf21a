import { statfs } from "node:fs/promises";
import { StatusError } from "../apimachinery/status.ts";
import { StorageError } from "../storage/store.ts";
import { HubError } from "../apimachinery/hub-error.ts";

/** As Node names them, and as LMDB numbers them. */
const fullCodes: readonly unknown[] = ["ENOSPC", "EDQUOT", 28, 122];

/** For the store's reserve and its first growth, and the small files beside it. */
const neededMebibytes = 8;

/** The error of a start that failed because the disk is full, with the path and its free bytes; undefined for one that failed for another reason. */
export async function fullDiskError(error: unknown, dataDir: string): Promise<HubError | undefined> {
  if (!isFullDisk(error)) return undefined;
  return new HubError(
    "data-dir",
    `the hub cannot write to its data directory ${dataDir}: ${await freeText(dataDir)}, and a start needs ${neededMebibytes} MiB; free space there, or move the directory to a larger file system, and start the hub again`,
    { cause: error },
  );
}

function isFullDisk(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof StorageError && error.code === "full") return true;
  if (error instanceof StatusError && error.code === 507) return true;
  return ("code" in error && fullCodes.includes(error.code)) || isFullDisk(error.cause);
}

async function freeText(path: string): Promise<string> {
  try {
    const { bavail, bsize } = await statfs(path);
    return `its file system has ${bavail * bsize} bytes free`;
  } catch {
    return "its file system has no room";
  }
}
