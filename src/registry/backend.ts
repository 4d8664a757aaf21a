import type { Admission, AdmissionRequest } from "../admission/admission.ts";
import type { ObjectKey } from "../apimachinery/object.ts";
import type { RandomBytes } from "../apimachinery/clock.ts";
import { storagePrefix, type Resource, type RequestSource } from "../apis/resource.ts";
import { type Store, StorageError } from "../storage/store.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import { entryOf, type Entry } from "../storage/stored-object.ts";
import type { EntryVersions } from "./conversion.ts";
import type { Turns } from "./turns.ts";
import { StatusError } from "../apimachinery/status.ts";
import type { JsonObject } from "../apimachinery/json-value.ts";
import type { UserInfo } from "../apimachinery/user.ts";

/** What the verbs need. */
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

/** The store key of one object. The names are validated: no segment contains a slash. */
export function storageKey(resource: Resource, key: ObjectKey): string {
  return storageNamespacePrefix(resource, key.namespace) + key.name;
}

/** The prefix of a namespace's objects, or of all objects of the resource. */
export function storageNamespacePrefix(resource: Resource, namespace = ""): string {
  const prefix = storagePrefix(resource);
  return resource.scope === "Namespaced" && namespace !== "" ? `${prefix}${namespace}/` : prefix;
}

/** Waits until the cache contains every write acknowledged so far, by this process or another on the same store. */
export async function caughtUp({ store, cache }: Backend): Promise<void> {
  await cache.waitFor(await store.currentRevision());
}

/** The entry of a write that the cache contains: the cached one, unless a later write has replaced it already. */
export function writtenEntry(
  { cache }: Backend,
  key: string,
  { value, revision }: { readonly value: Buffer; readonly revision: number },
): Entry {
  const cached = cache.get(key);
  return cached?.revision === revision ? cached : entryOf(key, value, revision);
}

/** How long a read may wait for a version that this hub has not seen yet, in milliseconds. Source: cacher's blockTimeout. */
const aheadTimeoutMs = 3000;

/** Waits until the cache contains `revision`. @throws StatusError Timeout with cause ResourceVersionTooLarge. */
export async function waitForVersion({ cache }: Backend, revision: number): Promise<void> {
  try {
    await cache.waitFor(revision, aheadTimeoutMs);
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== "timeout") throw error;
    throw new StatusError("Timeout", `Timeout: Too large resource version: ${revision}, current: ${cache.revision()}`, {
      details: {
        causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
        retryAfterSeconds: 1,
      },
    });
  }
}

/** The history from `revision` on is compacted. */
export function tooOld(revision: number, oldest: number): StatusError {
  return new StatusError("Expired", `too old resource version: ${revision} (${oldest})`);
}

/** The user, time and options of a request; the same over the network and for a controller inside the hub. */
export interface RequestContext {
  readonly user: UserInfo;
  /** The authenticated user, where `user` is impersonated. */
  readonly impersonator?: UserInfo;
  /** The other end of the connection; absent inside the hub. */
  readonly source?: RequestSource;
  /** Milliseconds since the epoch, read once when the request began. */
  readonly now: number;
  /** Everything but storing. */
  readonly dryRun: boolean;
  /** The body is large: it is processed in parts. */
  readonly isLarge?: boolean;
  /** Adds a Warning header to the reply; duplicates are merged by the sender. */
  readonly warn: (text: string) => void;
  /** The owner of the written fields: the `fieldManager` of the query, else the first word of the user agent. */
  readonly fieldManager: string;
  /** The query of a create or an update, as fields of CreateOptions and UpdateOptions; passed to admission. */
  readonly options?: JsonObject;
  /** Adds an annotation to the audit event of the request; the first value of a key stays. */
  readonly annotate: (key: string, value: string) => void;
}

/** The user and options of a write, for admission. */
export function admissionTerms(
  context: RequestContext,
): Pick<AdmissionRequest, "user" | "impersonator" | "source" | "dryRun" | "warn" | "annotate"> {
  const { user, impersonator, source, dryRun, warn, annotate } = context;
  return { user, impersonator, source, dryRun, warn, annotate };
}
