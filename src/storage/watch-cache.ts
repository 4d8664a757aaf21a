import { entryAt, entryOf, type Entry } from "./stored-object.ts";
import {
  cachePartition,
  type CacheEvent,
  type Partition,
  type Subscription,
  type SubscribeOptions,
} from "./cache-partition.ts";
import { StorageError, type Store, type StoreEvent, type WatchBatch } from "./store.ts";
import { windowBudget } from "./window-budget.ts";

export type { CacheEvent, Subscription } from "./cache-partition.ts";

/**
 * The current state and recent history of everything under one prefix, in memory, fed by the store's watch and nothing else.
 * It serves get, list and watch; a second process on the same store has its own cache.
 */
export interface WatchCache {
  get(key: string): Entry | undefined;
  /** Entries under `prefix` in key order, after the key `after` when given. `prefix` begins with a whole partition. */
  list(prefix: string, after?: string, max?: number): readonly Entry[];
  /** How many objects lie under `prefix`, after the key `after` when given. */
  count(prefix: string, after?: string): number;
  /** The newest revision whose changes are all in the cache. */
  revision(): number;
  /** The revision of the last change under the partition of `prefix`, 0 if there was none since the start. */
  lastChange(prefix: string): number;
  /** Resolves once the cache contains `revision`. @throws StorageError timeout after `timeoutMs`, closed. */
  waitFor(revision: number, timeoutMs?: number): Promise<void>;
  /** Events after `fromRevision`, to be taken at the reader's own pace; `expired` when that history is dropped. */
  subscribe(prefix: string, options: SubscribeOptions): Subscription | "expired";
  /** Calls `observer` with each change under `prefix` as it is applied, before the write is acknowledged; first with the present state. */
  observe(prefix: string, observer: (event: CacheEvent) => void): void;
  /** Rejects when the feed breaks; resolves when the cache is closed. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

export interface WatchCacheOptions {
  readonly store: Store;
  /** Everything under it is cached, e.g. `/registry/`. */
  readonly prefix: string;
  /** How many past events each partition keeps for watches to resume from, default 8192. */
  readonly windowEvents?: number;
  /** How many characters of past events all partitions keep together, default 8 Mi. */
  readonly maxWindowCharacters?: number;
}

/** How many values are read from the store at once: each may have 3 MiB. */
const pageValues = 16;

/** Lists the store once and then follows it. Ready to serve when it resolves. */
export async function openWatchCache(options: WatchCacheOptions): Promise<WatchCache> {
  const { store, prefix, windowEvents = 8192, maxWindowCharacters = 8 << 20 } = options;
  const partitions = new Map<string, Partition>();
  const observers = new Map<string, ((event: CacheEvent) => void)[]>();
  const budget = windowBudget(maxWindowCharacters);
  const abort = new AbortController();
  const waiters = revisionWaiters(abort.signal);

  const start = await startRevision(store, windowEvents);
  let current = start;

  const partitionOf = (key: string): Partition => {
    const name = partitionName(key);
    let partition = partitions.get(name);
    if (partition === undefined) {
      partition = cachePartition({ start, windowEvents, budget });
      partitions.set(name, partition);
    }
    return partition;
  };
  const apply = (event: StoreEvent): void => {
    const cached = partitionOf(event.key).apply(toCacheEvent(event, partitionOf(event.key).get(event.key)));
    if (cached !== undefined) for (const observer of observers.get(partitionName(event.key)) ?? []) observer(cached);
  };
  const advance = (batch: WatchBatch): void => {
    for (const event of batch.events) apply(event);
    current = batch.revision;
    waiters.reached(current);
  };

  await load(options, start, (entry) => partitionOf(entry.key).load(entry));
  const ended = (async () => {
    try {
      for await (const batch of store.watch(prefix, { fromRevision: start, signal: abort.signal })) advance(batch);
    } finally {
      waiters.close();
    }
  })();
  ended.catch(() => undefined);

  const cache: WatchCache = {
    get: (key) => partitions.get(partitionName(key))?.get(key),
    list: (under, after, max) => partitionOf(under).list(under, after, max),
    count: (under, after) => partitionOf(under).count(under, after),
    revision: () => current,
    lastChange: (under) => partitionOf(under).lastChange(),
    waitFor: (revision, timeoutMs = 3000) =>
      revision <= current ? Promise.resolve() : waiters.wait(revision, timeoutMs),
    subscribe: (under, subscription) => partitionOf(under).subscribe(under, subscription),
    observe: (under, observer) => {
      const name = partitionName(under);
      observers.set(name, [...(observers.get(name) ?? []), observer]);
      for (const entry of partitionOf(under).list(under)) observer(addedEvent(entry));
    },
    ended,
    close: async () => {
      abort.abort();
      await ended.catch(() => undefined);
    },
  };
  await cache.waitFor(await store.currentRevision(), 60_000);
  return cache;
}

