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
  /** How many events were given up so far. */
  readonly lost: () => number;
  /** Resolves when everything written is where it belongs, or was given up. */
  readonly close: () => Promise<void>;
}

/** A file of events, and how many old ones are kept. */
export interface AuditLogOptions {
  readonly path: string;
  /** The size at which the file is put aside, in bytes. */
  readonly maxBytes: number;
  /** How many files that were put aside are kept; 0 keeps all. */
  readonly maxBackups: number;
  /** How long they are kept, in milliseconds; 0 keeps them for ever. */
  readonly maxAgeMs: number;
  /** Opens the file for appending; by default whatever the path leads to, mode 0600 where it is made. */
  readonly openFile?: ((path: string) => Promise<FileHandle>) | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Hears when the file begins to refuse what is written, and how much was lost when it takes it again. */
  readonly trouble: (message: string, error?: Error) => void;
}

/** Lines waiting for a slow disk, in characters; beyond that they are dropped. */
const maxWaitingCharacters = 64 << 20;
/** About so many characters go to the disk with one write. */
const writeSize = 1 << 20;
/** How long lines are gathered before they are written together: a write for each request would cost more than many requests do. */
const gatherMs = 100;

/**
 * Appends to a file that its owner alone may read, and puts it aside under a name with the time when it is full. While the disk is so
 * slow that 64 MiB wait, or refuses, lines are dropped and counted: requests never wait for it. Rejects when the file cannot be opened.
 */
export async function openAuditLog(options: AuditLogOptions): Promise<AuditBackend> {
  const { path, trouble, openFile = appendTo } = options;
  let file = await openFile(path);
  const opened = await file.stat();
  let size = opened.size;
  // A pipe or a device has no size, and cannot be put aside.
  const maxBytes = opened.isFile() ? options.maxBytes : Infinity;
  let waiting: string[] = [];
  let waitingSize = 0;
  let lost = 0;
  let reported = 0;
  let writing: Promise<void> | undefined;
  const gathering = pause(gatherMs);

  const putAside = async (): Promise<void> => {
    // Counted anew whatever comes of it, so that a folder that refuses is not asked for each line.
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
      if (lost > reported) trouble(`the audit log is written again; ${lost - reported} events were lost`);
      reported = lost;
    } catch (error) {
      if (lost === reported) trouble("the audit log cannot be written", error as Error);
      lost += lines.length;
      // A disk that became full in the middle has a part of them: what comes later shall begin a line of its own.
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
      if (waitingSize + line.length > maxWaitingCharacters) {
        if (lost === reported) trouble("the audit log is too slow; events are dropped");
        lost += 1;
        return;
      }
      waiting.push(line);
      waitingSize += line.length;
      writing ??= gathering.wait().then(writeAll);
      if (waitingSize > writeSize) gathering.end();
    },
    lost: () => lost,
    close: async () => {
      gathering.end();
      await writing;
      await file.close();
    },
  };
}

function appendTo(path: string): Promise<FileHandle> {
  return open(path, "a", 0o600);
}

/** A time to wait, which can be ended early. */
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

/** `audit.log` becomes `audit-2026-11-21T05-19-02.000.log`, in UTC, and after all that were put aside before. */
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
 * Opens the audit log of a data directory for appending, mode 0600 where it is made. Its folder and itself must be what they are named, no
 * links, and belong to this process, to root or to the owner of the data directory: another user could turn them into a file of its choice.
 * @throws HubError data-dir
 */
export async function openOwnAuditFile(path: string): Promise<FileHandle> {
  const folder = dirname(path);
  const trusted = await trustedOwners(dirname(folder));
  await refuseOthers(folder, "isDirectory", trusted);
  await refuseOthers(path, "isFile", trusted);
  // Between the look and this, a link could have been put there only by an owner of the folder.
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

/** A sentence about an audit log that others than its owner may read or write, with the command that corrects it; undefined where none may. */
export async function openAuditLogWarning(path: string): Promise<string | undefined> {
  const found = await stat(path);
  if (!found.isFile() || (found.mode & 0o077) === 0) return undefined;
  return `the audit log ${path} says who did what and has mode ${octal(found.mode)}, so others than its owner may use it; correct it with: chmod 600 ${shellWord(path)}`;
}
