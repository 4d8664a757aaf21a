import type { Clock } from "../apimachinery/clock.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { StatusError } from "../apimachinery/status.ts";
import { jitteredBackoffMs } from "./backoff.ts";
import type { Backoff } from "./backoff.ts";
import type { Client, ListOptions, ResourceRef } from "./client.ts";
import { objectStore } from "./object-store.ts";
import type { Change, Reader } from "./object-store.ts";

/** Which objects to watch, and how to retry. */
export interface InformerOptions extends Pick<ListOptions, "namespace" | "labelSelector" | "fieldSelector"> {
  readonly client: Client;
  readonly resource: ResourceRef;
  readonly clock: Clock;
  /** The part of each object that is stored and passed to listeners; default all of it. Source: client-go's SetTransform. */
  readonly transform?: ((object: ApiObject) => ApiObject) | undefined;
  /** Pauses after failures, jittered; also after a watch that ended without an event. */
  readonly backoff: Backoff;
  /** Returns [0, 1). */
  readonly random: () => number;
  /** Receives every failure, for the log; `failures` counts those in a row. */
  readonly onError?: ((error: unknown, failures: number) => void) | undefined;
}

/**
 * A local copy of a selection of objects, kept current by list and watch. After any failure it resumes its watch, or lists again and
 * reports the difference, so that listeners get every object's last state however the connection behaves.
 */
export interface Informer<T extends ApiObject = ApiObject> extends Reader<T> {
  /** Calls `listener` synchronously for each change, first with the known objects as ADDED. Returns the function that ends it. */
  onChange(listener: (change: Change<T>) => void): () => void;
  /** True once the first list has been delivered; false when the informer stopped before. */
  readonly synced: Promise<boolean>;
  /** Watches until `signal` aborts; call it once. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

const minWatchMs = 1000;
const maxResumes = 5;

/** An informer that has not started yet. */
export function informer<T extends ApiObject = ApiObject>(options: InformerOptions): Informer<T> {
  const { client, resource, clock, random, namespace, labelSelector, fieldSelector } = options;
  const store = objectStore<T>((error) => options.onError?.(error, 0));
  const { promise: synced, resolve: settle } = resolvable<boolean>();
  const selection = { namespace, labelSelector, fieldSelector };
  const kept = (object: T): T => (options.transform === undefined ? object : (options.transform(object) as T));
  /** Where the next watch begins; undefined: a list is required. */
  let version: string | undefined;
  let [failures, expiredBefore] = [0, false];

  async function relist(): Promise<void> {
    const found = await client.list<T>(resource, selection);
    store.replace(found.items.map(kept));
    version = found.metadata.resourceVersion;
    settle(true);
  }

  async function follow(from: string, signal: AbortSignal): Promise<void> {
    const begun = clock.now();
    let quiet = true;
    for await (const event of client.watch<T>(resource, { ...selection, resourceVersion: from, signal })) {
      quiet = false;
      failures = 0;
      expiredBefore = false;
      if (event.type === "BOOKMARK") {
        version = event.resourceVersion;
        continue;
      }
      if (event.type === "DELETED") store.remove(kept(event.object));
      else store.put(kept(event.object));
      version = event.object.metadata.resourceVersion;
    }
    // A server that ends each watch at once must not cause a busy loop.
    if (quiet && clock.now() - begun < minWatchMs) await pause(signal);
    else failures = 0;
  }

  async function pause(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    failures += 1;
    await clock.sleep(jitteredBackoffMs(options.backoff, failures, random), signal);
  }

  async function recover(error: unknown, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const reason = error instanceof StatusError ? error.reason : undefined;
    if (failures >= maxResumes || (reason !== undefined && !resumable.has(reason))) version = undefined;
    options.onError?.(error, failures + 1);
    // Expired is part of the protocol; only one that a new list does not resolve is a failure with a pause.
    const isCured = reason === "Expired" && !expiredBefore;
    expiredBefore = reason === "Expired";
    if (!isCured) await pause(signal);
  }

  async function run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (version === undefined || version === "") await relist();
        if (version !== undefined && !signal.aborted) await follow(version, signal);
      } catch (error) {
        await recover(error, signal);
      }
    }
    settle(false);
  }

  const { get, list, onChange } = store;
  return { get, list, onChange, synced, run };
}

// After these the server still has the version; after any other reply only a list is safe.
const resumable: ReadonlySet<string> = new Set(["TooManyRequests", "ServiceUnavailable"]);

function resolvable<V>(): { readonly promise: Promise<V>; readonly resolve: (value: V) => void } {
  let resolve: (value: V) => void = () => undefined;
  const promise = new Promise<V>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
