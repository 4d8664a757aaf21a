import type { Clock } from "../apimachinery/clock.ts";
import {
  compactionTarget,
  crampedCompactionPolicy,
  defaultCompactionPolicy,
  pressedCompactionPolicy,
  withSample,
  type CompactionPolicy,
  type RevisionSample,
} from "./compaction.ts";
import { isOutOfRoom, type Store } from "./store.ts";
import type { WatchCache } from "./watch-cache.ts";

const everyMs = 30_000;
/** How often it is looked whether the store is full or nearly so. */
const lookMs = 5_000;
/** From which share of its quota on a store keeps less history. */
const pressedShare = 0.75;

interface CompactionLoopOptions {
  readonly store: Store;
  readonly cache: Pick<WatchCache, "revision">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly failed: (error: unknown) => void;
}

/**
 * Forgets old history every 30 seconds, nearly all of it every 5 seconds while the store is near its quota, and all while it is full, until
 * `signal` aborts. What the cache has not read yet stays. A failure is reported and tried again at the next interval.
 */
export async function compactionLoop(options: CompactionLoopOptions): Promise<void> {
  const { store, clock, signal } = options;
  let samples: readonly RevisionSample[] = [];
  let sampledMs = clock.now();
  while (!signal.aborted) {
    await clock.sleep(lookMs, signal);
    if (signal.aborted) return;
    try {
      const policy = await policyNow(store);
      const nowMs = clock.now();
      if (policy === undefined) continue;
      if (policy === defaultCompactionPolicy && Math.abs(nowMs - sampledMs) < everyMs) continue;
      const current = await store.currentRevision();
      samples = withSample(samples, { atMs: nowMs, revision: current });
      sampledMs = nowMs;
      await compactOnce(options, { nowMs, current, samples }, policy);
    } catch (error) {
      options.failed(error);
    }
  }
}

/** How much history is kept now; undefined while the store takes no writes at all. */
async function policyNow(store: Store): Promise<CompactionPolicy | undefined> {
  const { refusal } = store.condition();
  if (refusal !== undefined) return isOutOfRoom(refusal) ? crampedCompactionPolicy : undefined;
  const { usedBytes, quotaBytes } = await store.usage();
  const isPressed = quotaBytes !== undefined && usedBytes > pressedShare * quotaBytes;
  return isPressed ? pressedCompactionPolicy : defaultCompactionPolicy;
}

async function compactOnce(
  { store, cache }: CompactionLoopOptions,
  at: { readonly nowMs: number; readonly current: number; readonly samples: readonly RevisionSample[] },
  policy: CompactionPolicy,
): Promise<void> {
  const compacted = await store.compactedRevision();
  const target = Math.min(compactionTarget({ ...at, compacted }, policy) ?? 0, cache.revision());
  if (target > compacted) await store.compact(target);
}
