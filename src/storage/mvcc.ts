import { setImmediate as nextTurn } from "node:timers/promises";
import type { Upkeep } from "./commit-queue-state.ts";
import { createCommitQueue, type CommitQueue, type Draft } from "./commit-queue.ts";
import { createKeyIndex, type KeyIndex, rebuildIndex } from "./key-index.ts";
import type { RevisionLog } from "./revision-log.ts";
import { isOutOfRoom, StorageError, type Store, type StoredValue, type StoreEvent } from "./store.ts";
import { createWatchFeed, type WatchFeed } from "./watch-feed.ts";

/** One store: a log of records, an index of their keys, and the writes between proposal and commit. */
interface Parts {
  readonly log: RevisionLog;
  readonly index: KeyIndex;
  readonly queue: CommitQueue;
  readonly feed: WatchFeed;
  /** Increases while the store is open; `trimmed` follows `compacted`. */
  readonly history: { compacted: number; trimmed: number; closed: boolean };
}

// Limits of one slice of work, so that the event loop is never blocked for more than a few milliseconds.
const pageKeys = 1000;
const pageBytes = 4 * 1024 * 1024;
// A step touches at most two pages of the tree for each of them, which the reserve of the commit queue has room for.
const trimRevisions = 200;

const maxKeyBytes = 4096;
const maxValueBytes = 16 * 1024 * 1024;

/**
 * The store's semantics, those of etcd, over a log. The log's records are read once, to rebuild the index of keys.
 * @throws StorageError corrupt when the log contradicts itself.
 */
export function openMvcc(log: RevisionLog): Store {
  const { compacted, trimmed } = log.header;
  const index = createKeyIndex(trimmed);
  rebuildIndex(log, index);
  const history = { compacted, trimmed, closed: false };

  const applied = (events: readonly StoreEvent[], revision: number): void => {
    for (const event of events) index.apply(event.key, event.type === "put" ? event.revision : -event.revision);
    feed.publish(events, revision);
  };
  const queue = createCommitQueue(log, { applied, failed: (failure) => feed.fail(failure) });
  const feed = createWatchFeed({
    last: () => queue.last(),
    compacted: () => history.compacted,
    keyOf: (revision) => index.keyOf(revision),
    read: (revision) => readRecord(log, revision),
    failure: () => (history.closed ? closedError(log) : queue.failure()),
  });
  const parts: Parts = { log, index, queue, feed, history };
  return {
    ...reads(parts),
    ...writes(parts),
    ...lifecycle(parts),
    watch: (prefix, options) => {
      checkRevision(options.fromRevision);
      return feed.watch(prefix, options);
    },
    condition: () => ({ refusal: queue.refusal(), commits: queue.commits() }),
    usage: () => log.usage(),
    recover: () => queue.recover(),
  };
}

function reads(parts: Parts): Pick<Store, "get" | "list" | "currentRevision" | "compactedRevision"> {
  const { log, index, queue, history } = parts;
  return {
    async get(key, options = {}) {
      const revision = revisionToRead(parts, options.revision);
      const put = index.at(key, revision);
      return { value: put === 0 ? undefined : readValue(log, put), revision };
    },

    async list(prefix, options = {}) {
      const { limit = Number.POSITIVE_INFINITY, after } = options;
      if (limit !== Number.POSITIVE_INFINITY && (!Number.isSafeInteger(limit) || limit < 1)) {
        throw new TypeError("limit is a positive whole number");
      }
      // Only a compaction that overtakes a long list of the newest revision restarts it.
      for (;;) {
        const revision = revisionToRead(parts, options.revision);
        const page = await collect(parts, { prefix, after, limit, revision });
        if (page !== undefined) return { ...page, revision };
      }
    },

    async currentRevision() {
      assertOpen(parts);
      return queue.last();
    },

    async compactedRevision() {
      assertOpen(parts);
      return history.compacted;
    },
  };
}

