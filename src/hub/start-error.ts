import { isAbsolute, relative, resolve } from "node:path";
import { systemErrorCode, systemErrorText, systemErrorWords } from "../core/system-error.ts";
import { StorageError } from "../storage/store.ts";
import { HubError } from "./hub-error.ts";
import type { HubOptions } from "./hub-options.ts";

/** What a start was asked for, as far as its errors name it. */
export type StartPlace = Pick<HubOptions, "dataDir" | "bindAddress" | "securePort">;

/**
 * The error of a start for the operator: a locked or damaged data directory, one that this account may not use, and a port that is taken
 * each have their sentence; any other error as it is.
 */
export function startError(error: unknown, place: StartPlace): unknown {
  const refused = refusedPath(error, place);
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
  if (code === "ENOTFOUND" || code === "EAI_AGAIN" || code === "EINVAL") {
    return new HubError("options", `--bind-address ${bindAddress}: must be an address of this machine`, {
      cause: error,
    });
  }
  const isListen = error instanceof Error && "syscall" in error && error.syscall === "listen";
  if (code === "EADDRNOTAVAIL" || (isListen && (code === "EACCES" || code === "EPERM"))) {
    return new HubError("port", systemErrorText(error, { operation: "listen", at }), { cause: error });
  }
  return error;
}

function folderText(error: unknown, code: string | undefined, dataDir: string): string {
  const at = `the data directory ${dataDir}`;
  const isFile = code === "EEXIST" || code === "ENOTDIR";
  const why = isFile ? `${at} is a file, or lies below one` : systemErrorWords(error, { operation: "write", at }).what;
  return `${why}; choose another --data-dir`;
}

const refusals: readonly (string | undefined)[] = ["EACCES", "EPERM"];

/** A file of the data directory that this account may not use: most often the hub was started once by another account, such as root. */
function refusedPath(error: unknown, { dataDir }: StartPlace): HubError | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof HubError) return undefined;
    if (!refusals.includes(systemErrorCode(cause)) || !("path" in cause) || typeof cause.path !== "string") continue;
    if (!isWithin(cause.path, dataDir)) continue;
    // A data directory that cannot be made has no owner.
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
