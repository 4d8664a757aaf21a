import { listFrom, readVersion, watchStart } from "../apimachinery/resource-version.ts";
import { StatusError, badRequest, internalError } from "../apimachinery/status.ts";
import type { Registry } from "../registry/registry.ts";
import { entryReply } from "./encode.ts";
import { flag, type Reply } from "./http-types.ts";
import { listReply } from "./list-reply.ts";
import { countOf } from "./query-options.ts";
import { endingsOf, namespaceOf, selectionIn, shapedEntry, shownAsOf, viewOf, type Call } from "./resource-call.ts";
import { writeHead } from "./respond.ts";
import { objectOf } from "../registry/entry.ts";
import { watchFrames } from "./watch-frames.ts";
import { watchStream } from "./watch-stream.ts";

/** A watch without timeoutSeconds lasts once to twice this long. Source: apiserver's MinRequestTimeout. */
const watchSeconds = 1800;

export async function get(call: Call): Promise<Reply> {
  const view = viewOf(call);
  const { resource } = call;
  // Kubernetes reads all but events from a cache, whose error for an invalid number has no reason.
  const refuse = (why: string): StatusError =>
    resource.plural === "events" ? badRequest(`invalid resource version: ${why}`) : new StatusError("", why);
  const atLeast = readVersion(call.query.get("resourceVersion"), refuse);
  const entry = await call.options.registry.get(call.resource, {
    namespace: namespaceOf(call),
    name: call.info.name,
    atLeast,
  });
  const shownAs = shownAsOf(call);
  const missing = shownAs?.missing(objectOf(entry));
  if (missing !== undefined) throw internalError(missing);
  return entryReply(view, shapedEntry(shownAs, entry), 200);
}

export async function list(call: Call): Promise<Reply> {
  const view = viewOf(call);
  const { query } = call;
  const limit = Math.max(countOf(query, "limit") ?? 0, 0);
  countOf(query, "timeoutSeconds");
  const listed = await call.options.registry.list(call.resource, {
    namespace: namespaceOf(call),
    selection: selectionIn(call),
    from: listFrom(query, limit),
    limit: limit === 0 ? undefined : limit,
    turn: view.turn,
  });
  return listReply(view, listed);
}

export async function watch(call: Call): Promise<"streamed"> {
  const { query, response, options } = call;
  const view = viewOf(call);
  const selection = selectionIn(call);
  const start = watchStart(query);
  const seconds = countOf(query, "timeoutSeconds") ?? 0;
  countOf(query, "limit");
  const timeoutMs = durationMs(call, seconds);
  const encoder = watchFrames(view);
  let wake = (): void => undefined;
  const handle = await startWatch(call, { selection, start, wake: () => wake(), turn: view.turn });
  const headers = { "cache-control": "no-cache, private", ...call.common(), "content-type": encoder.contentType };
  writeHead(response, 200, headers);
  (response as { flushHeaders?: () => void }).flushHeaders?.();
  call.streaming();
  if (call.request.method === "HEAD") {
    if (!(handle instanceof StatusError)) handle.close();
    response.end();
    return "streamed";
  }
  if (handle instanceof StatusError) {
    response.end(encoder.error(handle));
    return "streamed";
  }
  const { signals, release } = endingsOf(call);
  const stream = watchStream({
    handle,
    response,
    buffer: call.buffer(),
    turn: view.turn,
    encoder,
    clock: options.clock,
    timeoutMs,
    bookmarks: flag(query, "allowWatchBookmarks"),
    onAbort: options.onAbort,
    wrote: options.watched(call.resource),
    terminated: () => options.terminated(call.resource),
    signals,
  });
  wake = stream.wake;
  stream.wake();
  await stream.done;
  release();
  return "streamed";
}

/** How long a watch lasts: it does not outlive its credential. */
function durationMs({ options, requester: { credential } }: Call, seconds: number): number {
  const wantedMs = 1000 * (seconds > 0 ? seconds : watchSeconds * (1 + options.chance()));
  return Math.min(wantedMs, (credential?.until ?? Number.POSITIVE_INFINITY) - options.clock.now());
}

type WatchRequest = Omit<Parameters<Registry["watch"]>[1], "namespace">;

/** Expired history is reported inside the stream, where reflectors look for it. */
async function startWatch(
  call: Call,
  request: WatchRequest,
): Promise<Awaited<ReturnType<Registry["watch"]>> | StatusError> {
  try {
    return await call.options.registry.watch(call.resource, { namespace: namespaceOf(call), ...request });
  } catch (error) {
    if (error instanceof StatusError && error.reason === "Expired") return error;
    throw error;
  }
}
