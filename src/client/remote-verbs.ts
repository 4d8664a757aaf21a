import { apiVersionOf, type ApiList, type ApiObject, type ObjectKey } from "../apimachinery/object.ts";
import { badRequest, StatusError } from "../apimachinery/status.ts";
import { ConnectionError, type Client, type DeleteOptions, type ListOptions, type ResourceRef } from "./client.ts";
import { keyOf, listQuery, resourcePath, withQuery, type Query } from "./paths.ts";

/** Sends one request and resolves with the JSON value of its reply. @throws StatusError for a reply that is no success; ConnectionError */
export type SendJson = (method: string, path: string, sent?: SentBody) => Promise<unknown>;

interface SentBody {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** The verbs of a client except watch, each as one or more requests to a Kubernetes API. @throws what `send` throws; StatusError BadRequest for an object or a key that no path can name. */
export function remoteVerbs(send: SendJson): Omit<Client, "watch"> {
  async function listPage<T extends ApiObject>(resource: ResourceRef, options: ListOptions): Promise<ApiList<T>> {
    const path = withQuery(resourcePath(resource, { namespace: options.namespace }), listQuery(options));
    return withTypes((await send("GET", path)) as ApiList<T>, resource);
  }

  return {
    get: async <T extends ApiObject>(resource: ResourceRef, key: ObjectKey) =>
      (await send("GET", resourcePath(resource, key))) as T,

    list: async <T extends ApiObject>(resource: ResourceRef, options: ListOptions = {}) => {
      if (options.limit !== undefined || options.continue !== undefined) return listPage<T>(resource, options);
      const { resourceVersion: _onFirstPages, ...others } = options;
      // A page that continues another is at the version of that one.
      return listPages<T>((page) =>
        listPage(resource, { ...(page.continue === undefined ? options : others), ...page }),
      );
    },

    create: async <T extends ApiObject>(resource: ResourceRef, object: ApiObject, options: WriteOptions = {}) => {
      const { namespace } = object.metadata;
      if (resource.scope === "Namespaced" && namespace === undefined) {
        throw badRequest("an empty namespace may not be set during creation");
      }
      const parent = options.subresource === undefined ? {} : { ...keyOf(object), subresource: options.subresource };
      const path = withQuery(resourcePath(resource, { namespace, ...parent }), writeQuery(options));
      return (await send("POST", path, jsonBody(object))) as T;
    },

    update: async <T extends ApiObject>(resource: ResourceRef, object: ApiObject, options: WriteOptions = {}) => {
      const path = resourcePath(resource, { ...keyOf(object), subresource: options.subresource });
      return (await send("PUT", withQuery(path, writeQuery(options)), jsonBody(object))) as T;
    },

    patch: async <T extends ApiObject>(
      resource: ResourceRef,
      key: ObjectKey,
      patch: unknown,
      options: WriteOptions = {},
    ) => {
      const path = resourcePath(resource, { ...key, subresource: options.subresource });
      const type = Array.isArray(patch) ? "application/json-patch+json" : "application/merge-patch+json";
      return (await send("PATCH", withQuery(path, writeQuery(options)), jsonBody(patch, type))) as T;
    },

    delete: async (resource: ResourceRef, key: ObjectKey, options: DeleteOptions = {}) => {
      await send("DELETE", resourcePath(resource, key), jsonBody(deleteBody(options)));
    },

    deleteCollection: async (resource: ResourceRef, options: ListOptions) => {
      const path = withQuery(resourcePath(resource, { namespace: options.namespace }), listQuery(options));
      await send("DELETE", path, jsonBody(deleteBody({})));
    },
  };
}

interface WriteOptions {
  readonly subresource?: string;
  readonly dryRun?: boolean;
}

function writeQuery(options: WriteOptions): Query {
  return { dryRun: options.dryRun === true ? "All" : undefined };
}

function deleteBody(options: DeleteOptions): Readonly<Record<string, unknown>> {
  return { kind: "DeleteOptions", apiVersion: "v1", ...options };
}

function jsonBody(value: unknown, type = "application/json"): SentBody {
  return { body: Buffer.from(JSON.stringify(value)), headers: { "content-type": type } };
}

// Items of built-in lists carry neither kind nor apiVersion, and some servers send null for no items.
function withTypes<T extends ApiObject>(list: ApiList<T>, resource: ResourceRef): ApiList<T> {
  const types = { apiVersion: apiVersionOf(resource.group, resource.version), kind: resource.kind };
  const items: unknown = list.items;
  return { ...list, items: Array.isArray(items) ? list.items.map((item) => ({ ...types, ...item })) : [] };
}

/** Lists one page; without `limit` and `continue`, everything at once. */
export type ListPage<T extends ApiObject> = (page: Pick<ListOptions, "limit" | "continue">) => Promise<ApiList<T>>;

/** How many objects a page requests, as in kubectl. */
const pageSize = 500;

/** How many pages in a row may be empty, as where a selector matches none of their objects. */
const maxEmptyPages = 100;

/** The factor by which a page shrinks whose reply is too large. */
const shrinkFactor = 8;

/**
 * Every object of a list, read page by page at the version of the first page: the size of a reply is bounded, however many objects a user
 * has created. A page whose reply is too large is requested again with fewer objects. Where the version has expired after the first page,
 * the list is read once more without pages. @throws what `list` throws; ConnectionError REPLY_TOO_LARGE for a single object that is too
 * large, INVALID_REPLY where a page returns the continue token of its request, or a hundred pages in a row are empty: such a list may
 * have no end. Source: client-go tools/pager, with FullListIfExpired.
 */
export async function listPages<T extends ApiObject>(list: ListPage<T>): Promise<ApiList<T>> {
  const items: T[] = [];
  let limit = pageSize;
  let from: Pick<ListOptions, "continue"> = {};
  let first: ApiList<T> | undefined;
  let empty = 0;
  for (;;) {
    try {
      const page = await list({ limit, ...from });
      first ??= page;
      items.push(...page.items);
      const { continue: next } = page.metadata;
      if (next === undefined || next === "") return whole(first, items);
      empty = page.items.length === 0 ? empty + 1 : 0;
      requireProgress(next, from.continue, empty);
      from = { continue: next };
    } catch (error) {
      if (isExpired(error) && from.continue !== undefined) return list({});
      limit = shorterLimit(error, limit);
    }
  }
}

/** How many objects to request instead, where their reply was too large. @throws the error otherwise */
function shorterLimit(error: unknown, limit: number): number {
  const isTooLarge = error instanceof ConnectionError && error.code === "REPLY_TOO_LARGE";
  if (!isTooLarge || limit === 1) throw error;
  return Math.max(1, Math.floor(limit / shrinkFactor));
}

/** @throws ConnectionError INVALID_REPLY for a list that may have no end */
function requireProgress(next: string, sent: string | undefined, empty: number): void {
  if (next === sent) throw endless("a page with the continue token that this client sent");
  if (empty > maxEmptyPages) throw endless(`more than ${maxEmptyPages} pages in a row without objects`);
}

function endless(what: string): ConnectionError {
  return new ConnectionError(
    "INVALID_REPLY",
    `the server sent ${what}, so the list may have no end: check the server, and any proxy in front of it`,
  );
}

/** A watch from the version of a later page, where a server has moved on, would miss what changed in earlier ones. */
function whole<T extends ApiObject>(first: ApiList<T>, items: readonly T[]): ApiList<T> {
  const { continue: _next, remainingItemCount: _left, ...metadata } = first.metadata;
  return { ...first, metadata, items };
}

function isExpired(error: unknown): boolean {
  return error instanceof StatusError && error.reason === "Expired";
}
