import type { Backoff } from "../client/backoff.ts";
import type { Client, ResourceRef } from "../client/client.ts";
import { informer as newInformer, type Informer } from "../client/informer.ts";
import type { Reader } from "../client/object-store.ts";
import type { Clock } from "../apimachinery/clock.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import type { Watch } from "./controller.ts";

/** Which objects an informer follows. */
export type Selection = Pick<Watch, "resource" | "namespace" | "fieldSelector" | "metadataOnly">;

export interface SharedInformersOptions {
  /** The client that acts as the ServiceAccount `kube-system/<serviceAccount>`. */
  readonly clientFor: (serviceAccount: string) => Client;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly onError: (serviceAccount: string, resource: ResourceRef, error: unknown) => void;
  /** Stops all informers. */
  readonly signal: AbortSignal;
}

/** Access of a controller to the API under its own identity. */
export interface Identity {
  readonly client: Client;
  /** A read-only cache of the objects that a watch of the same selection follows; complete whenever `reconcile` is called. */
  readonly reader: (selection: Selection) => Reader;
}

/** One informer for all users of the same selection under the same identity. */
export interface SharedInformers {
  /** The client of a ServiceAccount of kube-system, and the caches of its watches. */
  as(serviceAccount: string): Identity;
  /** The informer of a selection; the first call starts it. */
  get(serviceAccount: string, selection: Selection): Informer;
  /** Stops an informer that is no longer needed; a later `get` of its selection starts another. */
  release(informer: Informer): void;
  /** Resolves when every informer has stopped, after `signal`. */
  stopped(): Promise<void>;
}

/** The options of every controller; most need nothing else. */
export interface ControllerOptions {
  readonly informers: SharedInformers;
  readonly clock: Clock;
}

const watchBackoff: Backoff = { initialMs: 200, maxMs: 30_000 };

/** An object with only its metadata, without managedFields. */
function metadataOf({ apiVersion, kind, metadata }: ApiObject): ApiObject {
  const { managedFields: _managedFields, ...kept } = metadata;
  return { apiVersion, kind, metadata: kept };
}

/** A registry in which no informer runs. */
export function sharedInformers(options: SharedInformersOptions): SharedInformers {
  const known = new Map<string, { readonly informer: Informer; readonly life: AbortController }>();
  const runs = new Set<Promise<void>>();
  // One listener on the common signal, however many informers there are.
  const lifetimes = new Set<AbortController>();
  options.signal.addEventListener("abort", () => {
    for (const life of lifetimes) life.abort();
  });

  function get(serviceAccount: string, selection: Selection): Informer {
    const { resource, namespace, fieldSelector, metadataOnly } = selection;
    const id = selectionId(serviceAccount, selection);
    const found = known.get(id);
    if (found !== undefined) return found.informer;
    const made = newInformer({
      client: options.clientFor(serviceAccount),
      resource,
      ...(namespace === undefined ? {} : { namespace }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
      ...(metadataOnly === true ? { transform: metadataOf } : {}),
      clock: options.clock,
      random: options.random,
      backoff: watchBackoff,
      onError: (error) => options.onError(serviceAccount, resource, error),
    });
    const life = new AbortController();
    known.set(id, { informer: made, life });
    lifetimes.add(life);
    if (options.signal.aborted) life.abort();
    const run = made.run(life.signal).finally(() => {
      lifetimes.delete(life);
      runs.delete(run);
    });
    runs.add(run);
    return made;
  }

  function release(informer: Informer): void {
    for (const [id, one] of known) {
      if (one.informer !== informer) continue;
      known.delete(id);
      one.life.abort();
    }
  }

  function as(serviceAccount: string): Identity {
    return {
      client: options.clientFor(serviceAccount),
      reader: (selection) => {
        // Not before the first read: a reader is created before the informer may run.
        let followed: Informer | undefined;
        const informerOf = (): Informer => (followed ??= get(serviceAccount, selection));
        return { get: (key) => informerOf().get(key), list: () => informerOf().list() };
      },
    };
  }

  async function stopped(): Promise<void> {
    await Promise.all(runs);
  }

  return { as, get, release, stopped };
}

function selectionId(serviceAccount: string, selection: Selection): string {
  const { resource, namespace = "", fieldSelector = "", metadataOnly = false } = selection;
  const { group, version, plural } = resource;
  return JSON.stringify([serviceAccount, group, version, plural, namespace, fieldSelector, metadataOnly]);
}
