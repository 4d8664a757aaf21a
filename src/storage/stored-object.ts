import type { ApiObject, ObjectMeta } from "../apimachinery/object.ts";
import { stringEnd } from "../apimachinery/json-scan.ts";

/**
 * An object in the watch cache: its JSON text with the resourceVersion inside, encoded once and sent as it is. Text and not
 * bytes, because the engine keeps it compact and moves it, where a buffer of its own costs more than a small object.
 * Shared between all readers; only the memos of the parsed object and of its metadata are ever filled in later.
 */
export interface Entry {
  readonly key: string;
  readonly revision: number;
  readonly json: string;
  parsed: ApiObject | WeakRef<ApiObject> | undefined;
  /** The metadata that was read from the text of a large object, while it is in use; `metadataOf` fills it in. */
  metadata: WeakRef<ObjectMeta> | undefined;
}

const metadataStart = '"metadata":{';
const metadataBytes = Buffer.from(metadataStart);
const versionField = '"resourceVersion":"';

/** The bytes to store: kind, apiVersion and metadata first, so that the resourceVersion can be inserted without parsing. */
export function encodeObject(object: ApiObject): Buffer {
  // Nearly all are in this form already, and copies are expensive.
  if (object.metadata.resourceVersion === undefined && isInOrder(object)) return Buffer.from(JSON.stringify(object));
  const { kind, apiVersion, metadata, ...rest } = object;
  const { resourceVersion: _assignedByTheStore, ...meta } = metadata;
  return Buffer.from(JSON.stringify({ kind, apiVersion, metadata: meta, ...rest }));
}

const firstFields = ["kind", "apiVersion", "metadata"];

function isInOrder(object: ApiObject): boolean {
  let place = 0;
  for (const field in object) {
    if (field !== firstFields[place]) return false;
    place += 1;
    if (place === firstFields.length) return true;
  }
  return false;
}

/** The entry for stored bytes written at `revision`. The bytes are trusted: only `encodeObject` creates them. */
export function entryOf(key: string, value: Uint8Array, revision: number): Entry {
  const stored = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const at = stored.indexOf(metadataBytes) + metadataBytes.length;
  const version = versionText(stored[at] === 0x7d, revision);
  // Joined as bytes, because joined text would keep all its parts until it is read.
  const joined = Buffer.allocUnsafe(stored.length + version.length);
  stored.copy(joined, 0, 0, at);
  joined.write(version, at, "latin1");
  stored.copy(joined, at + version.length, at);
  return { key, revision, json: joined.toString(), parsed: undefined, metadata: undefined };
}

/** The same object under another resourceVersion: what a DELETED event shows. */
export function entryAt(entry: Entry, revision: number): Entry {
  const at = entry.json.indexOf(metadataStart) + metadataStart.length;
  const end = at + versionField.length + String(entry.revision).length;
  return {
    key: entry.key,
    revision,
    json: `${entry.json.slice(0, at)}${versionField}${revision}${entry.json.slice(end)}`,
    parsed: undefined,
    metadata: undefined,
  };
}

/** From this length in characters on, a parsed object is kept only while it is in use: it takes up to ten times the memory of its text. */
const largeCharacters = 64 * 1024;

/** The parsed object; parsed at the first call and shared after that, so never change it. */
export function objectOf(entry: Entry): ApiObject {
  const known = parsedOf(entry);
  if (known !== undefined) return known;
  const object = JSON.parse(entry.json) as ApiObject;
  entry.parsed = entry.json.length < largeCharacters ? object : new WeakRef(object);
  return object;
}

/** The parsed object without caching it in the entry, for callers that read many objects once. */
export function passingObjectOf(entry: Entry): ApiObject {
  return parsedOf(entry) ?? (JSON.parse(entry.json) as ApiObject);
}

/** The parsed object where it is cached already. */
export function parsedOf({ parsed }: Entry): ApiObject | undefined {
  return parsed instanceof WeakRef ? parsed.deref() : parsed;
}

function versionText(last: boolean, revision: number): string {
  return `${versionField}${revision}${last ? '"' : '",'}`;
}

const managedFieldsStart = '"managedFields":[';

/**
 * The metadata of an object, without its managedFields where the object is not parsed already. Only the text of the metadata is parsed:
 * looking for labels in a thousand large objects must not take ten times their memory. What was read is shared while it is in use, so a
 * hundred watches with label selectors do not each read the text of one change.
 */
export function metadataOf(entry: Entry): ObjectMeta {
  const known = parsedOf(entry)?.metadata ?? entry.metadata?.deref();
  if (known !== undefined) return known;
  const metadata = metadataIn(entry.json);
  entry.metadata = new WeakRef(metadata);
  return metadata;
}

/** The metadata in the text of an object, without its managedFields. The text is trusted: it is JSON that the hub has written. */
function metadataIn(json: string): ObjectMeta {
  const begin = json.indexOf(metadataStart) + metadataStart.length - 1;
  let depth = 0;
  let [skipFrom, skipTo] = [0, 0];
  let index = begin;
  while (index < json.length) {
    const code = json.charCodeAt(index);
    if (code === quote) {
      if (depth === 1 && json.startsWith(managedFieldsStart, index)) skipFrom = index;
      index = stringEnd(json, index + 1);
      continue;
    }
    const change = depthChange(code);
    depth += change;
    if (change < 0) {
      if (depth === 0) break;
      if (depth === 1 && skipFrom > skipTo) skipTo = index + 1;
    }
    index += 1;
  }
  if (skipTo === 0) return JSON.parse(json.slice(begin, index + 1)) as ObjectMeta;
  const emptied = `${json.slice(begin, skipFrom)}"managedFields":[]${json.slice(skipTo, index + 1)}`;
  const { managedFields: _managedFields, ...metadata } = JSON.parse(emptied) as ObjectMeta;
  return metadata;
}

function depthChange(code: number): -1 | 0 | 1 {
  if (code === openBrace || code === openBracket) return 1;
  return code === closeBrace || code === closeBracket ? -1 : 0;
}

const quote = 0x22;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
