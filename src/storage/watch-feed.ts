import { setImmediate as nextTurn } from "node:timers/promises";
import { StorageError, type StoreEvent, type WatchBatch } from "./store.ts";

/** What a feed reads from its store: committed state only, nothing pending. */
export interface FeedSource {
  last(): number;
  compacted(): number;
  /** The key of a revision above the compacted one, without its record being read. */
  keyOf(revision: number): string | undefined;
  read(revision: number): StoreEvent;
  /** The error after which nothing is ever committed again; undefined without one. */
  failure(): StorageError | undefined;
}

/** Delivers commits to watchers. */
export interface WatchFeed {
  watch(
    prefix: string,
    options: { readonly fromRevision: number; readonly signal: AbortSignal },
  ): AsyncIterable<WatchBatch>;
  /** Resolves the waiting watchers synchronously. The source already returns these events. */
  publish(events: readonly StoreEvent[], revision: number): void;
  /** Ends every waiting watcher; the others end when they have read all commits. */
  fail(failure: StorageError): void;
}

type Result = IteratorResult<WatchBatch, undefined>;

/** One iteration of a watch. */
interface Watcher {
  readonly prefix: string;
  /** The newest revision that was delivered or skipped. */
  cursor: number;
  ended: boolean;
  /** The consumer, while it waits for a batch. */
  awaited: { readonly resolve: (result: Result) => void; readonly reject: (error: unknown) => void } | undefined;
  /** Whether the last batch came from the log. */
  behind: boolean;
  /** Stops listening to the signal. */
  detach: () => void;
}

const done: Result = { done: true, value: undefined };

// The most events of one batch, and the most revisions skipped, before the event loop gets a turn.
const replayEvents = 500;
const replayBytes = 4 * 1024 * 1024;
const replayRevisions = 10_000;

/**
 * A waiting watcher receives the events of a commit directly. A busy one receives nothing, and reads the missed events
 * from the log at its next call: nothing is ever buffered, however slow it is.
 */
export function createWatchFeed(source: FeedSource): WatchFeed {
  const waiting = new Set<Watcher>();

  return {
    watch(prefix, { fromRevision, signal }) {
      return {
        [Symbol.asyncIterator]: () =>
          iterate(
            { prefix, cursor: fromRevision, ended: false, awaited: undefined, behind: false, detach: () => undefined },
            { source, waiting, signal },
          ),
      };
    },

    publish(events, revision) {
      for (const watcher of waiting) {
        const matching = select(events, watcher);
        watcher.cursor = Math.max(watcher.cursor, revision);
        if (matching.length === 0) continue;
        waiting.delete(watcher);
        settle(watcher, { done: false, value: { revision, events: matching } });
      }
    },

    fail(failure) {
      for (const watcher of waiting) reject(watcher, failure);
      waiting.clear();
    },
  };
}

function iterate(
  watcher: Watcher,
  context: { readonly source: FeedSource; readonly waiting: Set<Watcher>; readonly signal: AbortSignal },
): AsyncIterator<WatchBatch, undefined> {
  const { source, waiting, signal } = context;
  const end = (): void => {
    waiting.delete(watcher);
    watcher.ended = true;
    watcher.detach();
    settle(watcher, done);
  };
  watcher.ended = signal.aborted;
  signal.addEventListener("abort", end);
  watcher.detach = () => signal.removeEventListener("abort", end);

  const advance = (): void => {
    if (watcher.ended) return settle(watcher, done);
    if (watcher.cursor < source.last()) return void replay();
    watcher.behind = false;
    const failure = source.failure();
    if (failure === undefined) waiting.add(watcher);
    else reject(watcher, failure);
  };

  const replay = async (): Promise<void> => {
    try {
      // Other work gets a turn between two slices, whatever the consumer does.
      if (watcher.behind) await nextTurn();
      watcher.behind = true;
      if (watcher.ended) return;
      const batch = replaySlice(source, watcher);
      watcher.cursor = batch.revision;
      if (batch.events.length > 0) settle(watcher, { done: false, value: batch });
      else advance();
    } catch (error) {
      reject(watcher, error);
    }
  };

  return {
    // The consumer's promise is created here and resolved directly, without the further microtasks of an async function:
    // so the consumer has the events of a commit before the writer continues.
    next: () =>
      new Promise((resolve, rejectNext) => {
        if (watcher.awaited !== undefined) throw new TypeError("the last batch of this watch is still awaited");
        watcher.awaited = { resolve, reject: rejectNext };
        advance();
      }),
    return() {
      end();
      return Promise.resolve(done);
    },
  };
}

function settle(watcher: Watcher, result: Result): void {
  const { awaited } = watcher;
  watcher.awaited = undefined;
  awaited?.resolve(result);
}

function reject(watcher: Watcher, error: unknown): void {
  const { awaited } = watcher;
  watcher.awaited = undefined;
  watcher.ended = true;
  watcher.detach();
  awaited?.reject(error);
}

function select(events: readonly StoreEvent[], { prefix, cursor }: Watcher): readonly StoreEvent[] {
  const matches = (event: StoreEvent): boolean => event.revision > cursor && event.key.startsWith(prefix);
  return events.every(matches) ? events : events.filter(matches);
}

function replaySlice(source: FeedSource, { prefix, cursor }: Watcher): WatchBatch {
  const compacted = source.compacted();
  if (cursor < compacted) {
    throw new StorageError("compacted", `revision ${cursor} is compacted; history begins at ${compacted}`);
  }
  const last = Math.min(source.last(), cursor + replayRevisions);
  const events: StoreEvent[] = [];
  let bytes = 0;
  let revision = cursor;
  while (revision < last && events.length < replayEvents && bytes < replayBytes) {
    revision += 1;
    if (source.keyOf(revision)?.startsWith(prefix) !== true) continue;
    const event = source.read(revision);
    events.push(event);
    bytes += event.type === "put" ? event.value.length : 0;
  }
  return { revision, events };
}
