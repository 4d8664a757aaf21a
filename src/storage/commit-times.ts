import type { CommitTimes } from "./store.ts";

/** The bounds of etcd's own histogram of its commits: 1 ms, doubled thirteen times. Source: etcd, backend_commit_duration_seconds. */
const bounds: readonly number[] = Array.from({ length: 14 }, (_, power) => 2 ** power / 1000);

/** Counts how long commits take. */
export function commitTimes(): { readonly observe: (ms: number) => void; readonly read: () => CommitTimes } {
  const buckets = Array.from({ length: bounds.length + 1 }, () => 0);
  let sumMs = 0;
  return {
    observe: (ms) => {
      const found = bounds.findIndex((bound) => ms <= bound * 1000);
      const at = found < 0 ? bounds.length : found;
      buckets[at] = (buckets[at] ?? 0) + 1;
      sumMs += ms;
    },
    read: () => ({ bounds, buckets, seconds: sumMs / 1000 }),
  };
}
