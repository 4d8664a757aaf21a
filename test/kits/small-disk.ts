import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, readdirSync, rmSync, statfsSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "./peers-process.ts";
import { reportSkip } from "./report-skip.ts";

/** A file system of its own, which a test can fill. */
export interface SmallDisk {
  readonly path: string;
  /** Whether none can be mounted here: only root may, and not in every container. */
  readonly missing: boolean;
  /** Mounts it, in the hook before the tests: one that is mounted while tests are collected stays where none of them is run. */
  readonly mount: () => void;
  /** Fills it to the last byte with a file of the test's own. */
  readonly fillUp: () => void;
  /** Removes that file; resolves when its room is there. */
  readonly free: () => Promise<void>;
  /** Removes a file, or a folder with all in it; resolves when its room is there. */
  readonly discard: (path: string) => Promise<void>;
  /** Unmounts it. */
  readonly remove: () => void;
}

/** A tmpfs of so many MiB at `path`, once it is mounted; where that is not possible, says so of the groups of tests that need it. */
export function smallDisk(path: string, mebibytes: number, titles: readonly string[]): SmallDisk {
  mkdirSync(path, { recursive: true });
  const mount = (): boolean =>
    spawnSync("mount", ["-t", "tmpfs", "-o", `size=${mebibytes}m`, "tmpfs", path]).status === 0;
  const unmount = (): void => void spawnSync("umount", ["-l", path]);
  const missing = !mount();
  if (!missing) unmount();
  else
    for (const title of titles) reportSkip(title, "no tmpfs can be mounted: it needs root and CAP_SYS_ADMIN", "mount");
  const filler = join(path, "filler");
  return {
    path,
    missing,
    mount: () => {
      if (!missing && !mount()) throw new TypeError(`no tmpfs was mounted at ${path}`);
    },
    fillUp: () => fill(filler),
    free: () => discard(path, filler),
    discard: (each) => discard(path, each),
    remove: () => {
      if (!missing) unmount();
    },
  };
}

function fill(path: string): void {
  const file = openSync(path, "a");
  try {
    for (const size of [1 << 20, 4096, 1]) while (wrote(file, Buffer.alloc(size))) continue;
  } finally {
    closeSync(file);
  }
}

function wrote(file: number, bytes: Buffer): boolean {
  try {
    return writeSync(file, bytes) > 0;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOSPC") return false;
    throw error;
  }
}

/** What is removed takes room as long as a process has it open: one that another test forks has, until it runs its program. */
async function discard(disk: string, path: string): Promise<void> {
  const expected = room(disk) + Math.floor(0.9 * bytesOf(path));
  rmSync(path, { recursive: true, force: true });
  await eventually(`the room of ${path}`, () => room(disk) >= expected || undefined);
}

function room(disk: string): number {
  const { bavail, bsize } = statfsSync(disk);
  return bavail * bsize;
}

function bytesOf(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return 0;
  if (!found.isDirectory()) return found.blocks * 512;
  return readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0);
}
