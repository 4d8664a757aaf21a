import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Clock } from "../core/clock.ts";
import { apiVersionOf } from "../core/object.ts";
import type { ApiList, ApiObject, ObjectKey } from "../core/object.ts";
import { badRequest, StatusError } from "../core/status.ts";
import { ConnectionError } from "./client.ts";
import type { Client, DeleteOptions, ListOptions, ResourceRef, WatchEvent, WatchOptions } from "./client.ts";
import { lineCutter } from "./lines.ts";
import { listPages } from "./list-pages.ts";
import { keyOf } from "./object-key.ts";
import { listQuery, resourcePath, withQuery } from "./paths.ts";
import type { PathTarget, Query } from "./paths.ts";
import { replyError, retryAfterMs, watchError } from "./replies.ts";
import { connectionError, httpsTransport } from "./transport.ts";
import type { ClientCredentials, TransportOptions } from "./transport.ts";

/** How to reach a Kubernetes API, who to be there, and how long to wait. */
export interface RemoteOptions extends Omit<TransportOptions, "credentials">, ClientCredentials {
  /** Asked before each request and used in place of the fixed credentials. */
  readonly credentials?: TransportOptions["credentials"];
  /** Is told of credentials that the server has answered with 401; true where others are there now, with which the call is made once more. */
  readonly refused?: ((credentials: ClientCredentials) => Promise<boolean>) | undefined;
  readonly userAgent: string;
  /** In milliseconds: for a whole reply, or for the head of a watch. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Yields [0, 1); spreads the length of watches over 5 to 10 minutes. Absent: always the middle. */
  readonly random?: () => number;
  /** How long the waits that `Retry-After` asks for may take together for one call, in milliseconds, default 30000 (30 seconds); 0 never waits. */
  readonly retryBudgetMs?: number;
  /** The longest reply, in bytes, default 64 MiB. */
  readonly maximumReplyBytes?: number;
  /** The longest watch event, in bytes, default 8 MiB. */
  readonly maximumEventBytes?: number;
}

/** A reply as it came; `body` is complete. */
export interface RawReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface RawOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  readonly signal?: AbortSignal;
}

/** A Client over the network, with a door for paths that are no resources. */
export interface RemoteClient extends Client {
  /** Any request; `path` begins with a slash and is already encoded. A refusal is returned, not thrown. @throws ConnectionError */
  raw(method: string, path: string, options?: RawOptions): Promise<RawReply>;
  /** Closes all connections; calls under way fail. */
  close(): void;
}

type Answer = Pick<RawReply, "status" | "headers">;
type Send = (method: string, path: string, options?: RawOptions) => Promise<unknown>;

const retriesAtMost = 10;

