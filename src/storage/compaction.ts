/** How much history a store keeps. */
export interface CompactionPolicy {
  /** Revisions younger than this stay, in milliseconds. */
  readonly keepForMs: number;
  /** So many of the newest revisions stay, however old they are. */
  readonly minRevisions: number;
  /** So many revisions stay at most, however young they are: what bounds the disk when writes come faster than history ages. */
  readonly maxRevisions: number;
}

/**
 * Five minutes, the interval at which kube-apiserver compacts etcd; 10,000 revisions, so that a watcher of a quiet hub can come back
 * after days; at most 250,000, some 500 MB of ordinary objects.
 * @see kube-apiserver, --etcd-compaction-interval
 */
export const defaultCompactionPolicy: CompactionPolicy = {
  keepForMs: 300_000,
  minRevisions: 10_000,
  maxRevisions: 250_000,
};

/** What is kept while the disk is full or the quota reached: nothing, because every record that is forgotten is room for another, and few may hold most of it. */
export const crampedCompactionPolicy: CompactionPolicy = { keepForMs: 0, minRevisions: 0, maxRevisions: 0 };

/** What is kept while the store is near its quota, which history shall not take from objects. */
export const pressedCompactionPolicy: CompactionPolicy = { keepForMs: 30_000, minRevisions: 0, maxRevisions: 250_000 };

/** What the newest revision was at a moment, in milliseconds of a clock that is not set back. */
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

/** The samples with a new one added, without those that can no longer matter: of the old ones, only the newest can. */
export function withSample(
  samples: readonly RevisionSample[],
  sample: RevisionSample,
  policy: CompactionPolicy = defaultCompactionPolicy,
): readonly RevisionSample[] {
  const all = [...samples, sample];
  const lastAged = all.findLastIndex(({ atMs }) => atMs <= sample.atMs - policy.keepForMs);
  return lastAged > 0 ? all.slice(lastAged) : all;
}
