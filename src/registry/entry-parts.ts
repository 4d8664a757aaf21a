import type { Entry } from "../storage/stored-object.ts";

/** How much of a list is worked on at once. */
export interface PartSize {
  readonly maxCharacters: number;
  readonly maxEntries: number;
}

/** Entries in groups of at most so many characters of JSON and so many entries; an entry that is longer alone is a group of its own. */
export function partsOf(
  entries: readonly Entry[],
  { maxCharacters, maxEntries }: PartSize,
): readonly (readonly Entry[])[] {
  const parts: (readonly Entry[])[] = [];
  let start = 0;
  let characters = 0;
  for (const [index, { json }] of entries.entries()) {
    const isFull = characters + json.length > maxCharacters || index - start >= maxEntries;
    if (isFull && index > start) {
      parts.push(entries.slice(start, index));
      start = index;
      characters = 0;
    }
    characters += json.length;
  }
  if (start < entries.length) parts.push(entries.slice(start));
  return parts;
}
