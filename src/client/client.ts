import type { ApiList, ApiObject, ObjectKey } from "../apimachinery/object.ts";
import type { Resource } from "../apis/resource.ts";

/** The kind that a call is for; every Resource is one. */
export type ResourceRef = Pick<Resource, "group" | "version" | "plural" | "kind" | "scope">;

export interface ListOptions {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
}

export interface WatchOptions {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Events after this version; absent: the current state as ADDED first. */
  readonly resourceVersion?: string | undefined;
  readonly signal: AbortSignal;
}

export type WatchEvent<T extends ApiObject = ApiObject> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string };

export interface DeleteOptions {
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: "Foreground" | "Background" | "Orphan";
}

/**
 * The Kubernetes API as this program uses it, in process and over the network alike. Every rejection is thrown as a StatusError; a
 * failure to reach the server as a ConnectionError. Returned objects are shared: never change them in place.
 */
export interface Client {
  get<T extends ApiObject>(resource: ResourceRef, key: ObjectKey): Promise<T>;
  /** Every object, however many pages the server splits them into; with `limit` or `continue`, that page. */
  list<T extends ApiObject>(resource: ResourceRef, options?: ListOptions): Promise<ApiList<T>>;
  /** Ends when `signal` aborts or the server closes the stream. @throws StatusError Expired when the version is too old. */
  watch<T extends ApiObject>(resource: ResourceRef, options: WatchOptions): AsyncIterable<WatchEvent<T>>;
  /** `subresource` creates under an object, e.g. a token of a ServiceAccount; `object.metadata.name` then names the parent. */
  create<T extends ApiObject>(
    resource: ResourceRef,
    object: ApiObject,
    options?: { readonly subresource?: string; readonly dryRun?: boolean },
  ): Promise<T>;
  update<T extends ApiObject>(
    resource: ResourceRef,
    object: ApiObject,
    options?: { readonly subresource?: string; readonly dryRun?: boolean },
  ): Promise<T>;
  /** A JSON merge patch, or a JSON patch when `patch` is an array. */
  patch<T extends ApiObject>(
    resource: ResourceRef,
    key: ObjectKey,
    patch: unknown,
    options?: { readonly subresource?: string; readonly dryRun?: boolean },
  ): Promise<T>;
  delete(resource: ResourceRef, key: ObjectKey, options?: DeleteOptions): Promise<void>;
  deleteCollection(resource: ResourceRef, options: ListOptions): Promise<void>;
}

/** The server was unreachable, or the connection broke; the call's effect is unknown. */
export class ConnectionError extends Error {
  /** Node's error code where there is one, e.g. ECONNREFUSED, CERT_HAS_EXPIRED; `TIMEOUT` for a timeout of this client. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ConnectionError";
    this.code = code;
  }
}
