import { apiVersionOf, type ApiObject } from "../apimachinery/object.ts";
import type { CustomStorage, Resource } from "../apis/resource.ts";
import { passingObjectOf, type Entry } from "../storage/stored-object.ts";
import { StatusError } from "../apimachinery/status.ts";
import type { CacheEvent, Subscription } from "../storage/watch-cache.ts";

/**
 * Objects of custom kinds between the version in the store and the requested one. Built-in kinds, and objects
 * stored in the requested version under the current definition, pass unchanged; a conversion is cached with its entry.
 */
export interface EntryVersions {
  /** The entry as `resource` shows it. @throws StatusError InternalError where a conversion webhook fails. */
  shown(resource: Resource, entry: Entry): Entry | Promise<Entry>;
  /** The same for many entries, with one call of a webhook. */
  shownAll(resource: Resource, entries: readonly Entry[]): readonly Entry[] | Promise<readonly Entry[]>;
  /** The object as it is to be stored. @throws StatusError InternalError where a conversion webhook fails. */
  stored(resource: Resource, object: ApiObject): ApiObject | Promise<ApiObject>;
}

/** The state of one version of a custom kind. */
interface Known {
  readonly apiVersion: string;
  /** The JSON prefix of entries in this version. */
  readonly head: string;
  readonly storage: CustomStorage;
  readonly entries: WeakMap<Entry, Entry>;
}

/** Without cached conversions; each is cached no longer than its entry and its resource. */
export function entryVersions(): EntryVersions {
  const byResource = new WeakMap<Resource, Known>();

  function knownOf(resource: Resource, storage: CustomStorage): Known {
    let known = byResource.get(resource);
    if (known === undefined) {
      const apiVersion = apiVersionOf(resource.group, resource.version);
      const head = JSON.stringify({ kind: resource.kind, apiVersion }).slice(0, -1);
      known = { apiVersion, head, storage, entries: new WeakMap() };
      byResource.set(resource, known);
    }
    return known;
  }

  function shownAll(resource: Resource, entries: readonly Entry[]): readonly Entry[] | Promise<readonly Entry[]> {
    if (resource.custom === undefined) return entries;
    const known = knownOf(resource, resource.custom.storage);
    const missing = entries.filter((entry) => !isAsItIs(known, entry) && !known.entries.has(entry));
    const made = missing.length === 0 ? undefined : make(known, missing);
    const all = (): readonly Entry[] => entries.map((entry) => known.entries.get(entry) ?? entry);
    if (made !== undefined) return made.then(all);
    return entries.every((entry) => isAsItIs(known, entry)) ? entries : all();
  }

  return {
    shownAll,
    shown: (resource, entry) => {
      if (resource.custom === undefined) return entry;
      const known = knownOf(resource, resource.custom.storage);
      if (isAsItIs(known, entry)) return entry;
      const all = shownAll(resource, [entry]);
      return all instanceof Promise ? all.then(([one]) => one ?? entry) : (all[0] ?? entry);
    },
    stored: (resource, object) => {
      const storage = resource.custom?.storage;
      if (storage === undefined || object.apiVersion === storage.apiVersion) return object;
      if (storage.convert === undefined) return storage.settle({ ...object, apiVersion: storage.apiVersion });
      return storage.convert([object], storage.apiVersion).then(([converted]) => storage.settle(converted ?? object));
    },
  };
}

function isAsItIs({ head, storage }: Known, entry: Entry): boolean {
  return entry.revision > storage.since && entry.json.startsWith(head);
}

/** Caches each entry in this version; undefined when no webhook was needed. */
function make(known: Known, entries: readonly Entry[]): Promise<void> | undefined {
  const { storage, apiVersion } = known;
  const { convert } = storage;
  const others: { readonly entry: Entry; readonly object: ApiObject }[] = [];
  for (const entry of entries) {
    const stored = passingObjectOf(entry);
    const object = storage.settle(stored);
    if (object.apiVersion !== apiVersion && convert !== undefined) others.push({ entry, object });
    else keep(known, { entry, stored, object: inVersion(storage, object, apiVersion) });
  }
  if (others.length === 0 || convert === undefined) return undefined;
  return convert(
    others.map(({ object }) => object),
    apiVersion,
  ).then((converted) => {
    for (const [index, { entry, object }] of others.entries()) {
      keep(known, { entry, stored: object, object: storage.settle(converted[index] ?? object) });
    }
  });
}

