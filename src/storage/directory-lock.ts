import { mkdtemp, open, readdir, rename, rm, stat, type FileHandle } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { basename, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { systemErrorCode } from "../apimachinery/system-error.ts";
import { StorageError } from "./store.ts";

/** The exclusive use of a directory. */
export interface DirectoryLock {
  release(): Promise<void>;
}

/*
 * A lock is a directory `lock-<pid>-<random>` with a listening Unix socket in it. The socket is what counts: the kernel answers
 * for it exactly as long as its process exists, whether that was stopped, killed or is in another PID or network
 * namespace with the same volume, where a PID in a file would name another process. Node has no flock.
 *
 * A process first creates its own claim and then checks the others, so that of two concurrent processes at least one
 * sees the other; the claim with the greater name then yields. Names are never used twice, so removing a dead one is safe.
 */
const claimPrefix = "claim-";
const lockPrefix = "lock-";
const socketName = "s";

const retries = 300;
const retryMs = 10;

/** Whether a file of this name in a locked directory belongs to the lock. */
export function isLockName(name: string): boolean {
  return name.startsWith(claimPrefix) || name.startsWith(lockPrefix);
}

/**
 * Takes the exclusive use of an existing directory until released or until this process ends, however it ends.
 * @throws StorageError locked, naming the directory and the process that holds the lock, even this one.
 */
export async function lockDirectory(dir: string): Promise<DirectoryLock> {
  for (let attempt = 0; attempt < retries; attempt += 1) {
    const claim = await putUpClaim(dir);
    if (claim === undefined) continue;
    const outcome = await contend(dir, claim);
    if (outcome === "won") return { release: () => claim.withdraw() };
    await claim.withdraw();
    if (outcome !== "yield") throw lockedError(dir, outcome.holder);
    await pause(retryMs);
  }
  throw lockedError(dir, undefined);
}

interface Claim {
  readonly name: string;
  /** Turns the claim into the lock; false when another process considered it dead and removed it. */
  conclude(): Promise<boolean>;
  withdraw(): Promise<void>;
}

async function putUpClaim(dir: string): Promise<Claim | undefined> {
  let path = await mkdtemp(join(dir, `${claimPrefix}${process.pid}-`));
  const name = basename(path);
  const server = createServer((socket) => socket.destroy());
  server.unref();
  try {
    await withSocketPath(path, (address) => listen(server, address));
  } catch (cause) {
    // Another process considered the claim dead before it listened; libuv returns EACCES where the system returns ENOENT.
    const removed = ["ENOENT", "EACCES"].includes(systemErrorCode(cause) ?? "") && !(await isThere(path));
    await rm(path, { recursive: true, force: true });
    if (removed) return undefined;
    throw new StorageError("unreachable", `${dir} cannot be locked: ${String(cause)}`, { cause });
  }
  return {
    name,
    async conclude() {
      const concluded = join(dir, name.replace(claimPrefix, lockPrefix));
      try {
        await rename(path, concluded);
      } catch (cause) {
        if (systemErrorCode(cause) === "ENOENT") return false;
        throw cause;
      }
      path = concluded;
      return true;
    },
    async withdraw() {
      await rm(path, { recursive: true, force: true });
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function contend(dir: string, claim: Claim): Promise<"won" | "yield" | { readonly holder: string }> {
  for (let attempt = 0; attempt < retries; attempt += 1) {
    const rivals = await livingRivals(dir, claim.name);
    const holder = rivals.find((name) => name.startsWith(lockPrefix));
    if (holder !== undefined) return { holder };
    if (rivals.length === 0) {
      if (!(await claim.conclude())) return "yield";
      // A rival that was renamed during the check had neither its old name nor its new one.
      const [other] = await livingRivals(dir, claim.name.replace(claimPrefix, lockPrefix), lockPrefix);
      return other === undefined ? "won" : "yield";
    }
    if (rivals.some((name) => name < claim.name)) return "yield";
    await pause(retryMs);
  }
  return "yield";
}

/** The names of the other claims and locks whose process exists. Dead ones are removed. */
async function livingRivals(dir: string, own: string, prefix = ""): Promise<readonly string[]> {
  const names = (await readdir(dir)).filter((name) => isLockName(name) && name !== own && name.startsWith(prefix));
  const living: string[] = [];
  for (const name of names) {
    const path = join(dir, name);
    if ((await isListening(path)) || !(await isRemoved(path))) living.push(name);
  }
  return living;
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (cause) {
    if (systemErrorCode(cause) === "ENOENT") return false;
    throw cause;
  }
}

/** Removes the directory of a dead process; false when a live process has created a file in it meanwhile. */
async function isRemoved(path: string): Promise<boolean> {
  try {
    await rm(path, { recursive: true, force: true });
    return true;
  } catch (cause) {
    if (["ENOTEMPTY", "EEXIST", "ENOENT"].includes(systemErrorCode(cause) ?? "")) return false;
    throw cause;
  }
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ path, backlog: 16 }, () => {
      server.removeListener("error", reject);
      // A connection that cannot be accepted is irrelevant for the holder.
      server.on("error", () => undefined);
      resolve();
    });
  });
}

/** Only an absent socket, or one without a listener, is dead; after any other result its process may exist. */
async function isListening(path: string): Promise<boolean> {
  try {
    await withSocketPath(path, knock);
    return true;
  } catch (error) {
    return !["ENOENT", "ECONNREFUSED", "ENOTSOCK", "ENOTDIR"].includes(systemErrorCode(error) ?? "");
  }
}

function knock(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    socket.once("connect", () => {
      socket.destroy();
      resolve();
    });
    socket.once("error", reject);
  });
}

// A socket's address has at most about a hundred bytes; a longer path is reached through an open directory, where the system has /proc.
async function withSocketPath<T>(directory: string, use: (path: string) => Promise<T>): Promise<T> {
  const path = join(directory, socketName);
  if (Buffer.byteLength(path) < 100) return use(path);
  let handle: FileHandle | undefined;
  try {
    handle = await open(directory, "r");
    return await use(`/proc/self/fd/${handle.fd}/${socketName}`);
  } finally {
    await handle?.close();
  }
}

function lockedError(dir: string, holder: string | undefined): StorageError {
  const pid = holder?.split("-")[1];
  const who = pid === String(process.pid) ? `this process (${pid})` : `process ${pid ?? "unknown"}`;
  return new StorageError("locked", `${dir} is in use by ${who}; stop it first, or choose another directory`);
}
