import type { Clock } from "../apimachinery/clock.ts";
import { type Store, isOutOfRoom } from "./store.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";
import type { WatchCache } from "./watch-cache.ts";

const recoverMs = 5_000;

/**
 * Recovers a store that refuses writes, at intervals until `signal` aborts. One log line reports that writes are refused
 * and why, one that they are accepted again, however many writes there were between.
 */
export async function keepStoreWritable(options: {
  readonly store: Pick<Store, "condition" | "recover">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly log: (entry: LogEntry) => void;
}): Promise<void> {
  const { store, clock, signal, log } = options;
  let reported: string | undefined;
  while (!signal.aborted) {
    const { refusal } = store.condition();
    if (refusal !== undefined && refusal.code !== reported) {
      log(logEntry("StoreWritesRejected", "the store rejects writes", { cause: refusal.code, error: refusal.message }));
    }
    if (refusal === undefined && reported !== undefined)
      log(logEntry("StoreWritesAccepted", "the store accepts writes again"));
    reported = refusal?.code;
    if (refusal !== undefined) await store.recover();
    if (store.condition().refusal === undefined && reported !== undefined) continue;
    await clock.sleep(recoverMs, signal);
  }
}

/** How much history a store keeps. */
export interface CompactionPolicy {
  /** Revisions younger than this are kept, in milliseconds. */
  readonly keepForMs: number;
  /** At least this many of the newest revisions are kept, however old they are. */
  readonly minRevisions: number;
  /** At most this many revisions are kept, however young they are: this bounds the disk when writes outpace the age limit. */
  readonly maxRevisions: number;
}

/**
 * Five minutes, the interval at which kube-apiserver compacts etcd; 10,000 revisions, so that a watcher of a quiet hub can resume
 * after days; at most 250,000, some 500 MB of ordinary objects.
 * @see kube-apiserver, --etcd-compaction-interval
 */
export const defaultCompactionPolicy: CompactionPolicy = {
  keepForMs: 300_000,
  minRevisions: 10_000,
  maxRevisions: 250_000,
};

/** The retention while the disk is full or the quota reached: nothing, because each removed record frees room, and few may take most of it. */
export const crampedCompactionPolicy: CompactionPolicy = { keepForMs: 0, minRevisions: 0, maxRevisions: 0 };

/** The retention while the store is near its quota, which objects need more than history. */
export const pressedCompactionPolicy: CompactionPolicy = { keepForMs: 30_000, minRevisions: 0, maxRevisions: 250_000 };

/** The newest revision at a moment, in milliseconds of a monotonic clock. */
export interface RevisionSample {
  readonly atMs: number;
  readonly revision: number;
}

/**
 * The revision to compact to now; undefined when there is nothing to do. A revision counts as old only when a sample proves that
 * it was there long enough ago, so after a restart nothing ages before the first sample does.
 */
export function compactionTarget(
  facts: {
    readonly nowMs: number;
    readonly current: number;
    readonly compacted: number;
    readonly samples: readonly RevisionSample[];
  },
  policy: CompactionPolicy = defaultCompactionPolicy,
): number | undefined {
  const { nowMs, current, compacted, samples } = facts;
  const aged = samples
    .filter(({ atMs }) => atMs <= nowMs - policy.keepForMs)
    .reduce((newest, { revision }) => Math.max(newest, revision), 0);
  const target = Math.max(Math.min(aged, current - policy.minRevisions), current - policy.maxRevisions);
  return target > compacted ? target : undefined;
}

/** The samples with a new one added, without those that are no longer needed: of the old ones, only the newest is. */
export function withSample(
  samples: readonly RevisionSample[],
  sample: RevisionSample,
  policy: CompactionPolicy = defaultCompactionPolicy,
): readonly RevisionSample[] {
  const all = [...samples, sample];
  const lastAged = all.findLastIndex(({ atMs }) => atMs <= sample.atMs - policy.keepForMs);
  return lastAged > 0 ? all.slice(lastAged) : all;
}

const compactMs = 30_000;
/** How often the store is checked for being full or nearly full. */
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
 * Compacts old history every 30 seconds, nearly all of it every 5 seconds while the store is near its quota, and all while it is full, until
 * `signal` aborts. Revisions that the cache has not read yet are kept. A failure is reported and retried at the next interval.
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
      if (policy === defaultCompactionPolicy && Math.abs(nowMs - sampledMs) < compactMs) continue;
      const current = await store.currentRevision();
      samples = withSample(samples, { atMs: nowMs, revision: current });
      sampledMs = nowMs;
      await compactOnce(options, { nowMs, current, samples }, policy);
    } catch (error) {
      options.failed(error);
    }
  }
}

/** The present retention; undefined while the store accepts no writes at all. */
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
