import type { ApiObject } from "../core/object.ts";

/**
 * An object as the watch cache holds it: its JSON bytes with the resourceVersion inside, encoded once and sent as they are.
 * Shared between all readers; only the memo of the parsed object is ever filled in later.
 */
export interface Entry {
  readonly key: string;
  readonly revision: number;
  readonly bytes: Buffer;
  /** Where in `bytes` the digits of the resourceVersion begin. */
  readonly versionAt: number;
  parsed: ApiObject | undefined;
}

const metadataStart = Buffer.from('"metadata":{');
const versionField = '"resourceVersion":"';

/** The bytes to store: kind, apiVersion and metadata first, so that the resourceVersion can be put in without parsing. */
export function encodeObject(object: ApiObject): Buffer {
  const { kind, apiVersion, metadata, ...rest } = object;
  const { resourceVersion: _assignedByTheStore, ...meta } = metadata;
  return Buffer.from(JSON.stringify({ kind, apiVersion, metadata: meta, ...rest }));
}

/** The entry for stored bytes written at `revision`. The bytes are trusted: only `encodeObject` makes them. */
export function entryOf(key: string, value: Uint8Array, revision: number): Entry {
  const stored = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const at = stored.indexOf(metadataStart) + metadataStart.length;
  const separator = stored[at] === 0x7d ? '"' : '",';
  const version = `${versionField}${revision}${separator}`;
  const bytes = Buffer.allocUnsafeSlow(stored.length + version.length);
  stored.copy(bytes, 0, 0, at);
  bytes.write(version, at, "latin1");
  stored.copy(bytes, at + version.length, at);
  return { key, revision, bytes, versionAt: at + versionField.length, parsed: undefined };
}

/** The same object under another resourceVersion: what a DELETED event shows. */
export function entryAt(entry: Entry, revision: number): Entry {
  const end = entry.versionAt + String(entry.revision).length;
  const bytes = Buffer.concat([
    entry.bytes.subarray(0, entry.versionAt),
    Buffer.from(String(revision)),
    entry.bytes.subarray(end),
  ]);
  return { key: entry.key, revision, bytes, versionAt: entry.versionAt, parsed: undefined };
}

/** The parsed object; parsed at the first call and shared after that, so never change it. */
export function objectOf(entry: Entry): ApiObject {
  entry.parsed ??= JSON.parse(entry.bytes.toString()) as ApiObject;
  return entry.parsed;
}
