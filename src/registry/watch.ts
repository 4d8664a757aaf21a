import type { OnAbort } from "../apimachinery/abort-listeners.ts";
import { StatusError } from "../apimachinery/status.ts";
import type { Resource } from "../apis/resource.ts";
import { entryAt, type Entry } from "../storage/stored-object.ts";
import type { CacheEvent, Subscription } from "../storage/watch-cache.ts";
import { caughtUp, storageKey, storageNamespacePrefix, type Backend, tooOld, waitForVersion } from "./backend.ts";
import { type Turn, partsOf, type PartSize } from "./turns.ts";
import { seenChanges, type SeenChange, type SeenChanges, conversionFailed } from "./conversion.ts";
import type { Selection } from "./selection.ts";

/** Where a watch begins. `state` sends the existing objects as ADDED first, `marked` closes that part with an annotated bookmark. */
export interface WatchStart {
  /** Events after it; without `state` and 0 or absent, from now with the present state. */
  readonly revision: number | undefined;
  readonly state: "send" | "send-and-mark" | "skip";
}

export interface WatchRequest {
  readonly namespace: string;
  readonly selection: Selection;
  readonly start: WatchStart;
  /** Called when there may be something to take. */
  readonly wake: () => void;
  /** Waits until the next part of a large search may run; turns of the kind's own by default. */
  readonly turn?: Turn;
}

/** What ends a watch before its reader does. */
export interface WatchLife {
  /** Aborts when the kind is removed or changed; undefined for built-in kinds. */
  readonly ended: AbortSignal | undefined;
  readonly onAbort: OnAbort;
}

/** One item for a watcher. `event` is present where watchers of the same resource can share its encoded form. */
export type WatchItem =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly entry: Entry; readonly event: CacheEvent | undefined }
  | { readonly type: "BOOKMARK"; readonly revision: number; readonly initialEnd: boolean };

/** Why there are no more items; an error is that of a conversion webhook. */
export type WatchEnd = "expired" | "ended" | StatusError;

/** A running watch; it keeps a position in the history and nothing else. */
export interface WatchHandle {
  /** Up to `max` items, possibly none; `expired` once the reader was too slow, `ended` once the kind is removed. */
  take(max: number): readonly WatchItem[] | WatchEnd;
  /** The revision up to which everything has been taken, for bookmarks; undefined while the initial state is being sent. */
  revision(): number | undefined;
  close(): void;
}

/** Starts a watch. @throws StatusError Expired when the history from its start is compacted, Timeout when its start is ahead of the hub. */
export async function watch(
  backend: Backend,
  resource: Resource,
  { request, ended, onAbort }: WatchLife & { readonly request: WatchRequest },
): Promise<WatchHandle> {
  const { start, selection, wake } = request;
  if (start.state !== "skip" && (start.revision ?? 0) === 0) await caughtUp(backend);
  else if (start.state !== "skip") await waitForVersion(backend, start.revision ?? 0);
  const { subscription, ...place } = placeOf(backend, resource, request);
  const turn = request.turn ?? (() => backend.turns.next(place.prefix));
  const about = { backend, resource, start, selection, ...place, turn, wake };
  let initial = start.state === "skip" ? undefined : await initialItems(about).catch(closing(subscription));
  const changes = seenChanges(subscription, { versions: backend.versions, resource, wake });
  const history = historyItems(changes, { ...about, ended });
  const leave = ended === undefined ? undefined : onAbort(ended, wake);
  return {
    take: (max) => {
      const first = initial?.take(max) ?? "told";
      if (first !== "told") return first;
      // The initial state has been sent; a watch may last long, and must not keep it.
      initial = undefined;
      return history.take(max);
    },
    revision: () => (initial === undefined ? history.position() : undefined),
    close: () => {
      leave?.();
      subscription.close();
    },
  };
}

/** Releases the position in the history and throws the error that ended the watch before it began. */
function closing(subscription: Subscription): (error: unknown) => never {
  return (error) => {
    subscription.close();
    throw error;
  };
}

/** The position in the history from which a watch starts. @throws StatusError Expired */
function placeOf(
  { cache }: Backend,
  resource: Resource,
  { start, selection, namespace, wake }: WatchRequest,
): Pick<InitialOptions, "prefix" | "key" | "from"> & { readonly subscription: Subscription } {
  const prefix = storageNamespacePrefix(resource, namespace);
  const from = start.state === "skip" ? (start.revision ?? cache.revision()) : cache.revision();
  const isSingle = selection.name !== undefined && (resource.scope === "Cluster" || namespace !== "");
  const key = isSingle ? storageKey(resource, { namespace, name: selection.name ?? "" }) : undefined;
  const subscription = cache.subscribe(prefix, { fromRevision: from, wake, ...(key === undefined ? {} : { key }) });
  if (subscription === "expired") throw tooOld(from, cache.revision());
  return { prefix, from, key, subscription };
}

/** The resource, namespace and selection of a watch. */
export interface Scope {
  readonly prefix: string;
  readonly key: string | undefined;
  readonly selection: Selection;
}

/** The changes since the start. */
interface HistoryItems {
  take(max: number): readonly WatchItem[] | WatchEnd;
  /** The revision up to which everything has been taken. */
  position(): number;
}

/** The fixed cost of checking a change, in characters. */
const perChange = 512;