function inVersion(storage: CustomStorage, object: ApiObject, apiVersion: string): ApiObject {
  return object.apiVersion === apiVersion ? object : storage.settle({ ...object, apiVersion });
}

function keep(
  { entries }: Known,
  { entry, stored, object }: { readonly entry: Entry; readonly stored: ApiObject; readonly object: ApiObject },
): void {
  if (object === stored) {
    entries.set(entry, entry);
    return;
  }
  // The field order of stored objects, on which replacing a resourceVersion relies.
  const { kind, apiVersion, metadata, ...rest } = object;
  const { resourceVersion, ...meta } = metadata;
  const json = JSON.stringify({ kind, apiVersion, metadata: { resourceVersion, ...meta }, ...rest });
  entries.set(entry, { key: entry.key, revision: entry.revision, json, parsed: undefined, metadata: undefined });
}

/** A change with its objects in the watched version. */
export interface SeenChange {
  readonly event: CacheEvent;
  readonly entry: Entry;
  readonly previous: Entry | undefined;
}

/** The changes of a subscription as a version of a kind shows them. */
export interface SeenChanges {
  /** The next ones, none if there are none; `pending` while a webhook converts them, which ends with a call of `wake`. */
  take(max: number): readonly SeenChange[] | "pending" | "expired" | StatusError;
}

/** The end of a watch whose conversion failed with an internal error. */
export const conversionFailed = "Internal error occurred: conversion failed";

/** How many changes are converted at once, and how many characters they have together, unless a single one has more. */
const convertedAtOnce = { max: 64, characters: 512 * 1024 } as const;

/** Reads a subscription; only the changes that a webhook converts now are read ahead. */
export function seenChanges(
  subscription: Pick<Subscription, "take">,
  about: { readonly versions: EntryVersions; readonly resource: Resource; readonly wake: () => void },
): SeenChanges {
  const { versions, resource, wake } = about;
  const { custom } = resource;
  if (custom === undefined) {
    return {
      take: (max) => {
        const events = subscription.take(max);
        return events === "expired" ? events : events.map(asItIs);
      },
    };
  }
  let ready: readonly SeenChange[] = [];
  let pending = false;
  let failure: StatusError | undefined;

  async function convert(converting: Promise<readonly SeenChange[]>): Promise<void> {
    try {
      ready = await converting;
    } catch (error) {
      failure = error instanceof StatusError ? error : new StatusError("InternalError", conversionFailed);
    }
    pending = false;
    wake();
  }

  return {
    take: (max) => {
      if (failure !== undefined) return failure;
      if (pending) return "pending";
      if (ready.length > 0) {
        const taken = ready.slice(0, max);
        ready = ready.slice(max);
        return taken;
      }
      const events = takeSome(subscription);
      if (events === "expired") return events;
      if (events.length === 0) return [];
      const now = seen(versions, resource, events);
      if (!(now instanceof Promise)) {
        ready = now.slice(max);
        return now.slice(0, max);
      }
      pending = true;
      void convert(now);
      return "pending";
    },
  };
}

/** As many events as are converted at once. */
function takeSome(subscription: Pick<Subscription, "take">): readonly CacheEvent[] | "expired" {
  const events: CacheEvent[] = [];
  let characters = 0;
  while (events.length < convertedAtOnce.max && characters < convertedAtOnce.characters) {
    const taken = subscription.take(1);
    if (taken === "expired") return events.length === 0 ? taken : events;
    if (taken.length === 0) break;
    events.push(...taken);
    characters += taken.reduce((sum, { entry }) => sum + entry.json.length, 0);
  }
  return events;
}

function asItIs(event: CacheEvent): SeenChange {
  return { event, entry: event.entry, previous: event.previous };
}

function seen(
  versions: EntryVersions,
  resource: Resource,
  events: readonly CacheEvent[],
): readonly SeenChange[] | Promise<readonly SeenChange[]> {
  const entries = events.flatMap(({ entry, previous }) => (previous === undefined ? [entry] : [entry, previous]));
  const joined = (shown: readonly Entry[]): readonly SeenChange[] => {
    let at = 0;
    const next = (): Entry => shown[at++] as Entry;
    return events.map((event) => {
      const entry = next();
      return { event, entry, previous: event.previous === undefined ? undefined : next() };
    });
  };
  const all = versions.shownAll(resource, entries);
  return all instanceof Promise ? all.then(joined) : joined(all);
}