/** A client of any Kubernetes API (1.20 or newer) over HTTPS. Redirects are not followed. @throws ConnectionError INVALID_SERVER, INVALID_PROXY */
export function remoteClient(options: RemoteOptions): RemoteClient {
  const credentials = options.credentials ?? fixedCredentials(options);
  const transport = httpsTransport({ ...options, credentials });
  const withCredentials = credentialed(credentials, options.refused);
  const maximumBytes = options.maximumReplyBytes ?? 64 * 1024 * 1024;
  const common = { accept: "application/json", "user-agent": options.userAgent };

  async function once(
    method: string,
    path: string,
    extra: RawOptions & { readonly credentials: ClientCredentials },
  ): Promise<RawReply> {
    return withDeadline(options, extra.signal, async (signal) => {
      const headers = { ...common, ...extra.headers };
      const body = extra.body === undefined ? {} : { body: extra.body };
      const message = await transport.open({ method, path, headers, signal, credentials: extra.credentials, ...body });
      return {
        status: message.statusCode ?? 0,
        headers: message.headers,
        body: await wholeBody(message, options.server, maximumBytes),
      };
    });
  }

  async function raw(method: string, path: string, extra: RawOptions = {}): Promise<RawReply> {
    return patiently(options, extra.signal, () =>
      withCredentials(extra.signal, (shown) => once(method, path, { ...extra, credentials: shown })),
    );
  }

  async function openWatch(path: string, signal: AbortSignal): Promise<IncomingMessage> {
    const open = async (
      shown: ClientCredentials,
    ): Promise<Answer & (RawReply | { readonly message: IncomingMessage })> => {
      const message = await withDeadline(options, signal, (head) =>
        transport.open({ method: "GET", path, headers: common, credentials: shown, signal: joined(signal, head) }),
      );
      if (message.statusCode === 200) return { status: 200, headers: message.headers, message };
      const body = await withDeadline(options, signal, (reading) => {
        reading.addEventListener("abort", () => message.destroy());
        return wholeBody(message, options.server, maximumBytes);
      });
      return { status: message.statusCode ?? 0, headers: message.headers, body };
    };
    const reply = await patiently(options, signal, () => withCredentials(signal, open));
    if ("message" in reply) return reply.message;
    throw replyError(reply.status, parsed(reply.body), reply.headers["retry-after"]);
  }

  async function* watch<T extends ApiObject>(
    resource: ResourceRef,
    selection: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>> {
    const { signal } = selection;
    const seconds = 300 + Math.floor(300 * (options.random?.() ?? 0.5));
    const path = withQuery(resourcePath(resource, target(selection.namespace)), {
      watch: true,
      allowWatchBookmarks: true,
      timeoutSeconds: seconds,
      ...listQuery(selection),
    });
    const ended = new AbortController();
    const stop = (): void => ended.abort();
    signal.addEventListener("abort", stop);
    let late = false;
    // The server ends the stream itself; one that does not is dead without knowing it.
    void options.clock.sleep((seconds + 30) * 1000, ended.signal).then(() => {
      if (ended.signal.aborted) return;
      late = true;
      ended.abort();
    });
    try {
      if (signal.aborted) return;
      const message = await openWatch(path, ended.signal);
      yield* eventsOf<T>(message, options.server, options.maximumEventBytes ?? 8 * 1024 * 1024);
    } catch (error) {
      if (late) throw new ConnectionError("TIMEOUT", `the watch of ${resource.plural} did not end in time`);
      if (!signal.aborted) throw error;
    } finally {
      signal.removeEventListener("abort", stop);
      ended.abort();
    }
  }

  return { ...verbs(sending(raw)), watch, raw, close: () => transport.close() };
}

function sending(raw: RemoteClient["raw"]): Send {
  return async (method, path, extra) => {
    const reply = await raw(method, path, extra);
    if (reply.status < 200 || reply.status > 299)
      throw replyError(reply.status, parsed(reply.body), reply.headers["retry-after"]);
    const value = parsed(reply.body);
    if (value === undefined) throw new ConnectionError("INVALID_REPLY", `the reply to ${method} ${path} is not JSON`);
    return value;
  };
}

function fixedCredentials(options: ClientCredentials): () => ClientCredentials {
  const fixed = {
    ...(options.clientCertPem === undefined ? {} : { clientCertPem: options.clientCertPem }),
    ...(options.clientKeyPem === undefined ? {} : { clientKeyPem: options.clientKeyPem }),
    ...(options.token === undefined ? {} : { token: options.token }),
  };
  return () => fixed;
}

function verbs(send: Send): Omit<Client, "watch"> {
  async function listPage<T extends ApiObject>(resource: ResourceRef, options: ListOptions): Promise<ApiList<T>> {
    const path = withQuery(resourcePath(resource, target(options.namespace)), listQuery(options));
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
      const path = withQuery(resourcePath(resource, { ...target(namespace), ...parent }), writeQuery(options));
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
      const path = withQuery(resourcePath(resource, target(options.namespace)), listQuery(options));
      await send("DELETE", path, jsonBody(deleteBody({})));
    },
  };
}

interface WriteOptions {
  readonly subresource?: string;
  readonly dryRun?: boolean;
}

