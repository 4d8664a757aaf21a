import { isAbsolute, relative, resolve } from "node:path";
import { systemErrorCode, systemErrorText, systemErrorWords } from "../apimachinery/system-error.ts";
import { StorageError } from "../storage/store.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import type { HubOptions } from "./hub-options.ts";
import { statfs } from "node:fs/promises";
import { StatusError } from "../apimachinery/status.ts";

/** The options of a start that its errors name. */
export type StartPlace = Pick<HubOptions, "dataDir" | "bindAddress" | "securePort">;

/**
 * The error of a start for the operator: a locked or damaged data directory, one that this account may not use, and a port in use each
 * have their message; any other error is unchanged.
 */
export function startError(error: unknown, place: StartPlace): unknown {
  const refused = refusedPath(error, place) ?? brokenLink(error, place) ?? readOnly(error, place);
  if (refused !== undefined) return refused;
  if (error instanceof StorageError) return new HubError("data-dir", error.message, { cause: error });
  const code = systemErrorCode(error);
  const syscall = error instanceof Error && "syscall" in error ? error.syscall : undefined;
  if (syscall === "mkdir") return new HubError("data-dir", folderText(error, code, place.dataDir), { cause: error });
  return listenError(error, code, place);
}

function listenError(error: unknown, code: string | undefined, { bindAddress, securePort }: StartPlace): unknown {
  const at = `${bindAddress}:${securePort}`;
  if (code === "EADDRINUSE") {
    return new HubError("port", `${at} is in use; choose another --secure-port, or 0 for a free one`, { cause: error });
  }
  if (["ENOTFOUND", "EAI_AGAIN", "EINVAL"].includes(code ?? "")) {
    return new HubError("options", `--bind-address ${bindAddress}: must be an address of this machine`, {
      cause: error,
    });
  }
  const isListen = error instanceof Error && "syscall" in error && error.syscall === "listen";
  if (code === "EADDRNOTAVAIL" || (isListen && refusals.includes(code))) {
    return new HubError("port", systemErrorText(error, { operation: "listen", at }), { cause: error });
  }
  return error;
}

function folderText(error: unknown, code: string | undefined, dataDir: string): string {
  const refused = systemPath(error)?.path ?? dataDir;
  const at = `the data directory ${resolve(dataDir)}`;
  const isKnown = code !== undefined && Object.hasOwn(folderRefusals, code);
  const why = isKnown
    ? folderRefusals[code]?.replace("$", () => resolve(refused))
    : systemErrorWords(error, { operation: "write", at: resolve(refused) }).what;
  return `the hub cannot make ${at}: ${why}; give a path with --data-dir where this account may make a directory`;
}

/** Why the system creates no directory, with `$` for the rejected one. */
const folderRefusals: Readonly<Record<string, string>> = {
  EEXIST: "$ exists and is not a directory",
  ENOTDIR: "a part of the path $ is not a directory",
  // Its parent exists: missing directories are created one by one.
  ENOENT: "the file system of $, such as /proc, does not allow new directories there",
  EACCES: "this account may not make the directory $",
  EPERM: "the file system, or a security policy of this machine, does not let this account make the directory $",
  EROFS: "$ is on a file system that is mounted read-only",
  ENOSPC: "no space or no inodes are left on the file system of $",
};

/** A dangling symbolic link in the path of the data directory: nothing can be created in its place. */
function brokenLink(error: unknown, { dataDir }: StartPlace): HubError | undefined {
  const { path } = systemPath(error) ?? {};
  if (path === undefined || !isWithin(dataDir, path)) return undefined;
  const code = systemErrorCode(error) ?? "";
  if (!["ENOENT", "ELOOP"].includes(code) || systemPath(error)?.syscall === "mkdir") return undefined;
  const why = code === "ENOENT" ? "leads to a path that does not exist" : "leads back to itself";
  return new HubError(
    "data-dir",
    `the hub cannot make the data directory ${resolve(dataDir)}: the symbolic link ${resolve(path)} ${why}; correct the link, or give another path with --data-dir`,
    { cause: error },
  );
}

/** An existing data directory on a read-only file system. */
function readOnly(error: unknown, { dataDir }: StartPlace): HubError | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const path = systemErrorCode(cause) === "EROFS" ? systemPath(cause)?.path : undefined;
    if (path === undefined || !isWithin(path, dataDir) || resolve(path) === resolve(dataDir)) continue;
    return new HubError(
      "data-dir",
      `the hub cannot write ${resolve(path)}: the file system of the data directory ${resolve(dataDir)} is mounted read-only; mount it for writing, or give another path with --data-dir`,
      { cause: error },
    );
  }
  return undefined;
}

function systemPath(error: unknown): { readonly path: string; readonly syscall: unknown } | undefined {
  if (!(error instanceof Error) || !("path" in error) || typeof error.path !== "string") return undefined;
  return { path: error.path, syscall: "syscall" in error ? error.syscall : undefined };
}

const refusals: readonly (string | undefined)[] = ["EACCES", "EPERM"];

/** A file of the data directory that this account may not use: usually the hub was started once by another account, such as root. */
function refusedPath(error: unknown, { dataDir }: StartPlace): HubError | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof HubError) return undefined;
    if (!refusals.includes(systemErrorCode(cause)) || !("path" in cause) || typeof cause.path !== "string") continue;
    if (!isWithin(cause.path, dataDir)) continue;
    // A data directory that cannot be created has no owner.
    if ("syscall" in cause && cause.syscall === "mkdir" && resolve(cause.path) === resolve(dataDir)) continue;
    return new HubError(
      "data-dir",
      `this account may not use ${cause.path}: run the hub as the account that owns ${dataDir}, or change the owner of all of it: chown -R ACCOUNT ${dataDir}`,
      { cause: error },
    );
  }
  return undefined;
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(resolve(folder), resolve(path));
  return !way.startsWith("..") && !isAbsolute(way);
}

/** Error codes of Node, and numbers of LMDB. */
const fullCodes: readonly unknown[] = ["ENOSPC", "EDQUOT", 28, 122];

/** Space for the reserve of the store and its first growth, and the small files beside it. */
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
