import { constants } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from "node:http2";
import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connectionBurst, type ConnectionBurst, handshakeLimiter } from "./connections/handshakes.ts";
import {
  connectionLimiter,
  type ConnectionCounts,
  type ConnectionLimiter,
  type ConnectionLimits,
} from "./connections/connection-limiter.ts";
import { type Incoming, type Outgoing, responseToUpgrade, type Upgrade } from "./http-types.ts";
import { bringsBody } from "./body/body.ts";
import { pipelinedAnswers } from "./connections/disconnect.ts";

export interface ServerOptions {
  readonly certPem: string;
  readonly keyPem: string;
  /** The subject names of these CAs are sent to clients as a hint which certificate to present; no certificate is verified against them. */
  readonly clientCaPem: string;
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** `upgrade` is defined for an upgrade request of HTTP/1.1; it may be answered as any other. */
  readonly handle: (request: Incoming, response: Outgoing, upgrade?: Upgrade) => void;
  /** Milliseconds from any moment on; a clock that can be set would delay requests while it is behind. */
  readonly monotonic: () => number;
  readonly timeouts?: Timeouts | undefined;
  /** How many connections may be open; default any number. */
  readonly limits?: ConnectionLimits | undefined;
  /** Called with each connection that is closed because there are too many. */
  readonly refused?: ((counts: ConnectionCounts) => void) | undefined;
  /** Called when a connection could not be accepted, for example without a free file descriptor; the server continues. */
  readonly acceptFailed?: ((error: Error) => void) | undefined;
}

/** The timeouts of slow clients, in milliseconds. */
export interface Timeouts {
  /** For its TLS handshake, and then for the headers of a request. Default 20000 (20 seconds). */
  readonly headersMs: number;
  /** Of an idle connection. Default 120000 (2 minutes). */
  readonly idleMs: number;
  /** How often connections are checked. Default 10000 (10 seconds). */
  readonly checkMs: number;
  /** How often the peer of a connection with requests must answer a ping. Default 30000 (30 seconds). */
  readonly aliveMs: number;
}

export interface Server {
  readonly port: number;
  /** Connections open now. */
  connections(): number;
  connectionCounts(): ConnectionCounts;
  /** How many requests were refused since the start because too many waited on connections without an authenticated request. */
  refusedRequests(): number;
  /** To be called with an authenticated request: its connection is never closed in favor of others. */
  authenticated(request: Incoming): void;
  /** Replaces the serving certificate, and the names sent to clients, for new connections. */
  renew(next: Pick<ServerOptions, "certPem" | "keyPem" | "clientCaPem">): void;
  /** Presents another certificate to clients with this SNI name. */
  alias(serverName: string, pair: Pick<ServerOptions, "certPem" | "keyPem" | "clientCaPem">): void;
  /** Stops accepting, lets requests under way finish for `graceMs` milliseconds, then closes the remaining connections. */
  close(graceMs: number): Promise<void>;
}

const defaultTimeouts: Timeouts = { headersMs: 20_000, idleMs: 120_000, checkMs: 10_000, aliveMs: 30_000 };
/** Streams that one HTTP/2 connection may have open at once. */
const maxStreams = 1000;

/** A TLS server that speaks HTTP/2 and HTTP/1.1 on one port and requests a client certificate without verifying it. */
export async function listen(options: ServerOptions): Promise<Server> {
  const timeouts = options.timeouts ?? defaultTimeouts;
  const server = newServer(options, timeouts);
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();

  const limiter = boundConnections(server, options);
  const handshakes = boundHandshakes(server, options.monotonic);
  server.on("connection", (socket: Socket) => {
    sockets.add(socket.setNoDelay(true).setKeepAlive(true, timeouts.aliveMs));
    socket.once("close", () => sockets.delete(socket));
  });
  let refusedRequests = 0;
  let latest: Socket | undefined;
  server.prependListener("secureConnection", (socket) => {
    latest = socket;
  });
  // Within that event; the session itself does not expose its socket.
  server.on("session", (session) => {
    sessions.add(session);
    if (latest !== undefined) guardSession(session, latest, timeouts);
    session.once("close", () => sessions.delete(session));
  });
  // Without this, one that never finishes its handshake would occupy its place for ever.
  server.on("tlsClientError", (_error, socket) => void socket.destroy());
  server.on("sessionError", () => undefined);
  const answers = pipelinedAnswers();
  server.on("clientError", (error: ClientError, socket: Socket) => {
    // Node stops reading while too many answers wait, and cannot resume in the middle of what it has read.
    if (error.code === "HPE_PAUSED") answers.whenSent(socket, () => refuseConnection(error, socket));
    else refuseConnection(error, socket);
  });
  const serve: ServerOptions["handle"] = (request, response, upgrade) => {
    const isKnown = limiter.began(peerOf(request.socket));
    if (handshakes.pass(() => options.handle(request, response, upgrade), isKnown)) return;
    refusedRequests += 1;
    refuseForNow(response);
  };
  server.on("request", (request, response) => {
    if (request.httpVersionMajor === 1) answers.follow(request.socket, response as unknown as ServerResponse);
    if (isSound(request)) serve(request, response);
    else refuse(request.socket, request.socket);
  });
  takeUpgrades(server, serve);
  await listening(server, options);
  server.on("error", options.acceptFailed ?? (() => undefined));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : options.port,
    connections: () => sockets.size,
    connectionCounts: limiter.counts,
    refusedRequests: () => refusedRequests,
    authenticated: ({ socket }) => limiter.authenticated(peerOf(socket)),
    renew: ({ certPem, keyPem, clientCaPem }) =>
      server.setSecureContext({ ...tlsOptions, ca: clientCaPem, cert: certPem, key: keyPem }),
    alias: (serverName, { certPem, keyPem, clientCaPem }) =>
      server.addContext(serverName, { ...tlsOptions, ca: clientCaPem, cert: certPem, key: keyPem }),
    close: (graceMs) => closeServer({ server, sockets, sessions, handshakes, graceMs }),
  };
}

