import { open, stat, statfs } from "node:fs/promises";
import { errorText } from "../apimachinery/error-text.ts";
import { systemErrorCode } from "../apimachinery/system-error.ts";
import type { LogChange } from "./revision-log.ts";
import { withFile } from "./store-directory.ts";
import { StorageError, type StoreUsage } from "./store.ts";

/** The engine's statistics of its file. */
export interface TreeSize {
  readonly pageSize: number;
  readonly lastPage: number;
  /** Pages of the tree of records without their values, and of the list of free pages. */
  readonly treePages: number;
  /** Pages of values that are too large for the tree. */
  readonly valuePages: number;
  readonly depth: number;
}

/** The room in a data file and on its file system. */
export interface LmdbSpace {
  readonly hasRoom: (change: LogChange, reserveBytes: number) => boolean;
  readonly makeRoom: (change: LogChange, reserveBytes: number) => Promise<void>;
  readonly usage: () => Promise<StoreUsage>;
}

// The step by which the file grows, and the space that it leaves for the small files of the hub on the same file system.
const growthBytes = 1024 * 1024;
const leftBytes = 1024 * 1024;
const zeros: Buffer = Buffer.alloc(growthBytes);
const recordOverhead = 64;
// Of the pages that are free within the tree's part of the file, the engine can use neither the newest nor, for a large value, scattered ones.
const usableShare = 0.5;

/**
 * Keeps a stretch of zeros at the end of the file in front of the engine, so that a full disk is met here, where it is a plain
 * error, and not by the engine in the middle of a commit. The stretch is allocated: no other writer to the disk can take it.
 */
export async function lmdbSpace(options: {
  readonly path: string;
  readonly place: string;
  readonly size: () => TreeSize;
  /** The bytes that records and their tree may take, default without bound. */
  readonly quotaBytes?: number | undefined;
}): Promise<LmdbSpace> {
  const { path, place, size, quotaBytes } = options;
  // Up to here the file has blocks on disk. A copy may have left holes in place of zeros.
  let allocated = await allocatedEnd(path, size());

  const tailBytes = ({ lastPage, pageSize }: TreeSize): number => Math.max(0, allocated - (lastPage + 1) * pageSize);

  const isOver = (change: LogChange, tree: TreeSize, reserveBytes: number): boolean =>
    quotaBytes !== undefined && reserveBytes > 0 && usedBy(tree) + needOf(change, tree) + reserveBytes > quotaBytes;

  return {
    hasRoom: (change, reserveBytes) => {
      const tree = size();
      const tail = tailBytes(tree);
      const need = needOf(change, tree);
      if (isOver(change, tree, reserveBytes)) return false;
      const free = Math.max(0, tree.lastPage - 1 - tree.treePages - tree.valuePages) * tree.pageSize * usableShare;
      return tail >= need && tail + free >= need + reserveBytes;
    },

    makeRoom: async (change, reserveBytes) => {
      const tree = size();
      if (quotaBytes !== undefined && isOver(change, tree, reserveBytes))
        throw overQuota(place, usedBy(tree), quotaBytes);
      const from = Math.max(allocated, (tree.lastPage + 1) * tree.pageSize);
      const wanted = (tree.lastPage + 1) * tree.pageSize + needOf(change, tree) + reserveBytes + growthBytes;
      const steps = Math.ceil((wanted - from) / growthBytes);
      if (steps <= 0) return;
      const free = await freeBytesAt(path);
      if (free < steps * growthBytes + leftBytes) throw full(place, { freeBytes: free, code: "ENOSPC" });
      await extend({ path, place, from, bytes: steps * growthBytes, reached: (end) => (allocated = end) });
    },

    usage: async () => {
      const tree = size();
      return {
        sizeBytes: Math.max(allocated, (tree.lastPage + 1) * tree.pageSize),
        usedBytes: usedBy(tree),
        freeBytes: await freeBytesAt(path),
        quotaBytes,
      };
    },
  };
}

function usedBy({ treePages, valuePages, pageSize }: TreeSize): number {
  return (treePages + valuePages + 2) * pageSize;
}

/** Bytes that this process may still write to the file system of `path`. */
async function freeBytesAt(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}

/** An upper bound of what a commit takes from the end of the file, in bytes, if none of the free pages can be used. */
function needOf({ append, remove }: LogChange, { pageSize, treePages, depth }: TreeSize): number {
  let small = 0;
  let pages = 0;
  for (const event of append) {
    const bytes = recordOverhead + 3 * event.key.length + (event.type === "put" ? event.value.length : 0);
    if (bytes > pageSize / 3) pages += Math.ceil(bytes / pageSize);
    small += bytes > pageSize / 3 ? recordOverhead : bytes;
  }
  // Pages of the tree are at least half full; each removal changes its leaf, and all of them the pages above.
  const tree = Math.ceil((2 * small) / pageSize) + Math.min(2 * remove.length, treePages);
  const freeList = Math.ceil((16 * (remove.length + tree + pages)) / pageSize);
  return (pages + tree + freeList + 4 * (depth + 2)) * pageSize;
}

async function allocatedEnd(path: string, { lastPage, pageSize }: TreeSize): Promise<number> {
  const { size, blocks } = await stat(path);
  return blocks * 512 >= size ? size : Math.min(size, (lastPage + 1) * pageSize);
}

async function extend(options: {
  readonly path: string;
  readonly place: string;
  readonly from: number;
  readonly bytes: number;
  readonly reached: (end: number) => void;
}): Promise<void> {
  const { path, place, from, bytes, reached } = options;
  try {
    await withFile(await open(path, "r+"), async (file) => {
      for (let done = 0; done < bytes;) {
        const { bytesWritten } = await file.write(zeros, 0, Math.min(growthBytes, bytes - done), from + done);
        done += bytesWritten;
        reached(from + done);
      }
      // A disk that turns out to be full, or broken, only now must fail before the engine relies on it.
      await file.datasync();
    });
  } catch (cause) {
    const code = systemErrorCode(cause) ?? "";
    if (noSpaceCodes.includes(code)) throw full(place, { freeBytes: await freeBytesAt(path), code, cause });
    const reason = errorText(cause);
    throw new StorageError(
      "unwritten",
      `the file of the store in ${place} cannot be made larger (${reason}); check the disk; the hub tries again by itself`,
      { cause },
    );
  }
}

/** The error codes of a full disk, an exceeded quota or a file at its size limit. */
const noSpaceCodes: readonly string[] = ["ENOSPC", "EDQUOT", "EFBIG"];

function full(
  place: string,
  { freeBytes, code, cause }: { readonly freeBytes: number; readonly code: string; readonly cause?: unknown },
): StorageError {
  return new StorageError(
    "full",
    `no room for the store in ${place}: its file system has ${freeBytes} bytes free (${code}); free space there or delete objects; ` +
      "deletions, Leases and revocations are still taken, and the hub takes all writes again by itself once there is room",
    { cause },
  );
}

function overQuota(place: string, usedBytes: number, quotaBytes: number): StorageError {
  return new StorageError(
    "quota",
    `the store in ${place} has reached its quota: ${usedBytes} bytes are used of ${quotaBytes}; delete objects, or start the hub with a ` +
      "larger --quota-backend-bytes, for which it needs more memory; deletions, Leases and revocations are still taken, and the hub " +
      "takes all writes again by itself once there is room",
  );
}
