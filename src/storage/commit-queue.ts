import {
  sizeOf,
  waitingFor,
  type Batch,
  type Upkeep,
  acknowledge,
  fail,
  newQueueState,
  nextBatch,
  refuse,
  signed,
  type CommitHooks,
  type QueueParts,
  refusedFor,
  undecidedWrite,
  unwrittenWrite,
} from "./commit-queue-state.ts";
import type { LogHeader, RevisionLog } from "./revision-log.ts";
import { isOutOfRoom, StorageError, type StoreEvent, type CommitTimes } from "./store.ts";

/** A write without its revision, which the queue assigns. */
export type Draft = (
  | { readonly type: "put"; readonly key: string; readonly value: Uint8Array; readonly created: boolean }
  | { readonly type: "delete"; readonly key: string }
) & {
  /** Whether it may use the reserve. */
  readonly mayUseReserve: boolean;
};

/** Writes in their order, grouped into one durable commit after another. */
export interface CommitQueue {
  /**
   * Assigns the next revision to a checked write, and resolves with it once it is durable and applied.
   * @throws StorageError full, quota, unwritten: not stored. unknown: it may be stored, which is established later. closed, corrupt.
   */
  write(draft: Draft): Promise<number>;
  /** The newest write of `key` that is not durable yet, as a signed revision (negative: a deletion); 0 when there is none. */
  pending(key: string): number;
  /** Resolves when `revision` is durable and applied, after the write itself resolved. */
  settled(revision: number): Promise<void>;
  /** Resolves when the step is durable. The caller awaits each before the next; after a rejection, `header` shows whether it is stored. */
  upkeep(step: Upkeep): Promise<void>;
  /** The newest revision that is durable and applied. */
  last(): number;
  /** The header of that revision. */
  header(): LogHeader;
  /** Why writes are refused until `recover` succeeds; undefined while they are accepted. */
  refusal(): StorageError | undefined;
  /** The error that made every later write impossible; undefined without one. */
  failure(): StorageError | undefined;
  /** How long commits took until they were durable. */
  commits(): CommitTimes;
  /** Tries to accept writes again. Resolves after the attempt; never rejects. */
  recover(): Promise<void>;
  /** Refuses later writes, and resolves when all earlier ones have been decided. */
  drain(): Promise<void>;
}

/** Reserved for deletions, compaction, leases and revocations where all other writes are refused. */
const reserveBytes = 2 * 1024 * 1024;
/**
 * What must be free beyond that and the largest refused write before all writes are accepted again. Little: on a small disk, or where
 * objects are few and large, deleting most of them may free no more.
 */
const marginBytes = 256 * 1024;
const nothing = { append: [], remove: [] } as const;

/**
 * Group commit: at most one commit is under way, and all that is proposed meanwhile goes into the next one.
 *
 * The outcome of a failed commit is established: the durable header is read again, and either the whole batch is stored, so its writers
 * succeed, or nothing of it, so they and all writes queued behind them are rejected and its revisions are reused. While that
 * cannot be established, nothing is written. Either way writes are refused until `recover` finds that the log accepts them.
 */
