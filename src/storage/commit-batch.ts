import type { LogChange, LogHeader } from "./revision-log.ts";
import type { StorageError, StoreEvent } from "./store.ts";

/** A step of a compaction, which rides on the next commit and may use the reserve. */
export interface Upkeep {
  readonly compacted: number;
  readonly trimmed: number;
  readonly remove: readonly number[];
}

/** A caller that waits for the outcome of a commit: the revision that is durable then, or why it is not. */
export interface Waiting {
  readonly resolve: (revision: number) => void;
  readonly reject: (failure: StorageError) => void;
}

/** A write with its revision, and the caller that waits for it. */
export interface Write extends Waiting {
  readonly event: StoreEvent;
  readonly mayUseReserve: boolean;
}

/** A change for one commit, and the callers that wait for its outcome. */
export interface Batch {
  readonly change: LogChange;
  readonly writes: readonly Write[];
  readonly step: (Upkeep & Waiting) | undefined;
}

// One transaction of the engine holds its dirty pages in memory.
const batchWrites = 4096;
const batchBytes = 32 * 1024 * 1024;
const pageBytes = 4096;

/** The batch of these writes and a step of a compaction, after what `header` describes. */
export function batchOf(header: LogHeader, writes: readonly Write[], step: Batch["step"]): Batch {
  return { change: changeOf(header, writes, step), writes, step };
}

/** All callers that wait for the outcome of a batch. */
export function waitingFor({ writes, step }: Batch): readonly Waiting[] {
  return step === undefined ? writes : [...writes, step];
}

/** How many of the queued writes go into one batch: at most 4096, and none after the one that exceeds 32 MiB. */
export function batchSize(queued: readonly Write[]): number {
  let bytes = 0;
  for (const [index, { event }] of queued.entries()) {
    if (index === batchWrites || bytes > batchBytes) return index;
    bytes += sizeOf(event);
  }
  return queued.length;
}

/** What a write may take in the log, in bytes. */
export function sizeOf(event: StoreEvent): number {
  return pageBytes + (event.type === "put" ? event.value.length : 0);
}

function changeOf(header: LogHeader, writes: readonly Write[], step: Upkeep | undefined): LogChange {
  const remove = step?.remove ?? [];
  return {
    append: writes.map(({ event }) => event),
    remove,
    header: {
      last: header.last + writes.length,
      count: header.count + writes.length - remove.length,
      compacted: step?.compacted ?? header.compacted,
      trimmed: step?.trimmed ?? header.trimmed,
    },
  };
}
