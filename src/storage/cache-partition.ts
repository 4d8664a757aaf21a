import { createSortedKeys } from "./sorted-keys.ts";
import type { Entry } from "./stored-object.ts";
import type { WindowBudget } from "./window-budget.ts";

/** One change as watchers see it, before selectors. For a delete, `entry` is the last state under the revision of the deletion. */
export interface CacheEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly revision: number;
  readonly entry: Entry;
  readonly previous: Entry | undefined;
  /** Encoded forms that all watchers share, filled in by the first sender. */
  frames: Map<string, Buffer> | undefined;
}

export interface SubscribeOptions {
  readonly fromRevision: number;
  /** Only changes of this one key; the watcher is then not woken by others. */
  readonly key?: string;
  /** Called when there may be something to take; calls within one turn of the event loop are merged into one. */
  readonly wake: () => void;
}

/**
 * A reader's position in the history of a partition. It keeps no events of its own, so a slow reader costs nothing but its position; a reader
 * of one key costs nothing for changes of others either.
 */
export interface Subscription {
  /** The next events, at most `max`; `expired` once the reader is behind the window. */
  take(max: number): readonly CacheEvent[] | "expired";
  close(): void;
}

/** The objects of one resource with a window of their recent changes. */
export interface Partition {
  get(key: string): Entry | undefined;
  /** The present objects, in the order of their keys, at most `max`. */
  list(prefix: string, after?: string, max?: number): readonly Entry[];
  count(prefix: string, after?: string): number;
  lastChange(): number;
  load(entry: Entry): void;
  /** Applies a change and wakes readers; returns it, or undefined where there was nothing to apply. */
  apply(event: CacheEvent | undefined): CacheEvent | undefined;
  subscribe(prefix: string, options: SubscribeOptions): Subscription | "expired";
}

interface Reader {
  readonly prefix: string;
  readonly wake: () => void;
  /** Called with the position of each change, for a reader of one key. */
  readonly note?: (place: number) => void;
}

/** For how many of the newest events derived data is kept: frames, and the parsed objects of past states. */
const sharedEvents = 256;

/** How many readers are woken before the event loop gets a turn, so that a thousand watches do not delay requests. */
const wakesPerTurn = 64;

export interface WindowOptions {
  /** The revision from which on the window is complete. */
  readonly start: number;
  readonly windowEvents: number;
  /** The budget that the windows of all partitions share. */
  readonly budget: WindowBudget;
}

export function cachePartition(options: WindowOptions): Partition {
  const entries = new Map<string, Entry>();
  const inOrder = createSortedKeys<Entry>();
  const window = eventWindow(options);
  const byKey = new Map<string, Set<Reader>>();
  const byPrefix = new Set<Reader>();
  const waking = wakeQueue();

  const put = (entry: Entry): void => {
    const isKnown = entries.has(entry.key);
    entries.set(entry.key, entry);
    if (isKnown) inOrder.replace(entry);
    else inOrder.add(entry);
  };
  const remove = (key: string): void => {
    if (entries.delete(key)) inOrder.remove(key);
  };
  const wakeReaders = (key: string, place: number): void => {
    for (const reader of byKey.get(key) ?? []) {
      reader.note?.(place);
      waking.add(reader);
    }
    for (const reader of byPrefix) if (key.startsWith(reader.prefix)) waking.add(reader);
  };

  return {
    get: (key) => entries.get(key),
    list: (prefix, after, max = Infinity) => inOrder.range(startOf(prefix, after), endOf(prefix), max),
    count: (prefix, after) => inOrder.countBelow(endOf(prefix)) - inOrder.countBelow(startOf(prefix, after)),
    lastChange: window.lastChange,
    load: put,
    apply: (event) => {
      if (event === undefined) return undefined;
      if (event.type === "DELETED") remove(event.entry.key);
      else put(event.entry);
      wakeReaders(event.entry.key, window.push(event));
      return event;
    },
    subscribe: (prefix, { fromRevision, key, wake }) => {
      const first = window.after(fromRevision);
      if (first === undefined) return "expired";
      const taking = key === undefined ? takingAll(window, first) : takingKey(window, { first, key });
      const reader: Reader = { prefix, wake, note: taking.note };
      if (key === undefined) byPrefix.add(reader);
      else byKey.set(key, (byKey.get(key) ?? new Set()).add(reader));
      return {
        take: taking.take,
        close: () => {
          waking.delete(reader);
          byPrefix.delete(reader);
          if (key === undefined) return;
          const readers = byKey.get(key);
          readers?.delete(reader);
          if (readers?.size === 0) byKey.delete(key);
        },
      };
    },
  };
}

interface Taking extends Pick<Subscription, "take"> {
  readonly note: (place: number) => void;
}