export function createCommitQueue(log: RevisionLog, hooks: CommitHooks): CommitQueue {
  const state = newQueueState(log.header);
  const pump = createPump({ log, hooks, state });

  const assertWritable = (mayUseReserve: boolean): void => {
    if (state.failure !== undefined) throw state.failure;
    if (state.draining !== undefined) throw new StorageError("closed", `the store in ${log.place} is closed`);
    const { refusal } = state;
    if (refusal !== undefined && !(mayUseReserve && isOutOfRoom(refusal))) throw refusedFor(refusal);
  };

  return {
    write({ mayUseReserve, ...draft }) {
      assertWritable(mayUseReserve);
      state.assigned += 1;
      const event: StoreEvent = { ...draft, revision: state.assigned };
      state.pending.set(event.key, signed(event));
      return new Promise((resolve, reject) => {
        state.queued.push({ event, mayUseReserve, resolve, reject });
        pump.schedule();
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
      assertWritable(true);
      return new Promise((resolve, reject) => {
        state.upkeep = { ...step, resolve: () => resolve(), reject };
        pump.schedule();
      });
    },

    last: () => state.header.last,
    header: () => state.header,
    refusal: () => state.failure ?? state.refusal,
    failure: () => state.failure,
    commits: pump.commits,
    recover: pump.recover,

    drain() {
      const waiting = (state.draining ??= []);
      return new Promise((resolve) => {
        waiting.push(resolve);
        pump.schedule();
      });
    },
  };
}

interface Pump {
  /** Schedules the queued writes and steps for a commit. */
  readonly schedule: () => void;
  readonly recover: () => Promise<void>;
  readonly commits: () => CommitTimes;
}

function createPump(parts: QueueParts): Pump {
  const { log, state } = parts;
  const times = commitTimes();

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
    // A recovery that began meanwhile schedules again when it ends.
    if (state.flying) return;
    const batch = nextBatch(state);
    if (batch === undefined) {
      for (const resolve of state.draining?.splice(0) ?? []) resolve();
      return;
    }
    state.flying = true;
    if (log.hasRoom(batch.change, reserveBytes)) return commit(batch);
    log.makeRoom(batch.change, reserveBytes).then(
      () => commit(batch),
      (error: unknown) => {
        if (withoutRoom(parts, batch, error as StorageError)) return commit(batch);
        state.flying = false;
        schedule();
      },
    );
  };

  const commit = (batch: Batch): void => {
    const begun = performance.now();
    log.commit(batch.change).then(
      () => {
        times.observe(performance.now() - begun);
        acknowledge(parts, batch);
        schedule();
      },
      (cause: unknown) => establish(batch, cause),
    );
  };

  const establish = (batch: Batch, cause: unknown): void => {
    log.establish().then(
      (found) => {
        decide(parts, batch, { found, cause });
        state.flying = false;
        schedule();
      },
      (error: unknown) => {
        state.undecided = batch.change;
        state.refusal = undecidedWrite(log, state.header, error);
        for (const { reject } of waitingFor(batch)) reject(state.refusal);
        refuse(state, [], refusedFor(state.refusal));
        state.flying = false;
        schedule();
      },
    );
  };

  return { schedule, recover: () => recover(parts, schedule), commits: times.read };
}

/**
 * Returns whether a batch without room can be committed from the reserve, and rejects it where it cannot. A step of a compaction waits for
 * its turn after the rejected writes.
 */
function withoutRoom({ log, state }: QueueParts, batch: Batch, refusal: StorageError): boolean {
  state.refusal = refusal;
  if (batch.writes.every(({ mayUseReserve }) => mayUseReserve) && log.hasRoom(batch.change, 0)) return true;
  state.lackingBytes = batch.writes.reduce((largest, { event }) => Math.max(largest, sizeOf(event)), 0);
  if (batch.writes.length > 0) state.upkeep ??= batch.step;
  else batch.step?.reject(refusal);
  refuse(state, batch.writes, refusal);
  return false;
}

/** Acknowledges or rejects a batch whose commit failed with `cause`, by the header that was `found`. */
function decide(
  parts: QueueParts,
  batch: Batch,
  { found, cause }: { readonly found: LogHeader; readonly cause: unknown },
): void {
  const { log, state } = parts;
  const refusal = unwrittenWrite(log, state.header, cause);
  if (sameHeader(found, batch.change.header)) {
    state.refusal = refusal;
    acknowledge(parts, batch);
  } else if (sameHeader(found, state.header)) {
    state.refusal = refusal;
    batch.step?.reject(refusal);
    refuse(state, batch.writes, refusal);
  } else fail(parts, batch);
}

/** Establishes an undecided commit, and accepts writes again where there is room for them. */
async function recover(parts: QueueParts, schedule: () => void): Promise<void> {
  const { log, state } = parts;
  if (state.refusal === undefined || state.failure !== undefined || state.flying) return;
  state.flying = true;
  try {
    const { undecided } = state;
    if (undecided !== undefined) {
      const found = await log.establish();
      state.undecided = undefined;
      const batch: Batch = { change: undecided, writes: [], step: undefined };
      if (sameHeader(found, undecided.header)) acknowledge(parts, batch);
      else if (!sameHeader(found, state.header)) fail(parts, batch);
      state.flying = true;
    }
    const change = { ...nothing, header: state.header };
    // More than the reserve, so that the store is not full again at once.
    const wanted = reserveBytes + marginBytes + state.lackingBytes;
    if (!log.hasRoom(change, wanted)) await log.makeRoom(change, wanted);
    state.refusal = undefined;
    state.lackingBytes = 0;
  } catch (error) {
    if (state.undecided === undefined) state.refusal = error as StorageError;
    state.lackingBytes = Math.floor(state.lackingBytes / 2);
  } finally {
    state.flying = false;
    schedule();
  }
}

function sameHeader(a: LogHeader, b: LogHeader): boolean {
  return a.last === b.last && a.count === b.count && a.compacted === b.compacted && a.trimmed === b.trimmed;
}

/** The bounds of etcd's own histogram of its commits: 1 ms, doubled thirteen times. Source: etcd, backend_commit_duration_seconds. */
const bounds: readonly number[] = Array.from({ length: 14 }, (_, power) => 2 ** power / 1000);

/** Counts how long commits take. */
function commitTimes(): { readonly observe: (ms: number) => void; readonly read: () => CommitTimes } {
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
