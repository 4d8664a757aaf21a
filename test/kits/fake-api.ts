import type { Client, DeleteOptions, ListOptions, ResourceRef, WatchEvent } from "../../src/client/client.ts";
import { keyOf, keyText } from "../../src/client/paths.ts";
import { apiVersionOf } from "../../src/apimachinery/object.ts";
import type { ApiList, ApiObject, ObjectKey, ObjectMeta } from "../../src/apimachinery/object.ts";
import * as status from "../../src/apimachinery/status.ts";
import { rfc3339 } from "../../src/apimachinery/clock.ts";
import type { Clock } from "../../src/apimachinery/clock.ts";

/** What a review endpoint answers: the object that `create` returns. */
export type Review = (object: ApiObject) => ApiObject;

export interface FakeApiOptions {
  readonly clock: Clock;
  /** Kinds that are answered and not stored, by plural. */
  readonly reviews?: Readonly<Record<string, Review>>;
}

/** One write that reached the fake, for asserting how often and with what a controller writes. */
export interface FakeCall {
  readonly verb: string;
  readonly plural: string;
  readonly subresource: string;
  readonly key: string;
}

/**
 * A small Kubernetes API in memory: resource versions, conflicts, no-op updates, watches that resume or expire, finalizers,
 * preconditions, and the subresources status, approval and finalize. Objects are frozen, so that writing to a shared one fails.
 */
export interface FakeApi {
  readonly client: Client;
  readonly writes: FakeCall[];
  /** The stored objects of a resource in key order. */
  all(resource: ResourceRef): readonly ApiObject[];
  /** Throws `error` once from the next call of this verb on this resource. */
  failNext(verb: string, resource: ResourceRef, error: Error): void;
  /** Ends all open watches, with an error or normally. */
  breakWatches(error?: Error): void;
  /** Forgets history: watches from before now are Expired. */
  compact(): void;
}

interface Logged {
  readonly revision: number;
  readonly id: string;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: ApiObject;
  readonly previous: ApiObject | undefined;
}

interface Stream {
  readonly push: (entry: Logged) => void;
  readonly end: (error?: Error) => void;
}

type Fields = Readonly<Record<string, unknown>>;

