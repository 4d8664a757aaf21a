import type { ApiObject } from "../apimachinery/object.ts";
import { objectOf, type Entry } from "./stored-object.ts";
import type { WatchCache } from "./watch-cache.ts";

/**
 * The compiled form of each object under a prefix, in the order of their names; compiled once per change, before the write is acknowledged.
 * The same array until something changes.
 */
export function compiledObjects<T>(
  cache: WatchCache,
  { prefix, compile }: { readonly prefix: string; readonly compile: (entry: Entry) => T },
): () => readonly T[] {
  const compiled = new Map<string, T>();
  let sorted: readonly T[] | undefined;
  cache.observe(prefix, ({ type, entry }) => {
    if (type === "DELETED") compiled.delete(entry.key);
    else compiled.set(entry.key, compile(entry));
    sorted = undefined;
  });
  return () => (sorted ??= [...compiled].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, made]) => made));
}

/** How many objects there are, in total and per group. */
export interface CountedObjects {
  readonly all: () => number;
  readonly of: (what: string) => number;
}

/** Counts the objects under a prefix as they change; `under` returns the group of an object, undefined for none. */
export function countedObjects(
  cache: WatchCache,
  { prefix, under }: { readonly prefix: string; readonly under: (entry: Entry) => string | undefined },
): CountedObjects {
  const counted = new Map<string, string>();
  const counts = new Map<string, number>();
  const count = (what: string, more: 1 | -1): void => {
    const now = (counts.get(what) ?? 0) + more;
    if (now === 0) counts.delete(what);
    else counts.set(what, now);
  };
  cache.observe(prefix, ({ type, entry }) => {
    const before = counted.get(entry.key);
    if (before !== undefined) count(before, -1);
    counted.delete(entry.key);
    const what = type === "DELETED" ? undefined : under(entry);
    if (what === undefined) return;
    counted.set(entry.key, what);
    count(what, 1);
  });
  return { all: () => counted.size, of: (what) => counts.get(what) ?? 0 };
}

/** The object of a key, as it is in the watch cache at this moment; undefined where there is none. */
export function cachedObject(cache: Pick<WatchCache, "get">, key: string): ApiObject | undefined {
  const entry = cache.get(key);
  return entry && objectOf(entry);
}