function takingAll(window: EventWindow, first: number): Taking {
  let cursor = first;
  return {
    note: () => undefined,
    take: (max) => {
      const taken = window.slice(cursor, max);
      if (taken !== "expired") cursor += taken.length;
      return taken;
    },
  };
}

/** Reads at the positions of its own changes only: otherwise ten thousand readers of one key each would all read every change. */
function takingKey(window: EventWindow, { first, key }: { readonly first: number; readonly key: string }): Taking {
  const before = window.slice(first, Number.POSITIVE_INFINITY);
  let places = before === "expired" ? [] : before.flatMap(({ entry }, at) => (entry.key === key ? [first + at] : []));
  let expired = before === "expired";
  return {
    note: (place) => {
      // The oldest positions have left the window by then and are not needed.
      if (window.at(places[0] ?? place) === undefined) [expired, places] = [true, []];
      if (!expired) places.push(place);
    },
    take: (max) => {
      const taken = places.slice(0, max).map((place) => window.at(place));
      if (expired || taken.includes(undefined)) return "expired";
      places = places.slice(taken.length);
      return taken.filter((event) => event !== undefined);
    },
  };
}

interface EventWindow {
  /** Returns the position of the event. */
  push(event: CacheEvent): number;
  /** The event at a position, or undefined where it was dropped. */
  at(place: number): CacheEvent | undefined;
  /** The position of the first event above `revision`; undefined when events above it were dropped. */
  after(revision: number): number | undefined;
  slice(from: number, max: number): readonly CacheEvent[] | "expired";
  lastChange(): number;
}

/** Events in order, each with a position that never changes; the oldest are dropped by count and by the budget that all windows share. */
function eventWindow(options: WindowOptions): EventWindow {
  let events: (CacheEvent | undefined)[] = [];
  /** Index into `events` of the oldest kept one; the empty slots before it are removed in blocks. */
  let head = 0;
  let firstPlace = 0;
  let droppedRevision = options.start;
  let last = 0;

  const drop = (): void => {
    const oldest = events[head] as CacheEvent;
    share.release(oldest.entry.json.length);
    droppedRevision = oldest.revision;
    // A slot that is not removed yet must not keep its texts.
    events[head] = undefined;
    head += 1;
    firstPlace += 1;
    if (head < 1024) return;
    events = events.slice(head);
    head = 0;
  };
  const share = options.budget.join({ isDroppable: () => events.length - head > 1, drop });

  return {
    push: (event) => {
      const place = firstPlace + events.length - head;
      events.push(event);
      last = event.revision;
      // A fast watch has sent it by now; a slow one encodes and parses it again.
      const settled = events[events.length - 1 - sharedEvents];
      if (settled !== undefined) forgetMade(settled);
      if (events.length - head > options.windowEvents) drop();
      share.spend(event.entry.json.length);
      return place;
    },
    at: (place) => (place < firstPlace ? undefined : events[head + place - firstPlace]),
    after: (revision) => {
      if (revision < droppedRevision) return undefined;
      let [low, high] = [head, events.length];
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((events[middle] as CacheEvent).revision > revision) high = middle;
        else low = middle + 1;
      }
      return firstPlace + (low - head);
    },
    slice: (from, max) => {
      if (from < firstPlace) return "expired";
      const at = head + (from - firstPlace);
      return events.slice(at, at + max) as CacheEvent[];
    },
    lastChange: () => last,
  };
}

/** The present state of an object is parsed for all who read it; a past one, only for watches that are behind. */
function forgetMade(event: CacheEvent): void {
  event.frames = undefined;
  if (event.previous !== undefined) event.previous.parsed = undefined;
  if (event.type === "DELETED") event.entry.parsed = undefined;
}

interface WakeQueue {
  add(reader: Reader): void;
  delete(reader: Reader): void;
}

function wakeQueue(): WakeQueue {
  const waiting = new Set<Reader>();
  let scheduled = false;
  const run = (): void => {
    let left = wakesPerTurn;
    for (const reader of waiting) {
      waiting.delete(reader);
      reader.wake();
      left -= 1;
      if (left === 0) break;
    }
    scheduled = waiting.size > 0;
    if (scheduled) setImmediate(run);
  };
  return {
    add: (reader) => {
      waiting.add(reader);
      if (scheduled) return;
      scheduled = true;
      setImmediate(run);
    },
    delete: (reader) => waiting.delete(reader),
  };
}

/** The key next to `after`, or the first under the prefix. */
function startOf(prefix: string, after: string | undefined): string {
  return after === undefined ? prefix : `${after}\u0000`;
}

/** Behind every key under the prefix. */
function endOf(prefix: string): string {
  return `${prefix}\uffff`;
}