export function fakeApi(options: FakeApiOptions): FakeApi {
  const { clock } = options;
  const tables = new Map<string, Map<string, ApiObject>>();
  const log: Logged[] = [];
  const streams = new Set<Stream>();
  const failures: { readonly verb: string; readonly id: string; readonly error: Error }[] = [];
  const writes: FakeCall[] = [];
  let revision = 0;
  let compacted = 0;

  const idOf = (resource: ResourceRef): string => `${resource.plural}.${resource.group}`;
  function table(resource: ResourceRef): Map<string, ApiObject> {
    const found = tables.get(idOf(resource)) ?? new Map<string, ApiObject>();
    tables.set(idOf(resource), found);
    return found;
  }

  function begin(verb: string, resource: ResourceRef, key: string, subresource = ""): void {
    if (!["get", "list", "watch"].includes(verb)) writes.push({ verb, plural: resource.plural, subresource, key });
    const at = failures.findIndex((failure) => failure.verb === verb && failure.id === idOf(resource));
    const failure = at === -1 ? undefined : failures.splice(at, 1)[0];
    if (failure !== undefined) throw failure.error;
  }

  function record(resource: ResourceRef, type: Logged["type"], object: ApiObject, previous?: ApiObject): ApiObject {
    revision += 1;
    const stored = frozen({ ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } });
    if (type === "DELETED") table(resource).delete(keyText(keyOf(stored)));
    else table(resource).set(keyText(keyOf(stored)), stored);
    const entry = { revision, id: idOf(resource), type, object: stored, previous };
    log.push(entry);
    for (const stream of streams) stream.push(entry);
    return stored;
  }

  function stored(resource: ResourceRef, key: ObjectKey): ApiObject {
    const found = table(resource).get(keyText(key));
    if (found === undefined) throw status.notFound(resource, key.name);
    return found;
  }

  function admit(resource: ResourceRef, namespace = ""): void {
    const home = tables.get("namespaces.")?.get(namespace);
    if (home?.metadata.deletionTimestamp === undefined) return;
    const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
    throw status.forbidden(resource, "", why, [{ reason: "NamespaceTerminating", message: why }]);
  }

  function create(resource: ResourceRef, object: ApiObject): ApiObject {
    const { name, generateName, namespace } = object.metadata;
    const key = {
      ...(namespace === undefined ? {} : { namespace }),
      name: name ?? `${generateName ?? "x-"}${revision}`,
    };
    begin("create", resource, keyText(key));
    const review = options.reviews?.[resource.plural];
    if (review !== undefined) return frozen(review(object));
    if (resource.scope === "Namespaced" && namespace === undefined) throw status.badRequest("no namespace");
    if (table(resource).has(keyText(key))) throw status.alreadyExists(resource, key.name);
    admit(resource, namespace);
    const metadata: ObjectMeta = {
      ...object.metadata,
      name: key.name,
      uid: object.metadata.uid ?? `uid-${revision + 1}`,
      creationTimestamp: object.metadata.creationTimestamp ?? rfc3339(clock.now()),
    };
    const types = { apiVersion: apiVersionOf(resource.group, resource.version), kind: resource.kind };
    const defaults =
      resource.plural === "namespaces" ? { spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } } : {};
    return record(resource, "ADDED", { ...defaults, ...object, ...types, metadata });
  }

  function update(resource: ResourceRef, incoming: ApiObject, subresource = ""): ApiObject {
    begin("update", resource, keyText(keyOf(incoming)), subresource);
    const old = stored(resource, keyOf(incoming));
    const { uid, resourceVersion } = incoming.metadata;
    const stale = resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion;
    if (stale || (uid !== undefined && uid !== old.metadata.uid)) {
      throw status.conflict(resource, old.metadata.name ?? "", status.staleObject);
    }
    return settle(resource, old, applied(old, incoming, subresource));
  }

  function settle(resource: ResourceRef, old: ApiObject, next: ApiObject): ApiObject {
    const { uid, creationTimestamp, deletionTimestamp, resourceVersion } = old.metadata;
    const kept = Object.fromEntries(
      Object.entries({ uid, creationTimestamp, deletionTimestamp, resourceVersion }).filter(
        ([, value]) => value !== undefined,
      ),
    );
    const object = { ...next, metadata: { ...next.metadata, ...kept } };
    if (deletionTimestamp !== undefined && !held(object)) return record(resource, "DELETED", object, old);
    return JSON.stringify(sorted(object)) === JSON.stringify(sorted(old))
      ? old
      : record(resource, "MODIFIED", object, old);
  }

  function remove(resource: ResourceRef, old: ApiObject, how: DeleteOptions): void {
    const { preconditions = {}, propagationPolicy } = how;
    for (const field of ["uid", "resourceVersion"] as const) {
      if (preconditions[field] !== undefined && preconditions[field] !== old.metadata[field]) {
        throw status.conflict(resource, old.metadata.name ?? "", `Precondition failed: ${field}`);
      }
    }
    const added =
      propagationPolicy === "Foreground" ? ["foregroundDeletion"] : propagationPolicy === "Orphan" ? ["orphan"] : [];
    const finalizers = [...new Set([...(old.metadata.finalizers ?? []), ...added])];
    const metadata = {
      ...old.metadata,
      deletionTimestamp: old.metadata.deletionTimestamp ?? rfc3339(clock.now()),
      finalizers,
    };
    const phase =
      resource.plural === "namespaces" ? { status: { ...recordOf(old["status"]), phase: "Terminating" } } : {};
    const next = { ...old, ...phase, metadata };
    if (!held(next)) record(resource, "DELETED", next, old);
    else if (
      old.metadata.deletionTimestamp === undefined ||
      finalizers.length !== (old.metadata.finalizers ?? []).length
    ) {
      record(resource, "MODIFIED", next, old);
    }
  }

  function selected(resource: ResourceRef, selection: ListOptions): readonly ApiObject[] {
    return all(resource).filter((object) => matches(object, selection));
  }

  function all(resource: ResourceRef): readonly ApiObject[] {
    return [...table(resource).entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  const client: Client = {
    get: async <T extends ApiObject>(resource: ResourceRef, key: ObjectKey) => {
      begin("get", resource, keyText(key));
      return stored(resource, key) as T;
    },
    list: async <T extends ApiObject>(resource: ResourceRef, selection: ListOptions = {}) => {
      begin("list", resource, "");
      return page(resource, selected(resource, selection), selection, revision) as ApiList<T>;
    },
    watch: async function* watch<T extends ApiObject>(
      resource: ResourceRef,
      selection: ListOptions & { signal: AbortSignal },
    ) {
      begin("watch", resource, "");
      const from = selection.resourceVersion === undefined ? revision : Number(selection.resourceVersion);
      if (from < compacted) throw status.expired(`too old resource version: ${from} (${compacted})`);
      const initial = selection.resourceVersion === undefined ? selected(resource, selection) : [];
      for (const object of initial) yield { type: "ADDED", object: object as T };
      const queue = eventQueue(selection.signal);
      const stream: Stream = {
        push: (entry) => {
          const event = entry.id === idOf(resource) ? seen(entry, selection) : undefined;
          if (event !== undefined) queue.push(event);
        },
        end: queue.end,
      };
      for (const entry of log) if (entry.revision > from) stream.push(entry);
      streams.add(stream);
      try {
        for await (const event of queue.events()) yield event as WatchEvent<T>;
      } finally {
        streams.delete(stream);
      }
    },
    create: async <T extends ApiObject>(resource: ResourceRef, object: ApiObject) => create(resource, object) as T,
    update: async <T extends ApiObject>(
      resource: ResourceRef,
      object: ApiObject,
      extra: { subresource?: string } = {},
    ) => update(resource, object, extra.subresource) as T,
    patch: async <T extends ApiObject>(resource: ResourceRef, key: ObjectKey, patch: unknown) => {
      begin("patch", resource, keyText(key));
      const old = stored(resource, key);
      const next = merged(old, patch) as ApiObject;
      for (const field of ["uid", "resourceVersion"] as const) {
        if (next.metadata[field] !== old.metadata[field]) throw status.conflict(resource, key.name, status.staleObject);
      }
      return settle(resource, old, next) as T;
    },
    delete: async (resource: ResourceRef, key: ObjectKey, how: DeleteOptions = {}) => {
      begin("delete", resource, keyText(key));
      remove(resource, stored(resource, key), how);
    },
    deleteCollection: async (resource: ResourceRef, selection: ListOptions) => {
      begin("deletecollection", resource, selection.namespace ?? "");
      for (const object of selected(resource, selection)) remove(resource, object, {});
    },
  };

  return {
    client,
    writes,
    all,
    failNext: (verb, resource, error) => failures.push({ verb, id: idOf(resource), error }),
    breakWatches: (error) => {
      for (const stream of streams) stream.end(error);
    },
    compact: () => {
      compacted = revision;
      log.length = 0;
    },
  };
}

function page(resource: ResourceRef, found: readonly ApiObject[], selection: ListOptions, revision: number): ApiList {
  const start = selection.continue === undefined ? 0 : Number(selection.continue);
  const end = selection.limit === undefined ? found.length : start + selection.limit;
  const more = end < found.length ? { continue: String(end) } : {};
  return {
    apiVersion: apiVersionOf(resource.group, resource.version),
    kind: `${resource.kind}List`,
    metadata: { resourceVersion: String(revision), ...more },
    items: found.slice(start, end),
  };
}

/** A change as a watch with this selection shows it: what stops matching is DELETED, what begins to is ADDED. */
function seen(entry: Logged, selection: ListOptions): WatchEvent | undefined {
  const now = entry.type !== "DELETED" && matches(entry.object, selection);
  const before = entry.previous !== undefined && matches(entry.previous, selection);
  if (now) return { type: before ? "MODIFIED" : "ADDED", object: entry.object };
  return before ? { type: "DELETED", object: entry.object } : undefined;
}

function matches(object: ApiObject, selection: ListOptions): boolean {
  const { namespace, labelSelector, fieldSelector } = selection;
  const fields: Fields = {
    "metadata.name": object.metadata.name,
    "metadata.namespace": object.metadata.namespace,
    type: object["type"],
  };
  return (
    (namespace === undefined || object.metadata.namespace === namespace) &&
    pairs(labelSelector).every(([key, value]) => object.metadata.labels?.[key] === value) &&
    pairs(fieldSelector).every(([key, value]) => Object.hasOwn(fields, key) && fields[key] === value)
  );
}

function pairs(selector: string | undefined): readonly (readonly [string, string])[] {
  if (selector === undefined || selector === "") return [];
  return selector.split(",").map((one) => [one.slice(0, one.indexOf("=")), one.slice(one.indexOf("=") + 1)]);
}

// What each path may change of an object; the main path leaves status alone only where a kind has that subresource.
function applied(old: ApiObject, incoming: ApiObject, subresource: string): ApiObject {
  const status = recordOf(incoming["status"]);
  switch (subresource) {
    case "status":
      return { ...old, status };
    case "approval":
      return { ...old, status: { ...recordOf(old["status"]), conditions: status["conditions"] } };
    case "finalize":
      return { ...old, spec: { ...recordOf(old["spec"]), finalizers: recordOf(incoming["spec"])["finalizers"] } };
    default:
      return old["status"] === undefined ? incoming : { ...incoming, status: old["status"] };
  }
}

function held(object: ApiObject): boolean {
  const own = object.metadata.finalizers ?? [];
  const ofNamespace = object.kind === "Namespace" ? recordOf(object["spec"])["finalizers"] : undefined;
  return own.length > 0 || (Array.isArray(ofNamespace) && ofNamespace.length > 0);
}

function merged(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result = new Map(Object.entries(isRecord(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key);
    else result.set(key, merged(result.get(key), value));
  }
  return Object.fromEntries(result);
}

function eventQueue(signal: AbortSignal): {
  readonly push: (event: WatchEvent) => void;
  readonly end: (error?: Error) => void;
  readonly events: () => AsyncGenerator<WatchEvent>;
} {
  const waiting: WatchEvent[] = [];
  let wake: () => void = () => undefined;
  let over: { readonly error: Error | undefined } | undefined;
  const end = (error?: Error): void => {
    over ??= { error };
    wake();
  };
  signal.addEventListener("abort", () => end());
  async function* events(): AsyncGenerator<WatchEvent> {
    for (;;) {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) yield next;
      if (over !== undefined || signal.aborted) break;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    if (over?.error !== undefined && !signal.aborted) throw over.error;
  }
  return {
    push: (event) => {
      if (over !== undefined) return;
      waiting.push(event);
      wake();
    },
    end,
    events,
  };
}

function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const each of Object.values(value)) frozen(each);
  return Object.freeze(value);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, each]) => each !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, sorted(each)]),
  );
}

function recordOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
