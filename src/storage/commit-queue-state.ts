import { errorText } from "../apimachinery/error-text.ts";
import type { LogChange, LogHeader, RevisionLog } from "./revision-log.ts";
import { StorageError, type StoreEvent } from "./store.ts";

/** What happens after a commit, in the same turn and before any of its writes resolves. */
export interface CommitHooks {
  readonly applied: (events: readonly StoreEvent[], revision: number) => void;
  /** Nothing will ever be committed again. */
  readonly failed: (failure: StorageError) => void;
}

/** The state of a commit queue: the waiting writes, and whether it accepts more. */
export interface QueueState {
  header: LogHeader;
  assigned: number;
  queued: Write[];
  upkeep: (Upkeep & Waiting) | undefined;
  /** The callers of `settled`, and the revisions that they wait for. */
  settling: (Waiting & { readonly revision: number })[];
  /** The newest revision, signed, of each key that has a write queued or under way. */
  readonly pending: Map<string, number>;
  /** The callers that wait until nothing is queued or under way; undefined until `drain` is called. */
  draining: (() => void)[] | undefined;
  scheduled: boolean;
  flying: boolean;
  refusal: StorageError | undefined;
  /** The largest of the writes that had no room, in bytes; halved at each look that finds no room for it. */
  lackingBytes: number;
  /** A change whose outcome is not known yet: it may be in the log. */
  undecided: LogChange | undefined;
  failure: StorageError | undefined;
}

/** The state of a queue, the log that it writes to, and what it calls after a commit. */
export interface QueueParts {
  readonly log: RevisionLog;
  readonly hooks: CommitHooks;
  readonly state: QueueState;
}

/** The initial state of a queue over a log with this header. */
export function newQueueState(header: LogHeader): QueueState {
  return {
    header,
    assigned: header.last,
    queued: [],
    upkeep: undefined,
    settling: [],
    pending: new Map(),
    draining: undefined,
    scheduled: false,
    flying: false,
    refusal: undefined,
    lackingBytes: 0,
    undecided: undefined,
    failure: undefined,
  };
}

/** Removes the next commit from the queue; undefined where there is none, or where the outcome of the commit before is not known yet. */
export function nextBatch(state: QueueState): Batch | undefined {
  const step = state.upkeep;
  if (state.undecided !== undefined || (state.queued.length === 0 && step === undefined)) return undefined;
  const writes = state.queued.splice(0, batchSize(state.queued));
  state.upkeep = undefined;
  return batchOf(state.header, writes, step);
}

/** Applies a batch that is durable, then resolves the callers that wait for it. */
export function acknowledge({ hooks, state }: QueueParts, { change, writes, step }: Batch): void {
  const { last } = change.header;
  state.header = change.header;
  state.assigned = Math.max(state.assigned, last);
  state.flying = false;
  for (const event of change.append) {
    if (state.pending.get(event.key) === signed(event)) state.pending.delete(event.key);
  }
  hooks.applied(change.append, last);
  for (const { event, resolve } of writes) resolve(event.revision);
  step?.resolve(last);
  const { settling } = state;
  if (settling.length > 0) {
    state.settling = settling.filter(({ revision }) => revision > last);
    for (const waiting of settling) if (waiting.revision <= last) waiting.resolve(last);
  }
}

/** Rejects these writes and all writes queued behind them, whose revisions are then free again. */
export function refuse(state: QueueState, writes: readonly Write[], refusal: StorageError): void {
  const refused: readonly Waiting[] = [...writes, ...state.queued, ...state.settling];
  state.queued = [];
  state.settling = [];
  forget(state);
  for (const { reject } of refused) reject(refusal);
}

/** Frees the revisions that were assigned beyond the last durable one. */
function forget(state: QueueState): void {
  state.pending.clear();
  state.assigned = state.header.last;
}

/** The log has neither the state before a commit nor the state after it: no write is accepted any more. */
export function fail({ log, hooks, state }: QueueParts, batch: Batch): void {
  const failure = corruptLog(log, state.header);
  state.failure = failure;
  state.pending.clear();
  hooks.failed(failure);
  for (const { reject } of waitingFor(batch)) reject(failure);
  state.upkeep?.reject(failure);
  state.upkeep = undefined;
  refuse(state, [], failure);
}

/** The revision of an event; negative for a deletion. */
export function signed(event: StoreEvent): number {
  return event.type === "put" ? event.revision : -event.revision;
}

/** A step of a compaction, which is part of the next commit and may use the reserve. */
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

// The engine keeps the dirty pages of a transaction in memory.
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

/** For a write that is rejected because an earlier write failed: nothing of it is stored. */
export function refusedFor(refusal: StorageError): StorageError {
  if (refusal.code !== "unknown") return refusal;
  return new StorageError("unwritten", refusal.message, { cause: refusal });
}

/** The disk refused a commit, and nothing of it is stored. */
export function unwrittenWrite(log: RevisionLog, { last }: LogHeader, cause: unknown): StorageError {
  return new StorageError(
    "unwritten",
    `the store in ${log.place} could not be written after revision ${last} (${errorText(cause)}); ` +
      "check the disk; the hub tries again by itself",
    { cause },
  );
}

/** The disk refused a commit, and whether it is stored cannot be read. */
export function undecidedWrite(log: RevisionLog, { last }: LogHeader, cause: unknown): StorageError {
  return new StorageError(
    "unknown",
    `the store in ${log.place} could not be written after revision ${last}, and what is on disk is not known yet ` +
      `(${errorText(cause)}); check the disk; the hub tries again by itself`,
    { cause },
  );
}

/** The log contains something that was never written to it. */
export function corruptLog(log: RevisionLog, { last }: LogHeader): StorageError {
  return new StorageError(
    "corrupt",
    `the store in ${log.place} holds something else than was written after revision ${last}; stop the hub, check the disk, ` +
      "and restore the directory from a backup",
  );
}