function writes(parts: Parts): Pick<Store, "create" | "update" | "delete"> {
  const { log } = parts;
  const isAt =
    (ifRevision: number): Fits =>
    (signed) =>
      signed > 0 && signed === ifRevision;
  const lost = (
    signed: number,
  ): { readonly kind: "conflict"; readonly current: StoredValue } | { readonly kind: "missing" } =>
    signed > 0 ? { kind: "conflict", current: readValue(log, signed) } : { kind: "missing" };

  return {
    async create(key, value, { mayUseReserve = false } = {}) {
      checkKey(key);
      checkValue(value);
      const draft = { type: "put", key, value, created: true, mayUseReserve } as const;
      const { revision, found } = await writeWhere(parts, draft, (signed) => signed <= 0);
      return revision === undefined
        ? { kind: "exists", current: readValue(log, found) }
        : { kind: "created", revision };
    },

    async update(key, value, { ifRevision, mayUseReserve = false }) {
      checkValue(value);
      const draft = { type: "put", key, value, created: false, mayUseReserve } as const;
      const { revision, found } = await writeWhere(parts, draft, isAt(ifRevision));
      return revision === undefined ? lost(found) : { kind: "updated", revision };
    },

    async delete(key, { ifRevision }) {
      const draft = { type: "delete", key, mayUseReserve: true } as const;
      const { revision, found } = await writeWhere(parts, draft, isAt(ifRevision));
      return revision === undefined ? lost(found) : { kind: "deleted", revision };
    },
  };
}

/** Whether a write may follow the newest revision of its key, signed; 0 where there is none. */
type Fits = (newest: number) => boolean;

/**
 * Writes where the newest revision of the key fits, be it durable or pending, and resolves with the new revision; otherwise with the one
 * that is there, once it is durable: the result of a pending write is never returned earlier.
 */
async function writeWhere(
  { index, queue }: Parts,
  draft: Draft,
  fits: Fits,
): Promise<
  { readonly revision: number; readonly found?: never } | { readonly revision?: never; readonly found: number }
> {
  const { key, mayUseReserve } = draft;
  // A write that may use the reserve may be rejected once with others of its batch that may not: it is checked again.
  let isRefusalFinal = !mayUseReserve;
  for (;;) {
    const found = queue.pending(key) || index.latest(key);
    if (!fits(found)) {
      if (Math.abs(found) <= queue.last()) return { found };
      await queue.settled(Math.abs(found));
      continue;
    }
    try {
      const copied = draft.type === "put" ? { ...draft, value: new Uint8Array(draft.value) } : draft;
      return { revision: await queue.write(copied) };
    } catch (error) {
      if (isRefusalFinal || !isOutOfRoom(error)) throw error;
      isRefusalFinal = true;
    }
  }
}

function lifecycle(parts: Parts): Pick<Store, "compact" | "close"> {
  const { log, index, queue, feed, history } = parts;
  let compaction: Promise<void> = Promise.resolve();
  let closing: Promise<void> | undefined;

  // A refused step is retried: the index no longer has the records that it removes.
  let refused: Upkeep | undefined;
  const take = async (step: Upkeep): Promise<void> => {
    refused = step;
    await queue.upkeep(step);
    refused = undefined;
  };
  const takeRefused = async (): Promise<void> => {
    if (refused === undefined) return;
    const { compacted, trimmed } = queue.header();
    if (compacted >= refused.compacted && trimmed >= refused.trimmed) refused = undefined;
    else await take(refused);
    history.compacted = queue.header().compacted;
  };

  const compactTo = async (target: number): Promise<void> => {
    await takeRefused();
    if (target > history.compacted) {
      // First the bound for readers, then the removal: a crash between the two leaves more records than needed, never fewer.
      await take({ compacted: target, trimmed: history.trimmed, remove: [] });
      history.compacted = target;
    }
    while (history.trimmed < history.compacted && !history.closed) {
      const through = Math.min(history.trimmed + trimRevisions, history.compacted);
      const remove = index.trim(through);
      history.trimmed = through;
      await take({ compacted: history.compacted, trimmed: through, remove });
      await nextTurn();
    }
  };

  const close = async (): Promise<void> => {
    await queue.drain();
    history.closed = true;
    feed.fail(closedError(log));
    await log.close();
  };

  return {
    async compact(revision) {
      assertOpen(parts);
      checkRevision(revision);
      if (revision > queue.last()) throw futureError(revision, queue.last());
      const turn = compaction.then(() => compactTo(revision));
      compaction = turn.catch(() => undefined);
      await turn;
    },

    close: () => (closing ??= close()),
  };
}

