import type { Client, ListOptions, ResourceRef, WatchEvent, WatchOptions } from "../../src/client/client.ts";
import { keyOf, keyText } from "../../src/client/paths.ts";
import { admissionChain } from "../../src/admission/admission.ts";
import { namespaceLifecycle } from "../../src/admission/namespace-lifecycle.ts";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import type { Clock } from "../../src/apimachinery/clock.ts";
import { alreadyExists, qualified } from "../../src/apimachinery/status.ts";
import { mastersGroup, type UserInfo } from "../../src/apimachinery/user.ts";
import { builtinResources, reviewResources } from "../../src/apis/builtin.ts";
import { clusterDefinitions } from "../../src/apis/cluster-definitions.ts";
import type { CustomResourceDefinition } from "../../src/apis/custom/crd-object.ts";
import { coreEventOf, events, reportedEvents } from "../../src/apis/event.ts";
import { customKinds } from "../../src/apis/custom/custom-kind.ts";
import { storagePrefix, type Resource } from "../../src/apis/resource.ts";
import { storageKey } from "../../src/registry/backend.ts";
import { entryVersions } from "../../src/registry/conversion.ts";
import { inProcessClient } from "../../src/registry/in-process-client.ts";
import { registry, type Registry } from "../../src/registry/registry.ts";
import { openMemory } from "../../src/storage/memory.ts";
import type { Store } from "../../src/storage/store.ts";
import { encodeObject, objectOf } from "../../src/storage/stored-object.ts";
import { openWatchCache, type WatchCache } from "../../src/storage/watch-cache.ts";

/** What a review endpoint answers: the object that `create` returns. */
export type Review = (object: ApiObject) => ApiObject;

export interface MemoryApiOptions {
  readonly clock: Clock;
  /** What is asked and not stored, by plural. */
  readonly reviews?: Readonly<Record<string, Review>>;
}

/** One write of the client, for asserting how often and with what a controller writes. */
export interface ClientCall {
  readonly verb: string;
  readonly plural: string;
  readonly subresource: string;
  readonly key: string;
}

/**
 * The API of a hub over a store in memory, without sockets: the verbs, kinds and rules are the hub's own, everything is allowed, and
 * of admission there is the life of namespaces alone, to which a namespace that nobody made exists. Objects are frozen, so that
 * writing to a shared one fails.
 */
export interface MemoryApi {
  readonly client: Client;
  readonly writes: ClientCall[];
  /**
   * Puts an object in place with what a client may not say in a create: its time of creation, its uid, a status, and, of a
   * CertificateSigningRequest, who asked. It takes the paths of those whose part that is; in `writes` all of it is one create.
   */
  given<T extends ApiObject>(resource: ResourceRef, object: ApiObject): Promise<T>;
  /** Writes an object to the store as it is, as one who may write there and not only to the API could do. */
  putInStore(resource: ResourceRef, object: ApiObject): Promise<void>;
  /** The stored objects of a resource in key order. */
  all(resource: ResourceRef): readonly ApiObject[];
  /** Throws `error` once from the next call of this verb on this resource. */
  failNext(verb: string, resource: ResourceRef, error: Error): void;
  /** Ends all open watches, with an error or normally. */
  breakWatches(error?: Error): void;
  /** Forgets history: watches from before now are Expired. */
  compact(): void;
}

/** What is served of the store at one time. */
interface Served {
  readonly store: Store;
  readonly cache: WatchCache;
  readonly verbs: Registry;
}

const deciderAnnotation = "pratique.dev/decided-by";

const administrator: UserInfo = { username: "kubernetes-admin", groups: [mastersGroup] };

const custom: readonly Resource[] = clusterDefinitions().flatMap((definition) =>
  customKinds(definition as unknown as CustomResourceDefinition, { since: 0, convert: undefined }),
);
const resources: readonly Resource[] = [...builtinResources, reportedEvents, ...custom];

function resourceOf({ group, version, plural }: ResourceRef): Resource {
  const found = resources.find((one) => one.group === group && one.version === version && one.plural === plural);
  if (found === undefined) throw new TypeError(`${plural} are not served`);
  return found;
}

