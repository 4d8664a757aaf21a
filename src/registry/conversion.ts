import { apiVersionOf, type ApiObject } from "../apimachinery/object.ts";
import type { CustomStorage, Resource } from "../apis/resource.ts";
import { passingObjectOf, type Entry } from "../storage/stored-object.ts";

/**
 * Objects of custom kinds between the version in which they lie in the store and the one that is asked for. Built-in kinds, and what was
 * written in the version asked for under the definition of today, pass through as they are; what had to be made is kept with its entry.
 */
export interface EntryVersions {
  /** The entry as `resource` shows it. @throws StatusError InternalError where a conversion webhook fails. */
  shown(resource: Resource, entry: Entry): Entry | Promise<Entry>;
  /** The same for many entries, with one call of a webhook. */
  shownAll(resource: Resource, entries: readonly Entry[]): readonly Entry[] | Promise<readonly Entry[]>;
  /** The object as it is to be stored. @throws StatusError InternalError where a conversion webhook fails. */
  stored(resource: Resource, object: ApiObject): ApiObject | Promise<ApiObject>;
}

/** What is known of one version of a custom kind. */
interface Known {
  readonly apiVersion: string;
  /** How the JSON of entries begins that are in this version already. */
  readonly head: string;
  readonly storage: CustomStorage;
  readonly entries: WeakMap<Entry, Entry>;
}

/** Nothing is known yet; what is kept lives no longer than its entry and its resource. */
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

/** Keeps what each entry is in this version; undefined when that needed nobody else. */
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
  // The order in which stored objects are written, which those who put in another resourceVersion count on.
  const { kind, apiVersion, metadata, ...rest } = object;
  const { resourceVersion, ...meta } = metadata;
  const json = JSON.stringify({ kind, apiVersion, metadata: { resourceVersion, ...meta }, ...rest });
  entries.set(entry, { key: entry.key, revision: entry.revision, json, parsed: undefined, metadata: undefined });
}
