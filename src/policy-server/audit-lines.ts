import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { OptionError } from "../apimachinery/option-error.ts";
import type { NamedFiles } from "../host/read-text.ts";
import { systemErrorText } from "../apimachinery/system-error.ts";

/** Events hold whole objects where the audit policy says so; no line of a real log comes near. */
const maxLineBytes = 16 << 20;
const newline = 10;
const gzipMagic = [0x1f, 0x8b] as const;

/**
 * The lines of a log, packed with gzip or not, read as they are asked for: only one is held. Undefined stands for a line that is too
 * long. @throws OptionError usage where the file cannot be read to its end
 */
export async function* auditLines(file: string, { cwd }: Pick<NamedFiles, "cwd">): AsyncGenerator<Buffer | undefined> {
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
  // What goes wrong is told to whoever reads.
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