function historyItems(
  changes: SeenChanges,
  about: InitialOptions & { readonly ended: AbortSignal | undefined },
): HistoryItems {
  const { selection, from, turn, wake, ended } = about;
  const { cache } = about.backend;
  let position = from;

  const addItems = (seen: readonly SeenChange[], items: WatchItem[]): void => {
    for (const change of seen) {
      if (change.event.revision <= from) continue;
      position = change.event.revision;
      const item = itemFor(change, about);
      if (item !== undefined) items.push(item);
    }
  };
  /** Items of the next changes: `pending` where more is checked later, which ends with a call of `wake`. */
  const look = (max: number): { readonly items: WatchItem[]; readonly end: WatchEnd | "pending" | undefined } => {
    const items: WatchItem[] = [];
    for (let looked = 0; items.length < max;) {
      // A selection needs parsed objects, one change at a time.
      const seen = changes.take(selection.everything ? max : 1);
      if (typeof seen === "string" || !("length" in seen)) return { items, end: seen };
      if (seen.length === 0) break;
      addItems(seen, items);
      if (selection.everything) continue;
      looked += seen.reduce((sum, { entry }) => sum + perChange + entry.json.length, 0);
      if (looked < partSize.maxCharacters) continue;
      if (items.length === 0) void turn().then(wake);
      return { items, end: "pending" };
    }
    return { items, end: undefined };
  };
  return {
    position: () => position,
    take: (max) => {
      const { items, end } = look(max);
      // Items before the failure are returned first.
      if (items.length > 0 || end === "pending") return items;
      if (end !== undefined) return end;
      position = Math.max(position, cache.revision());
      return ended?.aborted === true ? "ended" : items;
    },
  };
}

function isWithin({ prefix, key }: Scope, entry: Entry): boolean {
  return key === undefined ? entry.key.startsWith(prefix) : entry.key === key;
}

/** The item of a change for a watcher with this selection: objects enter and leave it without being created or deleted. */
function itemFor(change: SeenChange, scope: Scope): WatchItem | undefined {
  const { entry, previous } = change;
  const { selection } = scope;
  if (!isWithin(scope, entry)) return undefined;
  // Only objects in their stored version are equal for all watchers.
  const event = entry === change.event.entry ? change.event : undefined;
  const { type } = change.event;
  if (selection.everything) return { type, entry, event };
  const matched = previous !== undefined && selection.matches(previous);
  const matches = type !== "DELETED" && selection.matches(entry);
  if (matches) return { type: matched ? "MODIFIED" : "ADDED", entry, event };
  if (!matched) return undefined;
  return {
    type: "DELETED",
    entry: type === "DELETED" ? entry : entryAt(previous, change.event.revision),
    event: undefined,
  };
}

/** The initial state: its next items, none while more is checked, `reported` after its end. */
export interface InitialItems {
  take(max: number): readonly WatchItem[] | StatusError | "told";
}

/** Parsing and matching takes about 10 ms for each part. */
export const partSize: PartSize = { maxCharacters: 512 * 1024, maxEntries: 512 };
/** What is watched, and how the watch waits. */
export interface InitialOptions extends Scope {
  readonly backend: Backend;
  readonly resource: Resource;
  readonly start: WatchStart;
  readonly from: number;
  readonly turn: Turn;
  readonly wake: () => void;
}

/**
 * The present state, kept as references and checked at the reader's pace.
 * @throws StatusError where its first objects cannot be converted
 */
async function initialItems(options: InitialOptions): Promise<InitialItems> {
  const { backend, resource, prefix, key, selection, start, from, turn, wake } = options;
  const one = key === undefined ? undefined : backend.cache.get(key);
  const stored = key === undefined ? backend.cache.list(prefix) : one === undefined ? [] : [one];
  const isTakenWhole = selection.everything && resource.custom === undefined;
  const parts = isTakenWhole ? [stored] : partsOf(stored, partSize);
  const last: readonly WatchItem[] =
    start.state === "send-and-mark" ? [{ type: "BOOKMARK", revision: from, initialEnd: true }] : [];
  const look = async (part: readonly Entry[]): Promise<readonly Entry[]> => {
    const shown = await backend.versions.shownAll(resource, part);
    return selection.everything ? shown : shown.filter(selection.matches);
  };
  let ready: readonly Entry[] = await look(parts[0] ?? []);
  let [taken, part] = [0, 1];
  let state: "looking" | "marked" | StatusError | undefined;

  const lookOn = async (entries: readonly Entry[]): Promise<void> => {
    try {
      await turn();
      [ready, taken] = [await look(entries), 0];
      state = undefined;
    } catch (error) {
      state = error instanceof StatusError ? error : new StatusError("InternalError", conversionFailed);
    }
    wake();
  };
  return {
    take: (max) => {
      if (state instanceof StatusError) return state;
      if (state === "looking") return [];
      const entries = ready.slice(taken, taken + max);
      taken += entries.length;
      if (entries.length > 0) return entries.map((entry) => ({ type: "ADDED", entry, event: undefined }));
      const more = parts[part];
      if (more !== undefined) {
        part += 1;
        state = "looking";
        void lookOn(more);
        return [];
      }
      if (state === "marked" || last.length === 0) return "told";
      state = "marked";
      return last;
    },
  };
}
