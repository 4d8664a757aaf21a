import type { Incoming, Outgoing } from "../http-types.ts";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

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

/** Whether the body of a request ended early: its `aborted` and `close` may have been emitted already, and its `end` is then meaningless. */
export function isBrokenOff(request: Incoming): boolean {
  // A stream of HTTP/2 is closed under a request that is not destroyed.
  if ("stream" in request) return request.destroyed || request.stream.destroyed || request.stream.closed;
  return request.destroyed;
}

/** The answers of HTTP/1.1 connections that are not sent yet: a client may send requests without waiting for answers. */
export interface PipelinedAnswers {
  /**
   * Follows an answer on its request's socket. When a connection closes, Node emits `close` on the answer that is being sent and
   * on none of those behind it, which would never release their resources; this emits it on them as well.
   */
  readonly follow: (socket: Socket, response: ServerResponse) => void;
  /** Calls `act` once, when all answers of the socket that are followed now are sent or given up; at once where there is none. */
  readonly whenSent: (socket: Socket, act: () => void) => void;
}

/** What is known of one connection. */
interface Connection {
  readonly answers: Set<ServerResponse>;
  whenSent: (() => void) | undefined;
}

/** Follows no connection yet. */
export function pipelinedAnswers(): PipelinedAnswers {
  const bySocket = new WeakMap<Socket, Connection>();
  const begin = (socket: Socket): Connection => {
    const connection: Connection = { answers: new Set(), whenSent: undefined };
    bySocket.set(socket, connection);
    socket.once("close", () => {
      for (const response of connection.answers) {
        if (response.socket !== null) continue;
        response.destroy();
        response.emit("close");
      }
    });
    return connection;
  };
  return {
    follow: (socket, response) => {
      const connection = bySocket.get(socket) ?? begin(socket);
      connection.answers.add(response);
      response.once("close", () => {
        connection.answers.delete(response);
        if (connection.answers.size === 0) connection.whenSent?.();
      });
    },
    whenSent: (socket, act) => {
      const connection = bySocket.get(socket);
      if (connection === undefined || connection.answers.size === 0) act();
      else connection.whenSent ??= act;
    },
  };
}
