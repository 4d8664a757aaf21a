import { stringEnd } from "../apimachinery/json-scan.ts";
import type { ObjectMeta } from "../apimachinery/object.ts";
import { parsedOf, type Entry } from "./stored-object.ts";

const metadataStart = '"metadata":{';
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
    if (code === openBrace || code === openBracket) depth += 1;
    else if (code === closeBrace || code === closeBracket) {
      depth -= 1;
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

const quote = 0x22;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
