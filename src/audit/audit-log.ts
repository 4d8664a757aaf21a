import { open, readdir, rename, rm, type FileHandle, stat } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import type { Writable } from "node:stream";
import type { AuditSink } from "../apiserver/audit/audit.ts";
import { constants } from "node:fs";
import { shellWord } from "../apimachinery/shell-word.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import { statsIfThere, trustedOwners, octal } from "../host/permissions.ts";

/** Where events go. */
export interface AuditBackend {
  readonly write: AuditSink;
  /** How many events were lost so far. */
  readonly lost: () => number;
  /** Resolves when all events are written or lost. */
  readonly close: () => Promise<void>;
}

/** A file of events, and how many old ones are kept. */
export interface AuditLogOptions {
  readonly path: string;
  /** The size at which the file is rotated, in bytes. */
  readonly maxBytes: number;
  /** How many rotated files are kept; 0 keeps all. */
  readonly maxBackups: number;
  /** How long they are kept, in milliseconds; 0 keeps them for ever. */
  readonly maxAgeMs: number;
  /** Opens the file for appending; by default follows links and creates it with mode 0600. */
  readonly openFile?: ((path: string) => Promise<FileHandle>) | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Called when writes begin to fail, and with the number of lost events when they succeed again. */
  readonly trouble: (message: string, error?: Error) => void;
}

/** Lines waiting for a slow disk, in characters; beyond that they are dropped. */
const maxWaitingCharacters = 64 << 20;
/** Approximate number of characters for each write to the disk. */
const writeSize = 1 << 20;
/** How long lines are gathered before they are written together: one write per request would cost more than many requests. */
const gatherMs = 100;

/**
 * Appends to a file that only its owner may read, and rotates it when it is full: the rotated name contains the time. While 64 MiB
 * wait for a slow disk, or writes fail, lines are dropped and counted: requests never wait. Rejects when the file cannot be opened.
 */
export async function openAuditLog(options: AuditLogOptions): Promise<AuditBackend> {
  const { path, trouble, openFile = appendTo } = options;
  let file = await openFile(path);
  const opened = await file.stat();
  let size = opened.size;
  // A pipe or a device has no size and cannot be rotated.
  const maxBytes = opened.isFile() ? options.maxBytes : Infinity;
  let waiting: string[] = [];
  let waitingSize = 0;
  const losses = lossCounter(trouble);
  let writing: Promise<void> | undefined;
  const gathering = pause(gatherMs);

  const putAside = async (): Promise<void> => {
    // Reset also when the rename fails, so that it is not retried for each line.
    size = 0;
    try {
      await renameAside(options);
      const fresh = await openFile(path);
      await file.close();
      file = fresh;
      await removeOld(options);
    } catch (error) {
      trouble("the audit log cannot be put aside", error as Error);
    }
  };
  const writeSome = async (): Promise<void> => {
    const lines = nextLines(waiting, size === 0 ? undefined : maxBytes - size);
    if (lines.length === 0) return putAside();
    waiting = waiting.slice(lines.length);
    const text = Buffer.from(lines.join(""));
    try {
      await file.appendFile(text);
      size += text.length;
      losses.recover((count) => `the audit log is written again; ${count} events were lost`);
    } catch (error) {
      losses.lose(lines.length, "the audit log cannot be written", error as Error);
      // A full disk may have taken a part of a line: truncate it, so that the next write begins a new line.
      if (opened.isFile()) await file.truncate(size).catch(() => undefined);
    }
    waitingSize -= lines.reduce((sum, line) => sum + line.length, 0);
  };
  const writeAll = async (): Promise<void> => {
    while (waiting.length > 0) await writeSome();
    writing = undefined;
  };
  return {
    write: (line) => {
      if (waitingSize + line.length > maxWaitingCharacters)
        return losses.lose(1, "the audit log is too slow; events are dropped");
      waiting.push(line);
      waitingSize += line.length;
      writing ??= gathering.wait().then(writeAll);
      if (waitingSize > writeSize) gathering.end();
    },
    lost: losses.total,
    close: async () => {
      gathering.end();
      await writing;
      await file.close();
    },
  };
}

/** Counts lost events. Logs the first loss, and the number lost once events are accepted again. */
interface LossCounter {
  readonly lose: (count: number, message: string, error?: Error) => void;
  readonly recover: (message: (count: number) => string) => void;
  readonly total: () => number;
}

