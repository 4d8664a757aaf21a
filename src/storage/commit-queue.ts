import type { LogChange, LogHeader, RevisionLog } from "./revision-log.ts";
import { StorageError, type StoreEvent } from "./store.ts";

/** A write without its revision, which the queue assigns. */
export type Draft =
  | { readonly type: "put"; readonly key: string; readonly value: Uint8Array; readonly created: boolean }
  | { readonly type: "delete"; readonly key: string };

/** A step of a compaction, which rides on the next commit. */
export interface Upkeep {
  readonly compacted: number;
  readonly trimmed: number;
  readonly remove: readonly number[];
}

/** Writes in their order, gathered into one durable commit after another. */
export interface CommitQueue {
  /** Assigns the next revision to a write that is known to be right, and resolves with it once it is durable and applied. */
  write(draft: Draft): Promise<number>;
  /** The newest write of `key` that is not durable yet, as a signed revision (negative: a deletion); 0 when there is none. */
  pending(key: string): number;
  /** Resolves when `revision` is durable and applied, after the write itself resolved. */
  settled(revision: number): Promise<void>;
  /** Resolves when the step is durable. The caller awaits each before the next. */
  upkeep(step: Upkeep): Promise<void>;
  /** The newest revision that is durable and applied. */
  last(): number;
  /** What made every later write impossible, if anything did. */
  failure(): StorageError | undefined;
  /** Refuses what comes later, and resolves when all that came before has been decided. */
  drain(): Promise<void>;
}

/** What happens after a commit, in the same turn and before any of its writes resolves. */
export interface CommitHooks {
  readonly applied: (events: readonly StoreEvent[], revision: number) => void;
  readonly failed: (failure: StorageError) => void;
}

interface Waiting {
  readonly resolve: (revision: number) => void;
  readonly reject: (failure: StorageError) => void;
}

interface Write extends Waiting {
  readonly event: StoreEvent;
}

interface QueueState {
  header: LogHeader;
  assigned: number;
  queued: Write[];
  upkeep: (Upkeep & Waiting) | undefined;
  /** What becomes of those who wait for a revision to be durable. */
  settling: (Waiting & { readonly revision: number })[];
  /** The newest revision, signed, of each key that has a write queued or under way. */
  readonly pending: Map<string, number>;
  /** Who waits until nothing is queued or under way. */
  draining: (() => void)[] | undefined;
  scheduled: boolean;
  flying: boolean;
  failure: StorageError | undefined;
}

// One transaction of the engine holds its dirty pages in memory.
const batchWrites = 4096;
const batchBytes = 32 * 1024 * 1024;

/**
 * Group commit: at most one commit is under way, and all that is proposed meanwhile goes into the next one.
 * A commit that fails is the end of writing: its outcome on disk is unknown, and revisions after it may already be promised,
 * so everything queued and everything later is refused with the same StorageError, and no gap can arise.
 */
export function createCommitQueue(log: RevisionLog, hooks: CommitHooks): CommitQueue {
  const state: QueueState = {
    header: log.header,
    assigned: log.header.last,
    queued: [],
    upkeep: undefined,
    settling: [],
    pending: new Map(),
    draining: undefined,
    scheduled: false,
    flying: false,
    failure: undefined,
  };
  const schedule = createPump({ log, hooks, state });

  const assertWritable = (): void => {
    if (state.failure !== undefined) throw state.failure;
    if (state.draining !== undefined) throw new StorageError("closed", `the store in ${log.place} is closed`);
  };

  return {
    write(draft) {
      assertWritable();
      state.assigned += 1;
      const event: StoreEvent = { ...draft, revision: state.assigned };
      state.pending.set(event.key, signed(event));
      return new Promise((resolve, reject) => {
        state.queued.push({ event, resolve, reject });
        schedule();
      });
    },

    pending: (key) => state.pending.get(key) ?? 0,

    settled(revision) {
      if (state.failure !== undefined) return Promise.reject(state.failure);
      if (revision <= state.header.last) return Promise.resolve();
      return new Promise((resolve, reject) => {
        state.settling.push({ revision, resolve: () => resolve(), reject });
      });
    },

    upkeep(step) {
      assertWritable();
      return new Promise((resolve, reject) => {
        state.upkeep = { ...step, resolve: () => resolve(), reject };
        schedule();
      });
    },

    last: () => state.header.last,
    failure: () => state.failure,

    drain() {
      const waiting = (state.draining ??= []);
      return new Promise((resolve) => {
        waiting.push(resolve);
        schedule();
      });
    },
  };
}

/** What moves queued writes into commits; the returned function says that there is something to move. */
function createPump(options: {
  readonly log: RevisionLog;
  readonly hooks: CommitHooks;
  readonly state: QueueState;
}): () => void {
  const { log, hooks, state } = options;

  // Writers that were just acknowledged run before a microtask queued after them, and join the batch.
  const schedule = (): void => {
    if (state.scheduled || state.flying) return;
    state.scheduled = true;
    queueMicrotask(() => {
      state.scheduled = false;
      flush();
    });
  };

  const flush = (): void => {
    const step = state.upkeep;
    if (state.queued.length === 0 && step === undefined) {
      for (const resolve of state.draining?.splice(0) ?? []) resolve();
      return;
    }
    const writes = state.queued.splice(0, batchSize(state.queued));
    const change = changeOf(state.header, writes, step);
    state.upkeep = undefined;
    state.flying = true;
    const deciding: readonly Waiting[] = step === undefined ? writes : [...writes, step];
    log.commit(change).then(
      () => succeed(change, deciding),
      (cause: unknown) => fail(cause, deciding),
    );
  };

  const succeed = (change: LogChange, deciding: readonly Waiting[]): void => {
    const { last } = change.header;
    state.header = change.header;
    state.flying = false;
    for (const event of change.append) {
      if (state.pending.get(event.key) === signed(event)) state.pending.delete(event.key);
    }
    hooks.applied(change.append, last);
    for (const [index, waiting] of deciding.entries()) waiting.resolve(change.append[index]?.revision ?? last);
    const { settling } = state;
    if (settling.length > 0) {
      state.settling = settling.filter(({ revision }) => revision > last);
      for (const waiting of settling) if (waiting.revision <= last) waiting.resolve(last);
    }
    schedule();
  };

  const fail = (cause: unknown, deciding: readonly Waiting[]): void => {
    const failure = writeFailure(log, state.header, cause);
    state.failure = failure;
    state.flying = false;
    state.pending.clear();
    hooks.failed(failure);
    const refused: Waiting[] = [...deciding, ...state.queued, ...state.settling];
    if (state.upkeep !== undefined) refused.push(state.upkeep);
    state.queued = [];
    state.settling = [];
    state.upkeep = undefined;
    for (const waiting of refused) waiting.reject(failure);
    schedule();
  };

  return schedule;
}

function signed(event: StoreEvent): number {
  return event.type === "put" ? event.revision : -event.revision;
}

function batchSize(queued: readonly Write[]): number {
  let bytes = 0;
  for (const [index, { event }] of queued.entries()) {
    if (index === batchWrites || bytes > batchBytes) return index;
    bytes += event.type === "put" ? event.value.length : 0;
  }
  return queued.length;
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

function writeFailure(log: RevisionLog, header: LogHeader, cause: unknown): StorageError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StorageError(
    "unreachable",
    `the store in ${log.place} could not be written after revision ${header.last} (${reason}), ` +
      "and takes no more writes; see to the disk and start again",
    { cause },
  );
}
