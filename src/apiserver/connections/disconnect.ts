import type { Incoming, Outgoing } from "../http-types.ts";

/**
 * Calls `act` when the response has closed: it was sent whole, or its client is gone; at once where that has happened already, as node
 * emits `close` only once. May call it twice.
 */
export function onDisconnect(response: Outgoing, act: () => void): void {
  if (hasClosed(response)) {
    act();
    return;
  }
  response.once("close", act);
  // A response that waits behind others of its HTTP/1.1 connection has no socket yet, and emits no `close` when that socket closes.
  if (!("stream" in response)) response.req.once("aborted", act);
}

function hasClosed(response: Outgoing): boolean {
  if ("stream" in response) return response.stream.destroyed;
  return response.destroyed || response.req.socket.destroyed;
}

/** Whether the body of a request ended early: its `aborted` and `close` may have been emitted already, and its `end` says nothing then. */
export function isBrokenOff(request: Incoming): boolean {
  // A stream of HTTP/2 is closed under a request that is not destroyed.
  if ("stream" in request) return request.destroyed || request.stream.destroyed || request.stream.closed;
  return request.destroyed;
}
