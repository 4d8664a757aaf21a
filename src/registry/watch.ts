import type { OnAbort } from "../core/abort-listeners.ts";
import type { StatusError } from "../core/status.ts";
import type { Resource } from "../resources/resource.ts";
import { entryAt, type Entry } from "../storage/stored-object.ts";
import type { CacheEvent } from "../storage/watch-cache.ts";
import { caughtUp, storageKey, storageNamespacePrefix, type Backend } from "./backend.ts";
import { tooOld, waitForVersion } from "./freshness.ts";
import { seenChanges, type SeenChange } from "./seen-changes.ts";
import type { Selection } from "./selection.ts";

/** Where a watch begins. `state` sends what exists as ADDED first, `marked` closes that part with an annotated bookmark. */
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
}

/** What ends a watch before its reader does. */
export interface WatchLife {
  /** Aborts when the kind is served no more, or differently; undefined for kinds that always are. */
  readonly ended: AbortSignal | undefined;
  readonly onAbort: OnAbort;
}

/** One thing to tell a watcher. `event` is there where watchers of the same resource can share what they encode. */
export type WatchItem =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly entry: Entry; readonly event: CacheEvent | undefined }
  | { readonly type: "BOOKMARK"; readonly revision: number; readonly initialEnd: boolean };

/** Why there will be no more items; an error is what a conversion webhook did not manage. */
export type WatchEnd = "expired" | "ended" | StatusError;

/** A running watch; it holds a place in the history and nothing else. */
export interface WatchHandle {
  /** Up to `max` items, none if there is nothing yet; `expired` once the reader was too slow, `ended` once the kind is gone. */
  take(max: number): readonly WatchItem[] | WatchEnd;
  /** The revision up to which everything has been taken, for bookmarks. */
  revision(): number;
  close(): void;
}

/** Starts a watch. @throws StatusError Expired when the history from its start is gone, Timeout when its start is ahead of the hub. */
export async function watch(
  backend: Backend,
  resource: Resource,
  request: WatchRequest,
  { ended, onAbort }: WatchLife,
): Promise<WatchHandle> {
  const { start, selection, namespace, wake } = request;
  if (start.state !== "skip" && (start.revision ?? 0) === 0) await caughtUp(backend);
  else if (start.state !== "skip") await waitForVersion(backend, start.revision ?? 0);
  const { cache } = backend;
  const prefix = storageNamespacePrefix(resource, namespace);
  const from = start.state === "skip" ? (start.revision ?? cache.revision()) : cache.revision();
  const single = selection.name !== undefined && (resource.scope === "Cluster" || namespace !== "");
  const key = single ? storageKey(resource, { namespace, name: selection.name ?? "" }) : undefined;
  const subscription = cache.subscribe(prefix, { fromRevision: from, wake, ...(key === undefined ? {} : { key }) });
  if (subscription === "expired") throw tooOld(from, cache.revision());
  let initial =
    start.state === "skip" ? undefined : await initialItems(backend, resource, { start, selection, prefix, key, from });
  const changes = seenChanges(subscription, { versions: backend.versions, resource, wake });
  let position = from;

  const next = (max: number): readonly WatchItem[] | WatchEnd => {
    const items: WatchItem[] = [];
    let pending = false;
    while (items.length < max) {
      const seen = changes.take(max);
      pending = seen === "pending";
      if (typeof seen === "string" || !("length" in seen)) {
        // What went before is told first.
        if (pending || items.length > 0) break;
        return seen === "pending" ? items : seen;
      }
      if (seen.length === 0) break;
      for (const change of seen) {
        if (change.event.revision <= from) continue;
        position = change.event.revision;
        const item = itemFor(change, { prefix, key, selection });
        if (item !== undefined) items.push(item);
      }
    }
    if (items.length > 0 || pending) return items;
    position = Math.max(position, cache.revision());
    return ended?.aborted === true ? "ended" : items;
  };
  const leave = ended === undefined ? undefined : onAbort(ended, wake);
  return {
    take: (max) => {
      const first = takeFrom(initial, max);
      if (first.items.length > 0) return first.items;
      if (first.pending) {
        void backend.turns.next(prefix).then(wake);
        return [];
      }
      // What existed at the start has been told; a watch may live for long, and must not keep it.
      initial = undefined;
      return next(max);
    },
    revision: () => position,
    close: () => {
      leave?.();
      subscription.close();
    },
  };
}

interface Scope {
  readonly prefix: string;
  readonly key: string | undefined;
  readonly selection: Selection;
}

/** The state of this moment, copied now and sent at the reader's pace. */
async function initialItems(
  backend: Backend,
  resource: Resource,
  options: Scope & { readonly start: WatchStart; readonly from: number },
): Promise<Iterator<WatchItem | undefined>> {
  const { prefix, key, selection, start, from } = options;
  const one = key === undefined ? undefined : backend.cache.get(key);
  const stored = key === undefined ? [...backend.cache.list(prefix)] : one === undefined ? [] : [one];
  const state = await backend.versions.shownAll(resource, stored);
  return (function* send(): Generator<WatchItem | undefined> {
    let passedOver = 0;
    for (const entry of state) {
      if (selection.matches(entry)) yield { type: "ADDED", entry, event: undefined };
      else if (++passedOver % maxPassedOver === 0) yield undefined;
    }
    if (start.state === "send-and-mark") yield { type: "BOOKMARK", revision: from, initialEnd: true };
  })();
}

/** After so many objects that a selector passes over, others have their turn. */
const maxPassedOver = 512;

/** What existed at the start; `pending` where there is more to look through before anything else may be told. */
function takeFrom(
  items: Iterator<WatchItem | undefined> | undefined,
  max: number,
): { readonly items: readonly WatchItem[]; readonly pending: boolean } {
  const taken: WatchItem[] = [];
  while (items !== undefined && taken.length < max) {
    const { done, value } = items.next();
    if (done === true) break;
    if (value === undefined) return { items: taken, pending: true };
    taken.push(value);
  }
  return { items: taken, pending: false };
}

/** What a change means to a watcher with this selection: objects enter and leave it without being created or deleted. */
function itemFor(change: SeenChange, { prefix, key, selection }: Scope): WatchItem | undefined {
  const { entry, previous } = change;
  if (key === undefined ? !entry.key.startsWith(prefix) : entry.key !== key) return undefined;
  // Only what is shown as it lies in the store looks the same to all who watch.
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
