import { apiVersionOf } from "../apimachinery/object.ts";
import type { ApiList, ApiObject, ObjectKey } from "../apimachinery/object.ts";
import { badRequest } from "../apimachinery/status.ts";
import type { Client, DeleteOptions, ListOptions, ResourceRef } from "./client.ts";
import { listPages } from "./list-pages.ts";
import { keyOf } from "./object-key.ts";
import { inNamespace, listQuery, resourcePath, withQuery } from "./paths.ts";
import type { PathTarget, Query } from "./paths.ts";

/** Sends one request and resolves with the JSON value of its reply. @throws StatusError for a reply that is no success; ConnectionError */
export type SendJson = (method: string, path: string, sent?: SentBody) => Promise<unknown>;

interface SentBody {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** The verbs of a client except watch, each as one or more requests to a Kubernetes API. @throws what `send` throws; StatusError BadRequest for an object or a key that no path can name. */
export function remoteVerbs(send: SendJson): Omit<Client, "watch"> {
  async function listPage<T extends ApiObject>(resource: ResourceRef, options: ListOptions): Promise<ApiList<T>> {
    const path = withQuery(resourcePath(resource, inNamespace(options.namespace)), listQuery(options));
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
      const path = withQuery(resourcePath(resource, { ...inNamespace(namespace), ...parent }), writeQuery(options));
      return (await send("POST", path, jsonBody(object))) as T;
    },

    update: async <T extends ApiObject>(resource: ResourceRef, object: ApiObject, options: WriteOptions = {}) => {
      const path = resourcePath(resource, { ...keyOf(object), ...sub(options) });
      return (await send("PUT", withQuery(path, writeQuery(options)), jsonBody(object))) as T;
    },

    patch: async <T extends ApiObject>(
      resource: ResourceRef,
      key: ObjectKey,
      patch: unknown,
      options: WriteOptions = {},
    ) => {
      const path = resourcePath(resource, { ...key, ...sub(options) });
      const type = Array.isArray(patch) ? "application/json-patch+json" : "application/merge-patch+json";
      return (await send("PATCH", withQuery(path, writeQuery(options)), jsonBody(patch, type))) as T;
    },

    delete: async (resource: ResourceRef, key: ObjectKey, options: DeleteOptions = {}) => {
      await send("DELETE", resourcePath(resource, key), jsonBody(deleteBody(options)));
    },

    deleteCollection: async (resource: ResourceRef, options: ListOptions) => {
      const path = withQuery(resourcePath(resource, inNamespace(options.namespace)), listQuery(options));
      await send("DELETE", path, jsonBody(deleteBody({})));
    },
  };
}

interface WriteOptions {
  readonly subresource?: string;
  readonly dryRun?: boolean;
}

function sub(options: WriteOptions): PathTarget {
  return options.subresource === undefined ? {} : { subresource: options.subresource };
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
