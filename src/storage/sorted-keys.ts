/** Items in key order: cheap to insert into, to cut from, and to walk from any key. */
export interface SortedKeys<T extends { readonly key: string }> {
  /** Adds an item whose key is not there yet. */
  add(item: T): void;
  /** Replaces the item that has the same key; false when there is none. */
  replace(item: T): boolean;
  /** Removes the item of `key`; false when there is none. */
  remove(key: string): boolean;
  /** Calls `visit` for every item from `key` on (after it when `exclusive`), in order, until it returns false. */
  walk(from: { readonly key: string; readonly exclusive: boolean }, visit: (item: T) => boolean): void;
  /** Items from the key `from` on and below the key `below`, in order, at most `max`: a copy of the pointers only. */
  range(from: string, below: string, max: number): T[];
  size(): number;
  /** How many items have a key below this one. */
  countBelow(key: string): number;
}

interface Keyed {
  readonly key: string;
}

// An insert moves at most this many pointers; 100,000 keys make some 300 chunks, which a binary search crosses in nine steps.
const chunkLimit = 512;

/**
 * Sorted chunks of at most 512 items, ordered by UTF-16 code units as JavaScript compares strings.
 * Finding, adding and removing take O(log n) comparisons.
 */
export function createSortedKeys<T extends Keyed>(): SortedKeys<T> {
  const chunks: T[][] = [];
  let size = 0;

  const chunkFor = (key: string): number => chunkIndex(chunks, key);

  return {
    add(item) {
      const at = chunkFor(item.key);
      const chunk = chunks[at];
      size += 1;
      if (chunk === undefined) {
        chunks.push([item]);
        return;
      }
      chunk.splice(lowerBound(chunk, item.key), 0, item);
      if (chunk.length > chunkLimit) chunks.splice(at + 1, 0, chunk.splice(chunk.length >>> 1));
    },

    replace(item) {
      const chunk = chunks[chunkFor(item.key)] ?? [];
      const index = lowerBound(chunk, item.key);
      if (chunk[index]?.key !== item.key) return false;
      chunk[index] = item;
      return true;
    },

    remove(key) {
      const at = chunkFor(key);
      const chunk = chunks[at];
      if (chunk === undefined) return false;
      const index = lowerBound(chunk, key);
      if (chunk[index]?.key !== key) return false;
      chunk.splice(index, 1);
      size -= 1;
      if (chunk.length === 0) chunks.splice(at, 1);
      return true;
    },

    walk: (from, visit) => walkChunks(chunks, from, visit),

    range(from, below, max) {
      const last = chunkFor(below);
      const found: T[] = [];
      for (let at = chunkFor(from); at <= last && found.length < max; at += 1) {
        const chunk = chunks[at] ?? [];
        // Only the first and the last chunk contain other keys as well.
        const start = found.length === 0 ? lowerBound(chunk, from) : 0;
        const end = at === last ? lowerBound(chunk, below) : chunk.length;
        const limit = start + max - found.length;
        for (let index = start; index < end && index < limit; index += 1) found.push(chunk[index] as T);
      }
      return found;
    },

    size: () => size,

    countBelow(key) {
      const at = chunkFor(key);
      let count = lowerBound(chunks[at] ?? [], key);
      for (let index = 0; index < at; index += 1) count += chunks[index]?.length ?? 0;
      return count;
    },
  };
}

/** The last chunk whose first key is not above `key`; 0 when there is none. */
function chunkIndex(chunks: readonly (readonly Keyed[])[], key: string): number {
  let low = 0;
  let high = chunks.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    const first = chunks[middle]?.[0];
    if (first !== undefined && first.key <= key) low = middle;
    else high = middle - 1;
  }
  return low;
}

function walkChunks<T extends Keyed>(
  chunks: readonly (readonly T[])[],
  { key, exclusive }: { readonly key: string; readonly exclusive: boolean },
  visit: (item: T) => boolean,
): void {
  let at = chunkIndex(chunks, key);
  const begin = chunks[at] ?? [];
  let index = lowerBound(begin, key);
  if (exclusive && begin[index]?.key === key) index += 1;
  for (; at < chunks.length; at += 1, index = 0) {
    const chunk = chunks[at] ?? [];
    for (; index < chunk.length; index += 1) {
      const item = chunk[index];
      if (item !== undefined && !visit(item)) return;
    }
  }
}

function lowerBound(chunk: readonly Keyed[], key: string): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = chunk[middle];
    if (item !== undefined && item.key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
