import type { Clock } from "../core/clock.ts";
import { compactionTarget, crampedCompactionPolicy, defaultCompactionPolicy } from "../storage/compaction.ts";
import { withSample, type RevisionSample } from "../storage/compaction.ts";
import type { Store } from "../storage/store.ts";

const everyMs = 30_000;

/** Forgets old history at intervals, and nearly all of it where the disk is full, until `signal` aborts; a failure is reported and tried again at the next interval. */
export async function compactionLoop(options: {
  readonly store: Store;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly failed: (error: unknown) => void;
}): Promise<void> {
  const { store, clock, signal } = options;
  let samples: readonly RevisionSample[] = [];
  while (!signal.aborted) {
    await clock.sleep(everyMs, signal);
    if (signal.aborted) return;
    const { refusal } = store.condition();
    if (refusal !== undefined && refusal.code !== "full") continue;
    const policy = refusal === undefined ? defaultCompactionPolicy : crampedCompactionPolicy;
    try {
      const [current, compacted] = [await store.currentRevision(), await store.compactedRevision()];
      samples = withSample(samples, { atMs: clock.now(), revision: current });
      const target = compactionTarget({ nowMs: clock.now(), current, compacted, samples }, policy);
      if (target !== undefined) await store.compact(target);
    } catch (error) {
      options.failed(error);
    }
  }
}
