import { ServerResponse, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Incoming } from "./http-types.ts";

/** The connection of a request of HTTP/1.1 that asks for another protocol; the HTTP parser reads nothing more of it. */
export interface Upgrade {
  readonly socket: Duplex;
  /** What the client has sent behind its request. */
  readonly head: Buffer;
}

/**
 * A response for a request that asks for another protocol, after which its connection is closed: what follows the request was not parsed,
 * and never is as a further request. Undefined where an earlier request of the connection has no answer yet; the connection is closed then.
 */
export function responseToUpgrade(request: IncomingMessage, socket: Socket): ServerResponse | undefined {
  // Node has taken its own listeners off.
  socket.on("error", () => socket.destroy());
  socket.setTimeout(0);
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  try {
    response.assignSocket(socket);
  } catch {
    socket.destroy();
    return undefined;
  }
  response.once("finish", () => {
    response.detachSocket(socket);
    socket.destroySoon();
  });
  return response;
}

/** The protocol that a request asks for, in lower case; undefined where it asks for none. */
export function upgradeType(request: Incoming): string | undefined {
  const { connection = "", upgrade } = request.headers;
  const asks = connection.split(",").some((token) => token.trim().toLowerCase() === "upgrade");
  return asks && typeof upgrade === "string" ? upgrade.toLowerCase() : undefined;
}