/** A counter at zero that logs with `trouble`. */
export function lossCounter(trouble: AuditLogOptions["trouble"]): LossCounter {
  let lost = 0;
  let reported = 0;
  return {
    lose: (count, message, error) => {
      if (lost === reported) trouble(message, error);
      lost += count;
    },
    recover: (message) => {
      if (lost > reported) trouble(message(lost - reported));
      reported = lost;
    },
    total: () => lost,
  };
}

function appendTo(path: string): Promise<FileHandle> {
  return open(path, "a", 0o600);
}

/** A wait that can be ended early. */
function pause(ms: number): { readonly wait: () => Promise<void>; readonly end: () => void } {
  let wake: (() => void) | undefined;
  return {
    wait: () =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
    end: () => wake?.(),
  };
}

/** Events on a stream such as stdout. While 64 MiB wait there, they are dropped and counted. */
export function streamAuditLog(stream: Writable): AuditBackend {
  let lost = 0;
  return {
    write: (line) => {
      if (stream.writableLength > maxWaitingCharacters) lost += 1;
      else stream.write(line);
    },
    lost: () => lost,
    close: async () => undefined,
  };
}

/** The first lines that fit into `space` bytes, about as many as one write takes; into an empty file, at least one. */
function nextLines(lines: readonly string[], space: number | undefined): readonly string[] {
  let size = 0;
  let count = 0;
  for (const line of lines) {
    size += Buffer.byteLength(line);
    const fits = space === undefined ? count === 0 : size <= space;
    if (!fits || (count > 0 && size > writeSize)) break;
    count += 1;
  }
  return lines.slice(0, count);
}

type Aside = Pick<AuditLogOptions, "path" | "maxBackups" | "maxAgeMs" | "now">;

const timeForm = /^-(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d\.\d{3})$/;

/** `audit.log` becomes `audit-2026-11-21T05-19-02.000.log`, in UTC, later than all rotated before. */
async function renameAside({ path, now }: Aside): Promise<void> {
  const newest = Math.max(0, ...(await backupsOf(path)).map((backup) => backup.time));
  const time = Math.max(now(), newest + 1);
  const stamp = new Date(time).toISOString().slice(0, 23).replaceAll(":", "-");
  const extension = extname(path);
  await rename(path, `${path.slice(0, path.length - extension.length)}-${stamp}${extension}`);
}

async function removeOld({ path, maxBackups, maxAgeMs, now }: Aside): Promise<void> {
  const backups = (await backupsOf(path)).sort((a, b) => b.time - a.time);
  const oldest = maxAgeMs === 0 ? -Infinity : now() - maxAgeMs;
  const old = backups.filter(({ time }, index) => time < oldest || (maxBackups > 0 && index >= maxBackups));
  await Promise.all(old.map(({ file }) => rm(join(dirname(path), file), { force: true })));
}

async function backupsOf(path: string): Promise<{ readonly file: string; readonly time: number }[]> {
  const extension = extname(path);
  const stem = basename(path, extension);
  const files = await readdir(dirname(path));
  return files.flatMap((file) => {
    if (!file.startsWith(stem) || !file.endsWith(extension)) return [];
    const [, day, hours, minutes, seconds] =
      timeForm.exec(file.slice(stem.length, file.length - extension.length)) ?? [];
    return day === undefined ? [] : [{ file, time: Date.parse(`${day}${hours}:${minutes}:${seconds}Z`) }];
  });
}

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;

/**
 * Opens the audit log of a data directory for appending; creates it with mode 0600. Neither the file nor its folder may be a link, and
 * both must belong to this process, to root or to the owner of the data directory: another user could replace them.
 * @throws HubError data-dir
 */
export async function openOwnAuditFile(path: string): Promise<FileHandle> {
  const folder = dirname(path);
  const trusted = await trustedOwners(dirname(folder));
  await refuseOthers(folder, "isDirectory", trusted);
  await refuseOthers(path, "isFile", trusted);
  // Since the check, only an owner of the folder could have created a link.
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

/** A warning about an audit log that users other than its owner may read or write, with the command that fixes it; undefined where none may. */
export async function openAuditLogWarning(path: string): Promise<string | undefined> {
  const found = await stat(path);
  if (!found.isFile() || (found.mode & 0o077) === 0) return undefined;
  return `the audit log ${path} says who did what and has mode ${octal(found.mode)}, so others than its owner may use it; correct it with: chmod 600 ${shellWord(path)}`;
}