async function collect(
  parts: Parts,
  query: {
    readonly prefix: string;
    readonly after: string | undefined;
    readonly limit: number;
    readonly revision: number;
  },
): Promise<{ readonly values: readonly StoredValue[]; readonly more: boolean } | undefined> {
  const { log, index, history } = parts;
  const { prefix, limit, revision } = query;
  const values: StoredValue[] = [];
  let after = query.after;
  for (;;) {
    const budget = Math.min(pageKeys, limit - values.length + 1);
    const page = index.page({ prefix, after, revision, budget });
    after = page.resume;
    let bytes = 0;
    for (const { key, revision: put } of page.found) {
      if (values.length === limit) return { values, more: true };
      if (bytes > pageBytes) {
        after = values.at(-1)?.key;
        break;
      }
      const value = readValue(log, put);
      values.push(value);
      bytes += value.value.length;
      if (key !== value.key) throw contradiction(log, put);
    }
    if (after === undefined) return { values, more: false };
    await nextTurn();
    assertOpen(parts);
    if (history.compacted > revision) return undefined;
  }
}

function revisionToRead(parts: Parts, asked: number | undefined): number {
  assertOpen(parts);
  const last = parts.queue.last();
  if (asked === undefined) return last;
  checkRevision(asked);
  if (asked > last) throw futureError(asked, last);
  const { compacted } = parts.history;
  if (asked < compacted) {
    throw new StorageError("compacted", `revision ${asked} is compacted; history begins at ${compacted}`);
  }
  return asked;
}

function readValue(log: RevisionLog, revision: number): StoredValue {
  const event = readRecord(log, revision);
  if (event.type !== "put") throw contradiction(log, revision);
  return { key: event.key, value: event.value, revision };
}

function readRecord(log: RevisionLog, revision: number): StoreEvent {
  const event = log.read(revision);
  if (event === undefined) throw contradiction(log, revision);
  return event;
}

function contradiction(log: RevisionLog, revision: number): StorageError {
  return new StorageError(
    "corrupt",
    `the record of revision ${revision} in ${log.place} is not what it was when written`,
  );
}

function futureError(revision: number, last: number): StorageError {
  return new StorageError("future", `revision ${revision} is not there yet; the newest is ${last}`);
}

function closedError(log: RevisionLog): StorageError {
  return new StorageError("closed", `the store in ${log.place} is closed`);
}

function assertOpen({ history, log }: Parts): void {
  if (history.closed) throw closedError(log);
}

function checkRevision(revision: number): void {
  if (!Number.isSafeInteger(revision) || revision < 0) throw new TypeError("a revision is a whole number from 0");
}

// A lone surrogate has no UTF-8 form, so such a key would be read back as another one.
function checkKey(key: string): void {
  if (key === "" || /\p{Surrogate}/u.test(key) || Buffer.byteLength(key) > maxKeyBytes) {
    throw new TypeError(`a key is well-formed text of 1 to ${maxKeyBytes} bytes`);
  }
}

function checkValue(value: Uint8Array): void {
  if (value.length > maxValueBytes) throw new TypeError(`a value has at most ${maxValueBytes} bytes`);
}