/** An API that holds nothing yet. */
export function memoryApi({ clock, reviews = {} }: MemoryApiOptions): MemoryApi {
  const writes: ClientCall[] = [];
  const failures: { readonly verb: string; readonly kind: string; readonly error: Error }[] = [];
  const watches = new Set<(error?: Error) => void>();
  const ids = uids();
  let now: Served | undefined;
  let served = opened(openMemory());

  /** Serves what the store holds, with no history of it. */
  async function opened(opening: Promise<Store>): Promise<Served> {
    const store = await opening;
    const cache = await openWatchCache({ store, prefix: "/registry/", windowEvents: now === undefined ? 8192 : 0 });
    now = { store, cache, verbs: verbsOver({ store, cache, reviews, uuid: ids }) };
    return now;
  }

  function fail(verb: string, kind: ResourceRef): void {
    const at = failures.findIndex((failure) => failure.verb === verb && failure.kind === qualified(kind));
    const failure = at === -1 ? undefined : failures.splice(at, 1)[0];
    if (failure !== undefined) throw failure.error;
  }

  /** Notes a write, which may be one that is to fail. */
  function begin(call: Omit<ClientCall, "plural" | "subresource">, kind: ResourceRef, subresource = ""): void {
    writes.push({ ...call, plural: kind.plural, subresource });
    fail(call.verb, kind);
  }

  async function direct(): Promise<Client> {
    return clientOver((await served).verbs, { user: administrator, clock });
  }

  async function* watched(client: Client, kind: ResourceRef, options: WatchOptions): AsyncGenerator<WatchEvent> {
    const ending = new AbortController();
    const why: { error?: Error } = {};
    const end = (error?: Error): void => {
      if (error !== undefined && !ending.signal.aborted) why.error = error;
      ending.abort();
    };
    const signal = AbortSignal.any([options.signal, ending.signal]);
    watches.add(end);
    try {
      for await (const event of client.watch(kind, { ...options, signal })) yield frozen(event);
    } finally {
      watches.delete(end);
    }
    if (why.error !== undefined && !options.signal.aborted) throw why.error;
  }

  const client: Client = {
    get: async (kind, key) => {
      fail("get", kind);
      return frozen(await (await direct()).get(kind, key));
    },
    list: async (kind, options) => {
      fail("list", kind);
      return frozen(await (await direct()).list(kind, options));
    },
    watch: async function* watch<T extends ApiObject>(kind: ResourceRef, options: WatchOptions) {
      fail("watch", kind);
      yield* watched(await direct(), kind, options) as AsyncIterable<WatchEvent<T>>;
    },
    create: async (kind, object, how) => {
      begin({ verb: "create", key: keyText(keyOf(object)) }, kind, how?.subresource);
      return frozen(await (await direct()).create(kind, object, how));
    },
    update: async (kind, object, how) => {
      begin({ verb: "update", key: keyText(keyOf(object)) }, kind, how?.subresource);
      return frozen(await (await direct()).update(kind, object, how));
    },
    patch: async (kind, key, patch, how) => {
      begin({ verb: "patch", key: keyText(key) }, kind, how?.subresource);
      return frozen(await (await direct()).patch(kind, key, patch, how));
    },
    delete: async (kind, key, how) => {
      begin({ verb: "delete", key: keyText(key) }, kind);
      await (await direct()).delete(kind, key, how);
    },
    deleteCollection: async (kind, options: ListOptions) => {
      begin({ verb: "deletecollection", key: options.namespace ?? "" }, kind);
      await (await direct()).deleteCollection(kind, options);
    },
  };

  async function given<T extends ApiObject>(kind: ResourceRef, object: ApiObject): Promise<T> {
    begin({ verb: "create", key: keyText(keyOf(object)) }, kind);
    const made = await madeApart(kind, object, { clock, uid: object.metadata.uid ?? ids() });
    const { store, cache } = await served;
    const written = await store.create(storageKey(resourceOf(kind), keyOf(made)), encodeObject(made));
    if (written.kind === "exists") throw alreadyExists(kind, made.metadata.name ?? "");
    await cache.waitFor(written.revision);
    return (await direct()).get<T>(kind, keyOf(made)).then(frozen);
  }

  async function putInStore(kind: ResourceRef, object: ApiObject): Promise<void> {
    const { store, cache } = await served;
    const key = storageKey(resourceOf(kind), keyOf(object));
    const value = encodeObject(object);
    const { value: before } = await store.get(key);
    const written =
      before === undefined
        ? await store.create(key, value)
        : await store.update(key, value, { ifRevision: before.revision });
    if ("revision" in written) await cache.waitFor(written.revision);
  }

  return {
    client,
    writes,
    given,
    putInStore,
    all: (kind) => frozen((now?.cache.list(storagePrefix(kind)) ?? []).map(objectOf)),
    failNext: (verb, kind, error) => failures.push({ verb, kind: qualified(kind), error }),
    breakWatches: (error) => {
      for (const end of watches) end(error);
    },
    compact: () => {
      served = opened(served.then(({ store }) => store));
    },
  };
}

