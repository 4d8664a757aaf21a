import { abortListeners } from "../apimachinery/abort-listeners.ts";
import { apiVersionOf, type ApiObject, type ObjectKey } from "../apimachinery/object.ts";
import { qualified, StatusError, internalError } from "../apimachinery/status.ts";
import type { Resource } from "../apis/resource.ts";
import type { Entry } from "../storage/stored-object.ts";
import type { Backend, RequestContext } from "./backend.ts";
import { create, type CreateRequest } from "./create.ts";
import { connect, createUnder, type Connected, type CreateUnder, type UnderObjectRequest } from "./under-object.ts";
import { remove, type Deleted, type DeleteRequest, removeCollection, type DeleteCollectionRequest } from "./delete.ts";
import { get, list, type Listed, type ListRequest } from "./read.ts";
import { unstoredEntry } from "./storable.ts";
import { update, type UpdateRequest } from "./update.ts";
import { watch, type WatchHandle, type WatchRequest } from "./watch.ts";
import { StorageError } from "../storage/store.ts";

/** Answers a create of a kind that is evaluated and never stored; the object was decoded, its metadata is the client's. */
export type Review = (
  object: ApiObject,
  request: { readonly namespace: string; readonly context: RequestContext },
) => Promise<ApiObject>;

/** The verbs over every served resource. The caller authorizes; everything after that happens here. */
export interface Registry {
  find(group: string, version: string, plural: string): Resource | undefined;
  resources(): readonly Resource[];
  get(resource: Resource, request: ObjectKey & { readonly atLeast?: number | undefined }): Promise<Entry>;
  list(resource: Resource, request: ListRequest): Promise<Listed>;
  watch(resource: Resource, request: WatchRequest): Promise<WatchHandle>;
  create(resource: Resource, request: CreateRequest): Promise<Entry>;
  /** Creates the object of a subresource, e.g. a token under a ServiceAccount. */
  createUnder(resource: Resource, request: UnderObjectRequest): Promise<Entry>;
  /** Finds an object, and calls admission for a connection to its kubelet. */
  connect(resource: Resource, request: UnderObjectRequest): Promise<Connected>;
  update(resource: Resource, request: UpdateRequest): Promise<{ readonly entry: Entry; readonly created: boolean }>;
  remove(resource: Resource, request: DeleteRequest): Promise<Deleted>;
  removeCollection(resource: Resource, request: DeleteCollectionRequest): Promise<Listed>;
}

export interface RegistryOptions {
  readonly backend: Backend;
  /** The resources served now; another array whenever they change. */
  readonly resources: () => readonly Resource[];
  /** By `plural.group`. Every resource with create as its only verb needs one. */
  readonly reviews: Readonly<Record<string, Review>>;
  /** By `plural.group/subresource`. Every subresource with the verb create needs one. */
  readonly created: Readonly<Record<string, CreateUnder>>;
  /** Aborts when a kind is removed or changed; undefined for built-in kinds. */
  readonly lifeOf?: (resource: Resource) => AbortSignal | undefined;
}

/** Joins resources, admission and store. Every error it throws is a StatusError or a fault. */
export function registry({ backend, resources, reviews, created, lifeOf }: RegistryOptions): Registry {
  const byPath = pathsOf(resources);
  const onAbort = abortListeners();
  return {
    find: (group, version, plural) => byPath().get(`${apiVersionOf(group, version)}/${plural}`),
    resources,
    get: (resource, request) => get(backend, resource, request).catch(refused),
    list: (resource, request) => list(backend, resource, request).catch(refused),
    watch: (resource, request) =>
      watch(backend, resource, { request, onAbort, ended: lifeOf?.(resource) }).catch(refused),
    create: (resource, request) => {
      const review = reviews[qualified(resource)];
      const created = review === undefined ? create(backend, resource, request) : evaluated(review, request);
      return created.catch(refused);
    },
    createUnder: (resource, request) => {
      const answer = created[`${qualified(resource)}/${request.subresource}`];
      return createUnder(backend, resource, { request, answer }).catch(refused);
    },
    connect: (resource, request) => connect(backend, resource, request).catch(refused),
    update: (resource, request) => update(backend, resource, request).catch(refused),
    remove: (resource, request) => remove(backend, resource, request).catch(refused),
    removeCollection: (resource, request) => removeCollection(backend, resource, request).catch(refused),
  };
}

/** The resources by their path, derived again only when the resources change. */
function pathsOf(resources: () => readonly Resource[]): () => ReadonlyMap<string, Resource> {
  let from: readonly Resource[] = [];
  let byPath: ReadonlyMap<string, Resource> = new Map();
  return () => {
    const now = resources();
    if (now !== from) {
      from = now;
      byPath = new Map(
        now.map((resource) => [`${apiVersionOf(resource.group, resource.version)}/${resource.plural}`, resource]),
      );
    }
    return byPath;
  };
}

async function evaluated(review: Review, { object, namespace, context }: CreateRequest): Promise<Entry> {
  // Like any object, a review is in the namespace of its path, whether or not it names one.
  const asked = namespace === "" ? object : { ...object, metadata: { ...object.metadata, namespace } };
  return unstoredEntry("", await review(asked, { namespace, context }));
}

/** @throws StatusError for a failure of the store; any other error unchanged */
function refused(error: unknown): never {
  throw error instanceof StorageError ? storageStatus[error.code]() : error;
}

const storeFull =
  "the disk of the hub is full, and nothing of this write is stored: free space on the file system of the hub's data directory, " +
  "or delete objects; deletions, Leases and revocations are still taken, and the hub takes all writes again within seconds once there is room";

const overQuota =
  "the store of the hub has reached its quota, and nothing of this write is stored: delete objects, or start the hub with a larger " +
  "--quota-backend-bytes; deletions, Leases and revocations are still taken, and the hub takes all writes again within seconds once there is room";

const unwritten =
  "the disk of the hub refused this write, and nothing of it is stored; the hub's log names the cause, and the hub tries its disk again every few seconds";

const unknown =
  "the disk of the hub failed during this write, and whether it is stored is not known yet; read the object before writing again; the hub's log names the cause";

const again = { details: { retryAfterSeconds: 1 } } as const;
const late = (): StatusError => new StatusError("Timeout", "Timeout: the store did not answer in time", again);
const unavailable = (): StatusError => new StatusError("ServiceUnavailable", "the store is not available", again);
const unreadable = (): StatusError => internalError("the store cannot be read; the hub's log says why");

const storageStatus: Readonly<Record<StorageError["code"], () => StatusError>> = {
  compacted: () => new StatusError("Expired", "The resourceVersion for the provided list is too old."),
  future: late,
  timeout: late,
  unreachable: unavailable,
  closed: unavailable,
  locked: unavailable,
  full: () => new StatusError("InsufficientStorage", storeFull),
  quota: () => new StatusError("InsufficientStorage", overQuota),
  unwritten: () => internalError(unwritten),
  unknown: () => internalError(unknown),
  corrupt: unreadable,
  format: unreadable,
};
