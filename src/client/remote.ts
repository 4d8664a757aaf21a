import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Clock } from "../apimachinery/clock.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { ConnectionError } from "./client.ts";
import type { Client, ResourceRef, WatchEvent, WatchOptions } from "./client.ts";
import { unlessAborted, wholeBody } from "./exchange.ts";
import { listQuery, resourcePath, withQuery } from "./paths.ts";
import { remoteVerbs, type SendJson } from "./remote-verbs.ts";
import { parsedJson, replyError, retryAfterMs } from "./replies.ts";
import { connectionError, httpsTransport, type ClientCredentials, type TransportOptions } from "./transport.ts";
import { watchEvents } from "./watch-events.ts";

/** Address, credentials and timeouts of a Kubernetes API. */
export interface RemoteOptions extends Omit<TransportOptions, "credentials">, ClientCredentials {
  /** Called before each request and used in place of the fixed credentials. */
  readonly credentials?: TransportOptions["credentials"] | undefined;
  /** Receives credentials that the server has answered with 401; true where there are others now, with which the call is repeated once. */
  readonly refused?: ((credentials: ClientCredentials) => Promise<boolean>) | undefined;
  readonly userAgent: string;
  /** In milliseconds: for a whole reply, or for the head of a watch. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Returns [0, 1); spreads the length of watches over 5 to 10 minutes. Absent: always the middle. */
  readonly random?: (() => number) | undefined;
  /** The limit on all waits for `Retry-After` of one call, in milliseconds, default 30000 (30 seconds); 0 never waits. */
  readonly retryBudgetMs?: number | undefined;
  /** The longest reply, in bytes, default 64 MiB. */
  readonly maxReplyBytes?: number | undefined;
  /** The longest watch event, in bytes, default 8 MiB. */
  readonly maxEventBytes?: number | undefined;
}