interface VerbsOptions extends Pick<Served, "store" | "cache"> {
  readonly reviews: Readonly<Record<string, Review>>;
  readonly uuid: () => string;
}

function verbsOver({ store, cache, reviews, uuid }: VerbsOptions): Registry {
  const namespaceOf = (name: string): ApiObject => {
    const entry = cache.get(`${storagePrefix({ group: "", plural: "namespaces" })}${name}`);
    return entry === undefined ? { apiVersion: "v1", kind: "Namespace", metadata: { name } } : objectOf(entry);
  };
  let drawn = 0;
  const verbs: Registry = registry({
    backend: {
      store,
      cache,
      admission: admissionChain([namespaceLifecycle(namespaceOf)]),
      versions: entryVersions(),
      turns: { next: async () => undefined, waiting: () => 0 },
      uuid,
      random: (size) => Uint8Array.from({ length: size }, () => (drawn += 1)),
    },
    resources: () => resources,
    reviews: {
      ...Object.fromEntries(
        reviewResources.flatMap((kind) => {
          const answer = reviews[kind.plural];
          return answer === undefined ? [] : [[qualified(kind), async (object: ApiObject) => answer(object)]];
        }),
      ),
      [qualified(reportedEvents)]: async (object, { namespace, context }) => {
        const made = await verbs.create(events, { namespace, object: coreEventOf(object), context });
        return { ...object, metadata: objectOf(made).metadata };
      },
    },
    created: {},
  });
  return verbs;
}

/** uids in order. */
function uids(): () => string {
  let count = 0;
  return () => `uid-${(count += 1)}`;
}

function clientOver(verbs: Registry, { user, clock }: { readonly user: UserInfo; readonly clock: Clock }): Client {
  return inProcessClient({
    registry: verbs,
    authorizer: async () => ({ verdict: "allow", reason: "" }),
    clock,
    user,
    turn: async () => undefined,
  });
}

interface Apart {
  readonly clock: Clock;
  readonly uid: string;
}

/** The object as the paths of those who write its parts leave it, in a store of its own: others see the whole of it at once. */
async function madeApart(kind: ResourceRef, object: ApiObject, { clock, uid }: Apart): Promise<ApiObject> {
  const store = await openMemory();
  const cache = await openWatchCache({ store, prefix: "/registry/" });
  const verbs = verbsOver({ store, cache, reviews: {}, uuid: () => uid });
  const { resourceVersion: _another, ...metadata } = object.metadata;
  const { creationTimestamp: created, annotations: { [deciderAnnotation]: decider } = {} } = metadata;
  const at = created === undefined ? clock : { ...clock, now: () => Date.parse(created) };
  const asks = clientOver(verbs, { user: requesterOf(kind, object), clock: at });
  const decides = clientOver(verbs, {
    user: decider === undefined ? administrator : { username: decider, groups: [] },
    clock: at,
  });
  const made = await asks.create(kind, { ...object, metadata });
  const whole = await withStatus(decides, { kind, made, status: object["status"] });
  await cache.close();
  await store.close();
  return whole;
}

type Fields = Readonly<Record<string, unknown>>;

/** Who asked for a certificate, by what the request says; anything else is the administrator's. */
function requesterOf(kind: ResourceRef, object: ApiObject): UserInfo {
  if (kind.plural !== "certificatesigningrequests") return administrator;
  const { username, ...others } = (object["spec"] ?? {}) as Partial<UserInfo>;
  const { groups = [], uid, extra } = others;
  if (username === undefined) return administrator;
  return { username, groups, ...(uid === undefined ? {} : { uid }), ...(extra === undefined ? {} : { extra }) };
}

interface Made {
  readonly kind: ResourceRef;
  readonly made: ApiObject;
  readonly status: unknown;
}

/** The object with its status, by the paths of those who write it. */
async function withStatus(client: Client, { kind, made, status }: Made): Promise<ApiObject> {
  if (status === undefined) return made;
  const { subresources } = resourceOf(kind);
  let object = made;
  for (const subresource of ["approval", "status"].filter((name) => Object.hasOwn(subresources, name))) {
    const next = { ...object, status: { ...(object["status"] as Fields | undefined), ...(status as Fields) } };
    object = await client.update(kind, next, { subresource });
  }
  return object;
}

function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const each of Object.values(value)) frozen(each);
  return Object.freeze(value);
}
