/** Items in key order: cheap to insert into, to cut from, and to walk from any key. */
export interface SortedKeys<T extends { readonly key: string }> {
  /** Adds an item whose key is not there yet. */
  add(item: T): void;
  /** Takes the item of `key` out; false when there is none. */
  remove(key: string): boolean;
  /** Calls `visit` for every item from `key` on (after it when `exclusive`), in order, until it returns false. */
  walk(from: { readonly key: string; readonly exclusive: boolean }, visit: (item: T) => boolean): void;
  size(): number;
}

// An insert moves at most this many pointers; 100,000 keys make some 300 chunks, which a binary search crosses in nine steps.
const chunkLimit = 512;

/**
 * Sorted chunks of at most 512 items, ordered by UTF-16 code units as JavaScript compares strings.
 * Finding, adding and removing take O(log n) comparisons.
 */
export function createSortedKeys<T extends { readonly key: string }>(): SortedKeys<T> {
  const chunks: T[][] = [];
  let size = 0;

  // The last chunk whose first key is not above `key`; 0 when there is none.
  const chunkFor = (key: string): number => {
    let low = 0;
    let high = chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      const first = chunks[middle]?.[0];
      if (first !== undefined && first.key <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  };

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

    walk({ key, exclusive }, visit) {
      let at = chunkFor(key);
      let index = lowerBound(chunks[at] ?? [], key);
      if (exclusive && chunks[at]?.[index]?.key === key) index += 1;
      for (; at < chunks.length; at += 1, index = 0) {
        const chunk = chunks[at] ?? [];
        for (; index < chunk.length; index += 1) {
          const item = chunk[index];
          if (item !== undefined && !visit(item)) return;
        }
      }
    },

    size: () => size,
  };
}

function lowerBound(chunk: readonly { readonly key: string }[], key: string): number {
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
