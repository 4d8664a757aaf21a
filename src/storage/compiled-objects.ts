import type { Entry } from "./stored-object.ts";
import type { WatchCache } from "./watch-cache.ts";

/**
 * What was made of each object under a prefix, in the order of their names; made once per change, before the write is acknowledged.
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
