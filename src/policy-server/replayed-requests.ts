import { type AuditedRequest, readAuditedRequest } from "../apiserver/audit/audited-request.ts";
import type { NamedFiles } from "../host/read-text.ts";
import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { OptionError } from "../apimachinery/option-error.ts";
import { systemErrorText } from "../apimachinery/system-error.ts";

/** How many lines of the logs were not replayed, by cause. */
export interface NotReplayed {
  /** Events without a decision: not authenticated, or rejected before it. */
  undecided: number;
  /** Further events of counted requests: the end of a watch. */
  repeated: number;
  /** Lines that cannot be parsed, or are too long. */
  unreadable: number;
  /** The first of those: `audit.log:17`. */
  firstUnreadable: string | undefined;
}

/** How many request ids are stored, so that a request with events of two stages or in two files counts once. */
const maxIds = 200_000;

/** The authorized requests in the files, in their order, each once; `left` counts the other lines. @throws OptionError usage */
export async function* replayedRequests(
  files: readonly string[],
  where: Pick<NamedFiles, "cwd">,
  left: NotReplayed,
): AsyncGenerator<AuditedRequest> {
  const isRepeated = repetitions();
  for (const file of files) {
    let number = 0;
    for await (const line of auditLines(file, where)) {
      number += 1;
      if (line?.length === 0) continue;
      const read = line === undefined ? "unreadable" : readAuditedRequest(parsed(line));
      if (typeof read === "string") countSkipped(left, read, `${file}:${number}`);
      else if (isRepeated(read)) left.repeated += 1;
      else yield read;
    }
  }
}

function countSkipped(
  left: NotReplayed,
  why: Extract<ReturnType<typeof readAuditedRequest>, string>,
  at: string,
): void {
  if (why !== "early") left[why] += 1;
  if (why === "unreadable") left.firstUnreadable ??= at;
}

/** Whether a request had an earlier event, of another stage or in another file. */
function repetitions(): (request: AuditedRequest) => boolean {
  const recent = recentIds(maxIds);
  // A watch may end long after it began.
  const open = recentIds(maxIds);
  return ({ auditId, time, stage }) => {
    // Clients choose audit ids, and must not hide one request behind another; all stages of one have its time.
    const id = `${auditId} ${time}`;
    if (auditId !== "" && (recent.has(id) || open.take(id))) return true;
    recent.add(id);
    if (stage === "ResponseStarted") open.add(id);
    return false;
  };
}

/** JSON, or undefined. */
function parsed(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString("utf8")) as unknown;
  } catch {
    return undefined;
  }
}

interface RecentIds {
  readonly has: (id: string) => boolean;
  readonly add: (id: string) => void;
  /** Removes an id; false where it was missing. */
  readonly take: (id: string) => boolean;
}

/** At most `capacity` ids; the oldest are removed first. */
function recentIds(capacity: number): RecentIds {
  const ids = new Set<string>();
  return {
    has: (id) => ids.has(id),
    add: (id) => {
      ids.add(id);
      for (const oldest of ids) {
        if (ids.size <= capacity) return;
        ids.delete(oldest);
      }
    },
    take: (id) => ids.delete(id),
  };
}

/** Events contain whole objects where the audit policy includes them; no line of a real log is as long. */
const maxLineBytes = 16 << 20;
const newline = 10;
const gzipMagic = [0x1f, 0x8b] as const;

/**
 * The lines of a log, plain or with gzip, read on demand: only one is in memory. Undefined is a line that is too long.
 * @throws OptionError usage where the file cannot be read to its end
 */
async function* auditLines(file: string, { cwd }: Pick<NamedFiles, "cwd">): AsyncGenerator<Buffer | undefined> {
  try {
    yield* lines(unpacked(createReadStream(resolve(cwd, file))));
  } catch (error) {
    throw new OptionError("usage", `--audit-log: ${systemErrorText(error, { operation: "read", at: file })}`);
  }
}

async function* unpacked(stream: AsyncIterable<unknown>): AsyncGenerator<Buffer> {
  const chunks = stream[Symbol.asyncIterator]();
  const first = await chunks.next();
  if (first.done === true) return;
  const start = first.value as Buffer;
  async function* all(): AsyncGenerator<Buffer> {
    yield start;
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value as Buffer;
  }
  if (gzipMagic.some((byte, index) => start[index] !== byte)) {
    yield* all();
    return;
  }
  const gunzip = createGunzip();
  // The reader of the stream receives the error.
  pipeline(Readable.from(all()), gunzip, () => undefined);
  for await (const chunk of gunzip) yield chunk as Buffer;
}

async function* lines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer | undefined> {
  let held: Buffer[] = [];
  let size = 0;
  const line = (): Buffer | undefined => {
    const whole = size > maxLineBytes ? undefined : Buffer.concat(held);
    held = [];
    size = 0;
    return whole;
  };
  const hold = (part: Buffer): void => {
    size += part.length;
    if (size > maxLineBytes) held = [];
    else held.push(part);
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      hold(chunk.subarray(start, end));
      start = end + 1;
      yield line();
    }
    if (start < chunk.length) hold(chunk.subarray(start));
  }
  if (size > 0) yield line();
}
