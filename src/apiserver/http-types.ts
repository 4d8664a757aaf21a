import { type IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Piece } from "./response-writer.ts";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

/** A request over HTTP/1.1 or HTTP/2; only what both have in common is used. */
export type Incoming = IncomingMessage | Http2ServerRequest;
export type Outgoing = ServerResponse | Http2ServerResponse;

/** Query parameters of one request; unknown ones are ignored everywhere. */
export type Query = Pick<URLSearchParams, "get" | "getAll" | "has">;

const emptyQuery: Query = new URLSearchParams();

/** Splits a request target at the question mark. */
export function splitTarget(target: string): { readonly path: string; readonly query: Query } {
  const at = target.indexOf("?");
  if (at < 0) return { path: target, query: emptyQuery };
  return { path: target.slice(0, at), query: new URLSearchParams(target.slice(at + 1)) };
}

/** A header that occurs once; repeated ones are joined as node joins them. */
export function header(request: Incoming, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(",") : value;
}

/** Kubernetes' reading of a boolean parameter: present and not `false`, in any case of letters, or `0`. */
export function flag(query: Query, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== "0" && value.toLowerCase() !== "false";
}

/** A body that is encoded while it is sent; a failure then ends the connection, as the status was sent before. */
export interface LazyBody {
  /** Encodes one part per call of `next`. */
  readonly pieces: () => AsyncIterable<readonly Piece[]>;
}

/** Part of a whole reply; a stream writes to Outgoing by itself. */
export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer | string | LazyBody;
  /** The content of `body` where that is not JSON or is lazy, or `tooLong`; for the audit log. */
  readonly plain?: () => unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Replaces an answer that is longer than the audit log records. */
export const tooLong: unique symbol = Symbol("too long");

/** The connection of an upgrade request of HTTP/1.1; the HTTP parser reads nothing more of it. */
export interface Upgrade {
  readonly socket: Duplex;
  /** What the client has sent behind its request. */
  readonly head: Buffer;
}

/**
 * A response to an upgrade request, after which its connection is closed: what follows the request was not parsed,
 * and never is as a further request. Undefined where an earlier request of the connection has no answer yet; the connection is closed then.
 */
export function responseToUpgrade(request: IncomingMessage, socket: Socket): ServerResponse | undefined {
  // Node has removed its own listeners.
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

/** The protocol of an upgrade request, in lower case; undefined for any other request. */
export function upgradeType(request: Incoming): string | undefined {
  const { connection = "", upgrade } = request.headers;
  const asks = connection.split(",").some((token) => token.trim().toLowerCase() === "upgrade");
  return asks && typeof upgrade === "string" ? upgrade.toLowerCase() : undefined;
}