const tlsOptions = {
  minVersion: "TLSv1.2",
  // Renegotiation costs the server more than the client, and could change the certificate under requests that are under way.
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const;

function newServer(options: ServerOptions, { headersMs, idleMs, checkMs }: Timeouts): Http2SecureServer {
  const server = createSecureServer({
    ...tlsOptions,
    ca: options.clientCaPem,
    cert: options.certPem,
    key: options.keyPem,
    allowHTTP1: true,
    handshakeTimeout: headersMs,
    requestCert: true,
    // The x509 authenticator verifies certificates, at each request; none is rejected here.
    rejectUnauthorized: false,
    settings: { maxConcurrentStreams: maxStreams, initialWindowSize: 1 << 20 },
    maxSessionInvalidFrames: 100,
    // A controller follows hundreds of kinds over one connection; node would cut it at 10 MB of frames and headers.
    maxSessionMemory: 64,
  });
  // createSecureServer has no options for these.
  return Object.assign(server, {
    headersTimeout: headersMs,
    keepAliveTimeout: idleMs,
    connectionsCheckingInterval: checkMs,
    // A watch lasts until its own timeout; bodies have a deadline of their own.
    requestTimeout: 0,
    requireHostHeader: true,
  });
}

/** Upgrade requests, which node emits without a response. */
function takeUpgrades(server: EventEmitter, serve: ServerOptions["handle"]): void {
  server.on("upgrade", (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    const { socket } = request;
    // For a request with a body, Node 26 emits a stream behind that body in place of the connection, which emits errors of its own.
    stream.on("error", () => socket.destroy());
    const response = responseToUpgrade(request, socket);
    if (response === undefined) return;
    // A body would be read as the other protocol, or as an unauthenticated request.
    if (!isSound(request) || bringsBody(request)) refuse(stream, socket);
    else serve(request, response, { socket, head });
  });
}

/** Sends a refusal on a stream and closes its connection, also when the client keeps its side of it open. */
function refuse(stream: Duplex, socket: Socket, status = "400 Bad Request"): void {
  stream.end(refusalText(status), () => socket.destroySoon());
}

/** Connections before their first request. */
interface Handshakes {
  /** Runs a request now, or in its turn after a burst of connections. */
  readonly pass: ConnectionBurst["pass"];
  /** Closes the connections whose handshake has not ended. */
  readonly cut: () => void;
}

/** What reads from the network below a socket. */
interface Readable {
  readonly readStart?: () => number;
  readonly readStop?: () => number;
}

/** Public functions of a socket do not control its reads once TLS has wrapped it. */
function belowOf(socket: Socket): Readable | undefined {
  const { _handle: handle } = socket as { readonly _handle?: Readable | null };
  return handle ?? undefined;
}

/**
 * Bounds how many handshakes run in one pass of the event loop: all that can be read at once would be processed in one pass otherwise, with
 * a millisecond or two for each.
 */
function boundHandshakes(server: Http2SecureServer, now: () => number): Handshakes {
  const soon = (run: () => void): void => void setTimeout(run, 1);
  const limiter = handshakeLimiter({ now, soon });
  const burst = connectionBurst({ now, soon });
  // By peer, since the handshake speaks through another object than the connection.
  const ends = new Map<string, () => void>();
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    const peer = peerOf(socket);
    const accepted = burst.accepted();
    let leave = (): void => undefined;
    const end = (): void => {
      accepted();
      leave();
      open.delete(socket);
      if (ends.get(peer) === end) ends.delete(peer);
    };
    ends.set(peer, end);
    open.add(socket);
    socket.once("close", end);
    // TLS begins to read in the next tick.
    process.nextTick(() => {
      if (!open.has(socket) || socket.destroyed) return;
      leave = limiter.enter({
        address: socket.remoteAddress ?? "",
        read: () => void belowOf(socket)?.readStart?.(),
        pause: () => void belowOf(socket)?.readStop?.(),
        received: () => socket.bytesRead,
      });
    });
  });
  server.prependListener("secureConnection", (socket) => ends.get(peerOf(socket))?.());
  return {
    pass: burst.pass,
    cut: () => {
      for (const socket of open) socket.destroy();
    },
  };
}

