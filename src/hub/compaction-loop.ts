import type { Clock } from "../core/clock.ts";
import { compactionTarget, crampedCompactionPolicy, defaultCompactionPolicy } from "../storage/compaction.ts";
import { withSample, type RevisionSample } from "../storage/compaction.ts";
import type { Store } from "../storage/store.ts";
import type { WatchCache } from "../storage/watch-cache.ts";

const everyMs = 30_000;
/** How often it is looked whether the store is full. */
const lookMs = 5_000;

interface CompactionLoopOptions {
  readonly store: Store;
  readonly cache: Pick<WatchCache, "revision">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly failed: (error: unknown) => void;
}

/**
 * Forgets old history every 30 seconds, and all of it every 5 seconds while the store is full, until `signal` aborts. What the cache has
 * not read yet stays. A failure is reported and tried again at the next interval.
 */
export async function compactionLoop(options: CompactionLoopOptions): Promise<void> {
  const { store, clock, signal } = options;
  let samples: readonly RevisionSample[] = [];
  let sampledMs = clock.now();
  while (!signal.aborted) {
    await clock.sleep(lookMs, signal);
    if (signal.aborted) return;
    const { refusal } = store.condition();
    if (refusal !== undefined && refusal.code !== "full") continue;
    const nowMs = clock.now();
    if (refusal === undefined && Math.abs(nowMs - sampledMs) < everyMs) continue;
    try {
      const current = await store.currentRevision();
      samples = withSample(samples, { atMs: nowMs, revision: current });
      sampledMs = nowMs;
      await compactOnce(options, { nowMs, current, samples, isFull: refusal !== undefined });
    } catch (error) {
      options.failed(error);
    }
  }
}

async function compactOnce(
  { store, cache }: CompactionLoopOptions,
  at: {
    readonly nowMs: number;
    readonly current: number;
    readonly samples: readonly RevisionSample[];
    readonly isFull: boolean;
  },
): Promise<void> {
  const compacted = await store.compactedRevision();
  const policy = at.isFull ? crampedCompactionPolicy : defaultCompactionPolicy;
  const target = Math.min(compactionTarget({ ...at, compacted }, policy) ?? 0, cache.revision());
  if (target > compacted) await store.compact(target);
}
