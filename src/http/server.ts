import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { Incoming, Outgoing } from "./exchange.ts";

export interface ServerOptions {
  readonly certPem: string;
  readonly keyPem: string;
  /** Names of these CAs are sent to clients, so that they know which of their certificates to present. */
  readonly clientCaPem: string;
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly handle: (request: Incoming, response: Outgoing) => void;
}

export interface Server {
  readonly port: number;
  /** Connections open now. */
  connections(): number;
  /** Replaces the serving certificate for new connections. */
  renew(certPem: string, keyPem: string): void;
  /** Stops accepting, lets requests under way finish for `graceMs` milliseconds, then cuts what is left. */
  close(graceMs: number): Promise<void>;
}

/** Milliseconds in which a client must have sent its headers, and in which an idle connection is closed. */
const headersTimeoutMs = 20_000;
const idleTimeoutMs = 120_000;
/** Streams that one HTTP/2 connection may have open at once. */
const maxStreams = 1000;

/** A TLS server that speaks HTTP/2 and HTTP/1.1 on one port and asks for a client certificate without judging it. */
export async function listen(options: ServerOptions): Promise<Server> {
  const server = createSecureServer({
    cert: options.certPem,
    key: options.keyPem,
    ca: options.clientCaPem,
    allowHTTP1: true,
    minVersion: "TLSv1.2",
    requestCert: true,
    // The x509 authenticator judges certificates, at each request; here nobody is turned away.
    rejectUnauthorized: false,
    settings: { maxConcurrentStreams: maxStreams, initialWindowSize: 1 << 20 },
    maxSessionInvalidFrames: 100,
  });
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  const timeouts = server as unknown as { requestTimeout: number; headersTimeout: number; keepAliveTimeout: number };
  timeouts.headersTimeout = headersTimeoutMs;
  timeouts.keepAliveTimeout = idleTimeoutMs;
  // A watch lives as long as it says; bodies have a deadline of their own.
  timeouts.requestTimeout = 0;

  server.on("connection", (socket: Socket) => {
    sockets.add(socket.setNoDelay(true));
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("session", (session) => {
    sessions.add(session);
    guardSession(session);
    session.once("close", () => sessions.delete(session));
  });
  server.on("tlsClientError", () => undefined);
  server.on("sessionError", () => undefined);
  server.on("clientError", (_error, socket: Socket) => {
    if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    else socket.destroy();
  });
  server.on("request", options.handle);
  await listening(server, options);
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : options.port,
    connections: () => sockets.size,
    renew: (cert, key) => server.setSecureContext({ cert, key, ca: options.clientCaPem }),
    close: (graceMs) => closeServer({ server, sockets, sessions, graceMs }),
  };
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

/** Ends sessions that carry nothing. Too many resets end a session by themselves: nghttp2 allows 1000 at once and 33 a second. */
function guardSession(session: ServerHttp2Session): void {
  let open = 0;
  session.on("error", () => undefined);
  session.on("stream", (stream) => {
    open += 1;
    stream.once("close", () => {
      open -= 1;
    });
  });
  session.setTimeout(idleTimeoutMs, () => {
    if (open === 0) session.close();
  });
}

async function closeServer(open: {
  readonly server: Http2SecureServer;
  readonly sockets: ReadonlySet<Socket>;
  readonly sessions: ReadonlySet<ServerHttp2Session>;
  readonly graceMs: number;
}): Promise<void> {
  const closed = new Promise<void>((resolve) => open.server.close(() => resolve()));
  for (const session of open.sessions) session.close();
  (open.server as unknown as { closeIdleConnections?: () => void }).closeIdleConnections?.();
  const cut = setTimeout(() => {
    for (const session of open.sessions) session.destroy();
    for (const socket of open.sockets) socket.destroy();
  }, open.graceMs);
  await closed;
  clearTimeout(cut);
}