const noLimits: ConnectionLimits = { maxOpen: Infinity, maxUnauthenticated: Infinity };

/** Closes connections without an authenticated request where there are too many, during or after their handshake. */
function boundConnections(
  server: Http2SecureServer,
  { limits = noLimits, refused = () => undefined }: Pick<ServerOptions, "limits" | "refused">,
): ConnectionLimiter {
  const limiter = connectionLimiter(limits, refused);
  server.on("connection", (socket: Socket) => {
    socket.once(
      "close",
      limiter.opened(peerOf(socket), () => void socket.destroy()),
    );
  });
  return limiter;
}

function peerOf({ remoteAddress, remotePort }: Pick<Socket, "remoteAddress" | "remotePort">): string {
  return `${remoteAddress} ${remotePort}`;
}

type ClientError = Error & { readonly code?: string };

const refusals: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_PAUSED: "429 Too Many Requests",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Payload Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/** The final answer on a connection of HTTP/1.1 whose bytes are no request. */
function refuseConnection(error: ClientError, socket: Socket): void {
  const code = error.code ?? "";
  const status = Object.hasOwn(refusals, code) ? refusals[code] : "400 Bad Request";
  if (socket.writable) refuse(socket, socket, status);
  else socket.destroy();
}

/** As kube-apiserver answers when too many requests are in flight. Source: k8s.io/apiserver/pkg/server/filters/maxinflight.go, tooManyRequests. */
function refuseForNow(response: Outgoing): void {
  response.writeHead(429, { "content-type": "text/plain; charset=utf-8", "retry-after": "1" });
  response.end("Too many requests, please try again later.\n");
}

function refusalText(status: string): string {
  return `HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${status}\n`;
}

/** What node's parser accepts and a proxy in front may read differently: several hosts, a version before 1.0. Source: RFC 9112, 3.2. */
function isSound({ httpVersionMajor, rawHeaders }: Incoming): boolean {
  if (httpVersionMajor !== 1) return httpVersionMajor === 2;
  return rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host").length <= 1;
}

function listening(server: Http2SecureServer, { host, port }: ServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, backlog: 4096 }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/**
 * Ends idle sessions, and closes those whose peer does not answer: it may have vanished silently, and node does not notice
 * the end of a connection that it has stopped reading from. Too many resets end a session by themselves: nghttp2 allows 1000 at
 * once and 33 a second.
 */
function guardSession(session: ServerHttp2Session, socket: Socket, { idleMs, aliveMs }: Timeouts): void {
  let open = 0;
  let unanswered = false;
  session.on("error", () => undefined);
  session.on("stream", (stream) => {
    open += 1;
    stream.once("close", () => {
      open -= 1;
    });
  });
  session.setTimeout(idleMs, () => {
    if (open > 0) return;
    if (session.closed) socket.destroy();
    else session.close();
  });
  const aliveTimer = setInterval(() => {
    if (unanswered) socket.destroy();
    if (open === 0 && !session.destroyed) return;
    unanswered = true;
    // A destroyed session reads no more, and its socket stays open until the peer takes what was written; a vanished peer never does.
    if (session.destroyed) return;
    session.ping(() => {
      unanswered = false;
    });
  }, aliveMs);
  aliveTimer.unref();
  socket.once("close", () => clearInterval(aliveTimer));
}

async function closeServer(open: {
  readonly server: Http2SecureServer;
  readonly sockets: ReadonlySet<Socket>;
  readonly sessions: ReadonlySet<ServerHttp2Session>;
  readonly handshakes: Pick<Handshakes, "cut">;
  readonly graceMs: number;
}): Promise<void> {
  const closed = new Promise<void>((resolve) => open.server.close(() => resolve()));
  open.handshakes.cut();
  for (const session of open.sessions) session.close();
  (open.server as unknown as { closeIdleConnections?: () => void }).closeIdleConnections?.();
  const cut = setTimeout(() => {
    for (const session of open.sessions) session.destroy();
    for (const socket of open.sockets) socket.destroy();
  }, open.graceMs);
  await closed;
  clearTimeout(cut);
}
