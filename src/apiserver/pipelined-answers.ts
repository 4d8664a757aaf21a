import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The answers of HTTP/1.1 connections that are not sent yet: a client may send requests without waiting for answers. */
export interface PipelinedAnswers {
  /**
   * Follows an answer, given with its request's socket. When a connection closes, Node emits `close` on the answer that is being sent and
   * on none of those behind it, which would keep for ever what they hold; this emits it on them as well.
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