function target(namespace: string | undefined): PathTarget {
  return namespace === undefined ? {} : { namespace };
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

function jsonBody(value: unknown, type = "application/json"): RawOptions {
  return { body: Buffer.from(JSON.stringify(value)), headers: { "content-type": type } };
}

// Items of built-in lists carry neither kind nor apiVersion, and some servers send null for no items.
function withTypes<T extends ApiObject>(list: ApiList<T>, resource: ResourceRef): ApiList<T> {
  const types = { apiVersion: apiVersionOf(resource.group, resource.version), kind: resource.kind };
  const items: unknown = list.items;
  return { ...list, items: Array.isArray(items) ? list.items.map((item) => ({ ...types, ...item })) : [] };
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

async function wholeBody(message: IncomingMessage, server: string, maximumBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of message as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maximumBytes)
        throw new ConnectionError("REPLY_TOO_LARGE", `the reply exceeds ${maximumBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw connectionError(error, server);
  }
  return Buffer.concat(chunks);
}

async function* eventsOf<T extends ApiObject>(
  message: IncomingMessage,
  server: string,
  maximumBytes: number,
): AsyncGenerator<WatchEvent<T>> {
  const cutter = lineCutter(maximumBytes);
  try {
    for await (const chunk of message as AsyncIterable<Buffer>) {
      const lines = cutter.push(chunk);
      if (lines === undefined) throw new ConnectionError("EVENT_TOO_LARGE", `an event exceeds ${maximumBytes} bytes`);
      for (const line of lines) yield eventOf<T>(line);
    }
  } catch (error) {
    throw error instanceof StatusError ? error : connectionError(error, server);
  }
  if (cutter.rest().length > 0) throw new ConnectionError("TRUNCATED", "the watch ended inside an event");
}

function eventOf<T extends ApiObject>(line: Buffer): WatchEvent<T> {
  const event = parsed(line) as { readonly type?: unknown; readonly object?: T } | undefined | null;
  const object = event?.object;
  if (event?.type === "ERROR") throw watchError(object);
  if (typeof object !== "object" || object === null || typeof object.metadata !== "object") {
    throw new ConnectionError("INVALID_EVENT", "the watch sent something that is no event");
  }
  switch (event?.type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return { type: event.type, object };
    case "BOOKMARK":
      return { type: "BOOKMARK", resourceVersion: object.metadata.resourceVersion ?? "" };
    default:
      throw new ConnectionError("INVALID_EVENT", "the watch sent an event of an unknown type");
  }
}

type WithCredentials = <R extends Answer>(
  signal: AbortSignal | undefined,
  attempt: (shown: ClientCredentials) => Promise<R>,
) => Promise<R>;

// Credentials are asked for outside of the deadline of a call: a person may have to sign in meanwhile.
function credentialed(
  credentials: TransportOptions["credentials"],
  refused: RemoteOptions["refused"],
): WithCredentials {
  return async (signal, attempt) => {
    const shown = await unlessAborted(credentials(), signal);
    const reply = await attempt(shown);
    if (reply.status !== 401 || refused === undefined || !(await refused(shown))) return reply;
    return attempt(await unlessAborted(credentials(), signal));
  };
}

async function unlessAborted<T>(value: T | Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined || !(value instanceof Promise)) return value;
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(new ConnectionError("ABORTED", "the call was aborted"));
  });
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  try {
    return await Promise.race([value, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

// Sends until the reply asks for no further wait, or the waits would exceed their budget.
async function patiently<R extends Answer>(
  options: RemoteOptions,
  signal: AbortSignal | undefined,
  attempt: () => Promise<R>,
): Promise<R> {
  let budget = options.retryBudgetMs ?? 30_000;
  for (let tries = 0; ; tries += 1) {
    const reply = await attempt();
    const wait = retryAfterMs(reply.status, reply.headers["retry-after"]);
    if (wait === undefined || wait > budget || budget === 0 || tries === retriesAtMost || signal?.aborted === true) {
      return reply;
    }
    budget -= wait;
    await options.clock.sleep(wait, signal);
  }
}

async function withDeadline<R>(
  options: Pick<RemoteOptions, "clock" | "timeoutMs">,
  outer: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<R>,
): Promise<R> {
  const failing = new AbortController();
  const finished = new AbortController();
  let late = false;
  const stop = (): void => failing.abort();
  outer?.addEventListener("abort", stop);
  if (outer?.aborted === true) stop();
  void options.clock.sleep(options.timeoutMs, finished.signal).then(() => {
    if (finished.signal.aborted) return;
    late = true;
    stop();
  });
  try {
    return await run(failing.signal);
  } catch (error) {
    if (late) throw new ConnectionError("TIMEOUT", `the server did not answer within ${options.timeoutMs} ms`);
    if (outer?.aborted === true) throw new ConnectionError("ABORTED", "the call was aborted");
    throw error;
  } finally {
    outer?.removeEventListener("abort", stop);
    finished.abort();
  }
}

// For a stream: its head may fail late, but once open it lives until `life` ends.
function joined(life: AbortSignal, head: AbortSignal): AbortSignal {
  return AbortSignal.any([life, head]);
}
