import type { Admission } from "../admission/admission.ts";
import type { ObjectKey } from "../apimachinery/object.ts";
import type { RandomBytes } from "../apimachinery/clock.ts";
import { storagePrefix, type Resource } from "../apis/resource.ts";
import type { Store } from "../storage/store.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import type { EntryVersions } from "./conversion.ts";
import type { Turns } from "./turns.ts";

/** What the verbs stand on. */
export interface Backend {
  readonly store: Store;
  readonly cache: WatchCache;
  readonly admission: Admission;
  readonly versions: EntryVersions;
  /** For work on large objects, which is done in parts. */
  readonly turns: Turns;
  readonly uuid: () => string;
  readonly random: RandomBytes;
}

/** The store key of one object. The names were checked: no segment holds a slash. */
export function storageKey(resource: Resource, key: ObjectKey): string {
  return storageNamespacePrefix(resource, key.namespace) + key.name;
}

/** The prefix of a namespace's objects, or of all objects of the resource. */
export function storageNamespacePrefix(resource: Resource, namespace: string | undefined): string {
  const prefix = storagePrefix(resource);
  return resource.scope === "Namespaced" && namespace !== undefined && namespace !== ""
    ? `${prefix}${namespace}/`
    : prefix;
}

/** Waits until the cache holds every write acknowledged so far, by this process or another on the same store. */
export async function caughtUp({ store, cache }: Backend): Promise<void> {
  await cache.waitFor(await store.currentRevision());
}