/** Reads the state at `revision`, a page at a time, so that one page is garbage before the next is read. */
async function load(
  { store, prefix }: WatchCacheOptions,
  revision: number,
  add: (entry: Entry) => void,
): Promise<void> {
  for (let after: string | undefined, more = true; more;) {
    const page = await store.list(prefix, { revision, limit: pageValues, ...(after === undefined ? {} : { after }) });
    for (const { key, value, revision: written } of page.values) add(entryOf(key, value, written));
    ({ more } = page);
    after = page.values.at(-1)?.key;
  }
}

/** A little history is replayed at the start, so that clients can resume their watches over a restart of the hub. */
async function startRevision(store: Store, windowEvents: number): Promise<number> {
  const [newest, compacted] = [await store.currentRevision(), await store.compactedRevision()];
  return Math.max(compacted, newest - windowEvents, 0);
}

function addedEvent(entry: Entry): CacheEvent {
  return { type: "ADDED", revision: entry.revision, entry, previous: undefined, frames: undefined };
}

function toCacheEvent(event: StoreEvent, previous: Entry | undefined): CacheEvent | undefined {
  const { revision } = event;
  if (event.type === "put") {
    const type = previous === undefined ? "ADDED" : "MODIFIED";
    return { type, revision, entry: entryOf(event.key, event.value, revision), previous, frames: undefined };
  }
  if (previous === undefined) return undefined;
  return { type: "DELETED", revision, entry: entryAt(previous, revision), previous, frames: undefined };
}

/** The callers that wait until the cache contains a revision; all are rejected after `signal`. */
function revisionWaiters(signal: AbortSignal) {
  const waiting = new Set<{ readonly revision: number; readonly settle: (error?: StorageError) => void }>();
  const closed = (): StorageError => new StorageError("closed", "the watch cache is closed");
  return {
    reached: (revision: number): void => {
      for (const waiter of waiting) if (waiter.revision <= revision) waiter.settle();
    },
    close: (): void => {
      for (const waiter of waiting) waiter.settle(closed());
    },
    wait: (revision: number, timeoutMs: number): Promise<void> => {
      if (signal.aborted) return Promise.reject(closed());
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          const message = `the watch cache did not reach revision ${revision} in ${timeoutMs} ms`;
          waiter.settle(new StorageError("timeout", message));
        }, timeoutMs).unref();
        const waiter = {
          revision,
          settle: (error?: StorageError): void => {
            clearTimeout(timer);
            waiting.delete(waiter);
            if (error === undefined) resolve();
            else reject(error);
          },
        };
        waiting.add(waiter);
      });
    },
  };
}

/** `/registry/<group>/<plural>/`: the first three segments. */
function partitionName(key: string): string {
  const group = key.indexOf("/", 1);
  const plural = key.indexOf("/", group + 1);
  return key.slice(0, key.indexOf("/", plural + 1) + 1);
}
