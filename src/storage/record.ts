// A namespace import: a Node below the minimum lacks the named export, and would fail on it before require-node.ts can report the version.
import * as zlib from "node:zlib";
import type { LogHeader } from "./revision-log.ts";
import type { StoreEvent } from "./store.ts";

/** The version of everything in this file; a store of another version is not opened. */
export const recordFormat = 1;

/*
 * A record, big-endian:   crc32 u32 | type u8 | 0 u8 | key length u16 | revision u64 | key (UTF-8) | value
 * The header, likewise:   crc32 u32 | format u32 | last u64 | count u64 | compacted u64 | trimmed u64
 * The checksum covers all that follows it, so that a record under the wrong revision is seen as well as a flipped bit.
 */
const recordPrefix = 16;
const headerSize = 40;
const types = { update: 1, create: 2, delete: 3 } as const;

/** The bytes of one change. Its key has at most 65,535 bytes. */
export function encodeRecord(event: StoreEvent): Buffer {
  const { key, revision } = event;
  const keyLength = Buffer.byteLength(key);
  const value = event.type === "put" ? event.value : undefined;
  const bytes = Buffer.allocUnsafe(recordPrefix + keyLength + (value?.length ?? 0));
  bytes[4] = event.type === "delete" ? types.delete : event.created ? types.create : types.update;
  bytes[5] = 0;
  bytes.writeUInt16BE(keyLength, 6);
  writeU64(bytes, revision, 8);
  bytes.write(key, recordPrefix);
  if (value !== undefined) bytes.set(value, recordPrefix + keyLength);
  bytes.writeUInt32BE(zlib.crc32(bytes.subarray(4)), 0);
  return bytes;
}

/** The change of `revision` encoded in `bytes`; undefined when they are damaged. The value shares their memory. */
export function decodeRecord(bytes: Buffer, revision: number): StoreEvent | undefined {
  if (bytes.length < recordPrefix || !checksumFits(bytes) || readU64(bytes, 8) !== revision) return undefined;
  const keyEnd = recordPrefix + bytes.readUInt16BE(6);
  if (bytes[5] !== 0 || keyEnd > bytes.length) return undefined;
  const key = bytes.toString("utf8", recordPrefix, keyEnd);
  const value = bytes.subarray(keyEnd);
  switch (bytes[4]) {
    case types.create:
      return { type: "put", key, value, revision, created: true };
    case types.update:
      return { type: "put", key, value, revision, created: false };
    case types.delete:
      return value.length === 0 ? { type: "delete", key, revision } : undefined;
    default:
      return undefined;
  }
}

/** The bytes of a log's header. */
export function encodeHeader({ last, count, compacted, trimmed }: LogHeader): Buffer {
  const bytes = Buffer.alloc(headerSize);
  bytes.writeUInt32BE(recordFormat, 4);
  for (const [index, field] of [last, count, compacted, trimmed].entries()) writeU64(bytes, field, 8 + index * 8);
  bytes.writeUInt32BE(zlib.crc32(bytes.subarray(4)), 0);
  return bytes;
}

/** A log's header, or why there is none: `damaged`, or the number of a format that is not this one. */
export function decodeHeader(bytes: Buffer): LogHeader | "damaged" | { readonly format: number } {
  if (bytes.length < 8 || !checksumFits(bytes)) return "damaged";
  const format = bytes.readUInt32BE(4);
  if (format !== recordFormat) return { format };
  if (bytes.length !== headerSize) return "damaged";
  return {
    last: readU64(bytes, 8),
    count: readU64(bytes, 16),
    compacted: readU64(bytes, 24),
    trimmed: readU64(bytes, 32),
  };
}

/** Writes a whole number below 2^48: revisions for 89 years at 100,000 writes a second. */
export function writeU64(bytes: Buffer, value: number, offset: number): void {
  bytes.writeUInt16BE(0, offset);
  bytes.writeUIntBE(value, offset + 2, 6);
}

/** Reads a number of `writeU64`; a larger number is returned as infinity, which is no revision. */
export function readU64(bytes: Buffer, offset: number): number {
  return bytes.readUInt16BE(offset) === 0 ? bytes.readUIntBE(offset + 2, 6) : Number.POSITIVE_INFINITY;
}

function checksumFits(bytes: Buffer): boolean {
  return zlib.crc32(bytes.subarray(4)) === bytes.readUInt32BE(0);
}