/** An unparsed reply; `body` is complete. */
export interface RawReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface RawOptions {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: Buffer | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A Client over the network, which can also request paths that are no resources. */
export interface RemoteClient extends Client {
  /** Any request; `path` begins with a slash and is already encoded. An error status is returned, not thrown. @throws ConnectionError */
  raw(method: string, path: string, options?: RawOptions): Promise<RawReply>;
  /** Closes all connections; calls in progress fail. */
  close(): void;
}

type Answer = Pick<RawReply, "status" | "headers">;

const maxRetries = 10;

/** A client of any Kubernetes API (1.20 or newer) over HTTPS. Redirects are not followed. @throws ConnectionError INVALID_SERVER, INVALID_PROXY */
export function remoteClient(options: RemoteOptions): RemoteClient {
  const { clientCertPem, clientKeyPem, token } = options;
  const fixed: ClientCredentials = { clientCertPem, clientKeyPem, token };
  const credentials = options.credentials ?? (() => fixed);
  const transport = httpsTransport({ ...options, credentials });
  const withCredentials = credentialed(credentials, options.refused);
  const maxBytes = options.maxReplyBytes ?? 64 * 1024 * 1024;
  const common = { accept: "application/json", "user-agent": options.userAgent };

  async function once(
    method: string,
    path: string,
    extra: RawOptions & { readonly credentials: ClientCredentials },
  ): Promise<RawReply> {
    return withDeadline(options, extra.signal, async (signal) => {
      const { credentials: shown, body } = extra;
      const headers = { ...common, ...extra.headers };
      const message = await transport.open({ method, path, headers, signal, credentials: shown, body });
      return {
        status: message.statusCode ?? 0,
        headers: message.headers,
        body: await replyBody(message, options.server, maxBytes),
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
        transport.open({
          method: "GET",
          path,
          headers: common,
          credentials: shown,
          signal: AbortSignal.any([signal, head]),
        }),
      );
      if (message.statusCode === 200) return { status: 200, headers: message.headers, message };
      const body = await withDeadline(options, signal, (reading) => {
        reading.addEventListener("abort", () => message.destroy());
        return replyBody(message, options.server, maxBytes);
      });
      return { status: message.statusCode ?? 0, headers: message.headers, body };
    };
    const reply = await patiently(options, signal, () => withCredentials(signal, open));
    if ("message" in reply) return reply.message;
    throw replyError(reply.status, parsedJson(reply.body), reply.headers["retry-after"]);
  }

  const watch = watching(options, openWatch);
  return { ...remoteVerbs(sending(raw)), watch, raw, close: () => transport.close() };
}

function watching(
  options: RemoteOptions,
  open: (path: string, signal: AbortSignal) => Promise<IncomingMessage>,
): Client["watch"] {
  return async function* watch<T extends ApiObject>(
    resource: ResourceRef,
    selection: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>> {
    const { signal, namespace } = selection;
    const seconds = 300 + Math.floor(300 * (options.random?.() ?? 0.5));
    const path = withQuery(resourcePath(resource, { namespace }), {
      watch: true,
      allowWatchBookmarks: true,
      timeoutSeconds: seconds,
      ...listQuery(selection),
    });
    // The server ends the stream itself; a stream that outlasts that is dead.
    const deadline = deadlineOf(options.clock, (seconds + 30) * 1000, signal);
    try {
      if (signal.aborted) return;
      const message = await open(path, deadline.signal);
      yield* watchEvents<T>(message, options.server, options.maxEventBytes ?? 8 * 1024 * 1024);
    } catch (error) {
      if (deadline.isOver())
        throw new ConnectionError("TIMEOUT", `the watch of ${resource.plural} did not end in time`);
      if (!signal.aborted) throw error;
    } finally {
      deadline.end();
      deadline.abort();
    }
  };
}

function sending(raw: RemoteClient["raw"]): SendJson {
  return async (method, path, extra) => {
    const reply = await raw(method, path, extra);
    if (reply.status < 200 || reply.status > 299)
      throw replyError(reply.status, parsedJson(reply.body), reply.headers["retry-after"]);
    const value = parsedJson(reply.body);
    if (value === undefined) throw new ConnectionError("INVALID_REPLY", `the reply to ${method} ${path} is not JSON`);
    return value;
  };
}

async function replyBody(message: IncomingMessage, server: string, maxBytes: number): Promise<Buffer> {
  try {
    const body = await wholeBody(message, maxBytes);
    if (body === undefined) throw new ConnectionError("REPLY_TOO_LARGE", `the reply exceeds ${maxBytes} bytes`);
    return body;
  } catch (error) {
    throw connectionError(error, server);
  }
}

type WithCredentials = <R extends Answer>(
  signal: AbortSignal | undefined,
  attempt: (shown: ClientCredentials) => Promise<R>,
) => Promise<R>;

// Credentials are read outside of the timeout of a call: a plugin may wait for a person to sign in.
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

// Repeats until a reply has no Retry-After, or the waits would exceed their limit.
async function patiently<R extends Answer>(
  options: RemoteOptions,
  signal: AbortSignal | undefined,
  attempt: () => Promise<R>,
): Promise<R> {
  let budget = options.retryBudgetMs ?? 30_000;
  for (let tries = 0; ; tries += 1) {
    const reply = await attempt();
    const wait = retryAfterMs(reply.status, reply.headers["retry-after"]);
    if (wait === undefined || wait > budget || budget === 0 || tries === maxRetries || signal?.aborted === true) {
      return reply;
    }
    budget -= wait;
    await options.clock.sleep(wait, signal);
  }
}

async function withDeadline<R>(
  { clock, timeoutMs }: Pick<RemoteOptions, "clock" | "timeoutMs">,
  outer: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<R>,
): Promise<R> {
  const deadline = deadlineOf(clock, timeoutMs, outer);
  try {
    return await run(deadline.signal);
  } catch (error) {
    if (deadline.isOver()) throw new ConnectionError("TIMEOUT", `the server did not answer within ${timeoutMs} ms`);
    if (outer?.aborted === true) throw new ConnectionError("ABORTED", "the call was aborted");
    throw error;
  } finally {
    deadline.end();
  }
}

interface Deadline {
  /** Aborts with the outer signal, with `abort`, and when the time is over, unless it has ended. */
  readonly signal: AbortSignal;
  readonly isOver: () => boolean;
  readonly abort: () => void;
  readonly end: () => void;
}

function deadlineOf(clock: Clock, ms: number, outer: AbortSignal | undefined): Deadline {
  const failing = new AbortController();
  const finished = new AbortController();
  let isOver = false;
  const abort = (): void => failing.abort();
  const end = (): void => {
    outer?.removeEventListener("abort", abort);
    finished.abort();
  };
  outer?.addEventListener("abort", abort);
  if (outer?.aborted === true) abort();
  void clock.sleep(ms, finished.signal).then(() => {
    if (finished.signal.aborted) return;
    isOver = true;
    abort();
  });
  return { signal: failing.signal, isOver: () => isOver, abort, end };
}
