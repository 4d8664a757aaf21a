import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Follows the answers of HTTP/1.1 connections, given each with its request's socket. A client may send requests without waiting for
 * answers. When its connection closes, Node emits `close` on the answer that is being sent and on none of those behind it, which would
 * keep for ever what they hold; this emits it on them as well.
 */
export function pipelinedAnswers(): (socket: Socket, response: ServerResponse) => void {
  const bySocket = new WeakMap<Socket, Set<ServerResponse>>();
  const follow = (socket: Socket): Set<ServerResponse> => {
    const answers = new Set<ServerResponse>();
    bySocket.set(socket, answers);
    socket.once("close", () => {
      for (const response of answers) {
        if (response.socket !== null) continue;
        response.destroy();
        response.emit("close");
      }
    });
    return answers;
  };
  return (socket, response) => {
    const answers = bySocket.get(socket) ?? follow(socket);
    answers.add(response);
    response.once("close", () => answers.delete(response));
  };
}
