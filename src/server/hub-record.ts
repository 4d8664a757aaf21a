import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { ifThere, replaceFile, textIfThere } from "../host/private-files.ts";
import { HubError } from "../apimachinery/hub-error.ts";

/** Identifies the file of the store: it differs after a copy, and is the same after a restart. */
export interface FileMark {
  readonly inode: string;
  /** Nanoseconds since the epoch; "0" where the file system does not record it. */
  readonly born: string;
}

/** The contents of `pki/hub.json`: the id of this hub, and the last known revision of its store. It contains no secret. */
export interface HubRecord {
  /** The UID of namespace kube-system in its store; empty while `new`. */
  readonly id: string;
  /** `new` until the first start has created that namespace. */
  readonly phase: "new" | "ready";
  /** A durable revision of the store. */
  readonly revision: number;
  /** The time of that revision, RFC 3339. */
  readonly at: string;
  readonly file?: FileMark | undefined;
  /** The key ID of `pki/sa.key`; undefined where it is unknown. */
  readonly serviceAccountKey?: string | undefined;
}

const file = "hub.json";

/** Reads the record in `pkiDir`; undefined where there is none, as before the first start. @throws HubError for a damaged one */
export async function readHubRecord(pkiDir: string): Promise<HubRecord | undefined> {
  const path = join(pkiDir, file);
  const text = await textIfThere(path);
  if (text === undefined) return undefined;
  const record = parsed(text);
  if (record !== undefined) return record;
  throw new HubError("data-dir", `${path} is damaged; restore the data directory from a backup`);
}

/** Writes the record atomically. */
export async function writeHubRecord(pkiDir: string, record: HubRecord): Promise<void> {
  await replaceFile(join(pkiDir, file), `${JSON.stringify(record, undefined, 2)}\n`);
}

/** Whether `pkiDir` has files that only a running hub creates; an operator may put the CA and the token key there before the first start. */
export async function wasUsed(pkiDir: string): Promise<boolean> {
  const names = await ifThere(() => readdir(pkiDir));
  return (names ?? []).some((name) => /^(?:apiserver\.(?:crt|key)|ca-.+)$/.test(name));
}

/** The mark of the store file. */
export async function markOf(path: string): Promise<FileMark> {
  const { ino, birthtimeNs } = await stat(path, { bigint: true });
  return { inode: String(ino), born: String(birthtimeNs) };
}

/** Whether these are two files. Always false on file systems that renumber inodes or record no birth time. */
export function isCopy(before: FileMark, now: FileMark): boolean {
  if (before.born === "0" || now.born === "0") return false;
  return before.inode !== now.inode && before.born !== now.born;
}

function parsed(text: string): HubRecord | undefined {
  try {
    const value = JSON.parse(text) as Partial<Record<keyof HubRecord, unknown>>;
    const { id, phase, revision, at, serviceAccountKey } = value;
    if (typeof id !== "string" || !isPhase(phase) || (phase === "ready" && id === "")) return undefined;
    if (!isRevision(revision) || typeof at !== "string") return undefined;
    if (serviceAccountKey !== undefined && typeof serviceAccountKey !== "string") return undefined;
    return { id, phase, revision, at, file: markIn(value.file), serviceAccountKey };
  } catch {
    return undefined;
  }
}

function isRevision(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isPhase(value: unknown): value is HubRecord["phase"] {
  return value === "new" || value === "ready";
}

function markIn(value: unknown): FileMark | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { inode, born } = value as Readonly<Record<string, unknown>>;
  return typeof inode === "string" && typeof born === "string" ? { inode, born } : undefined;
}
