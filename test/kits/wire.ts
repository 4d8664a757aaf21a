import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect as connectHttp2, type ClientHttp2Session } from "node:http2";
import { connect as connectTls, type SecureVersion, type TLSSocket } from "node:tls";

/** Where a hub listens, and the CA to trust it by. */
export interface Target {
  readonly port: number;
  readonly caPem: string;
}

/** How to connect; without a certificate the connection is anonymous. */
export interface Dial {
  /** PEM: the client's certificate, followed by whatever else is to be sent along. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** A session to resume, from `resumable`. */
  readonly session?: Buffer | undefined;
  readonly version?: SecureVersion | undefined;
  /** Whether to keep this side open when the server has closed its own; no by default. */
  readonly allowHalfOpen?: boolean | undefined;
}

/** A request to the letter: nothing is added but what framing needs. */
export interface WireRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: string | Buffer | undefined;
}

/** What came back. */
export interface WireReply {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  readonly text: string;
}

export type Protocol = "HTTP/1.1" | "HTTP/2";

export const protocols: readonly Protocol[] = ["HTTP/1.1", "HTTP/2"];

/** Milliseconds after which a silent hub counts as hanging; no test waits that long while all is well. */
const hangMs = 40_000;

/** One request on a connection of its own. */
export async function send(
  target: Target,
  request: WireRequest,
  dial: Dial & { readonly over?: Protocol } = {},
): Promise<WireReply> {
  if (dial.over === "HTTP/2") {
    const session = await openHttp2(target, dial);
    try {
      return await sendHttp2(session, request);
    } finally {
      session.destroy();
    }
  }
  const socket = await openTls(target, "http/1.1", dial);
  return parseReply(await speak(socket, requestBytes(request)));
}

/** A TLS connection after its handshake. */
export async function openTls(target: Target, protocol: "http/1.1" | "h2", dial: Dial = {}): Promise<TLSSocket> {
  const socket = connectTls({
    host: "127.0.0.1",
    servername: "localhost",
    port: target.port,
    // Checked below: given the CA, OpenSSL would also try it on our own certificates, and stumble over forged ones.
    rejectUnauthorized: false,
    ALPNProtocols: [protocol],
    cert: dial.cert,
    key: dial.key,
    session: dial.session,
    ...(dial.allowHalfOpen === undefined ? {} : { allowHalfOpen: dial.allowHalfOpen }),
    ...(dial.version === undefined ? {} : { minVersion: dial.version, maxVersion: dial.version }),
  });
  await once(socket, "secureConnect");
  socket.on("error", () => undefined);
  const ca = new X509Certificate(target.caPem);
  // A resumed session was checked when it was made, and shows no certificate any more.
  if (!socket.isSessionReused() && socket.getPeerX509Certificate()?.verify(ca.publicKey) !== true) {
    socket.destroy();
    throw new RangeError("the server's certificate is not of the CA");
  }
  return socket.setNoDelay(true);
}

/** Connects, makes one request, and returns the TLS session of that connection for another one. */
export async function resumable(target: Target, dial: Dial, protocol: "http/1.1" | "h2" = "http/1.1"): Promise<Buffer> {
  const socket = await openTls(target, protocol, dial);
  // TLS 1.3 sends tickets after the handshake; before that, getSession gives none that can be resumed.
  const ticket = socket.getProtocol() === "TLSv1.3" ? once(socket, "session") : undefined;
  if (protocol === "h2") {
    const session = sessionOver(socket);
    await sendHttp2(session, { path: "/version" });
    const found = ticket === undefined ? socket.getSession() : ((await ticket)[0] as Buffer);
    session.destroy();
    return found as Buffer;
  }
  const reply = speak(socket, requestBytes({ path: "/version" }));
  const found = ticket === undefined ? socket.getSession() : ((await ticket)[0] as Buffer);
  await reply;
  return found as Buffer;
}

/** Writes bytes and reads until the peer closes. Rejects when the peer keeps silent without closing. */
export function speak(socket: TLSSocket, bytes: Buffer | string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const guard = setTimeout(() => {
      socket.destroy();
      reject(
        new RangeError(
          `no end of the reply after ${hangMs} ms; so far: ${Buffer.concat(chunks).toString("latin1").slice(0, 500)}`,
        ),
      );
    }, hangMs);
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.once("close", () => {
      clearTimeout(guard);
      resolve(Buffer.concat(chunks));
    });
    if (bytes.length > 0) socket.write(bytes);
  });
}

/** A request of HTTP/1.1 that ends the connection after its reply. */
export function requestBytes({ method = "GET", path, headers = [], body }: WireRequest): Buffer {
  const given = new Set(headers.map(([name]) => name.toLowerCase()));
  const payload = body === undefined ? Buffer.alloc(0) : Buffer.from(body);
  const framing: readonly (readonly [string, string])[] = [
    ["Host", "localhost"],
    ["Connection", "close"],
    ...(body === undefined ? [] : ([["Content-Length", String(payload.length)]] as const)),
  ];
  const all = [...framing.filter(([name]) => !given.has(name.toLowerCase())), ...headers];
  const head = [`${method} ${path} HTTP/1.1`, ...all.map(([name, value]) => `${name}: ${value}`), "", ""].join("\r\n");
  return Buffer.concat([Buffer.from(head, "latin1"), payload]);
}

/** The first reply in the bytes that a server of HTTP/1.1 sent; status 0 when there is none. */
export function parseReply(bytes: Buffer): WireReply {
  const end = bytes.indexOf("\r\n\r\n");
  const [first = "", ...lines] = bytes.subarray(0, Math.max(end, 0)).toString("latin1").split("\r\n");
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
  );
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1] ?? 0);
  if (status === 100) return parseReply(bytes.subarray(end + 4));
  const rest = end < 0 ? Buffer.alloc(0) : bytes.subarray(end + 4);
  const length = headers.get("content-length");
  const body = headers.has("transfer-encoding")
    ? unchunked(rest)
    : length === undefined
      ? rest
      : rest.subarray(0, Number(length));
  return { status, headers, body, text: body.toString() };
}

function unchunked(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; ;) {
    const end = bytes.indexOf("\r\n", at);
    const size = end < 0 ? 0 : Number.parseInt(bytes.subarray(at, end).toString("latin1"), 16);
    if (!(size > 0)) return Buffer.concat(parts);
    parts.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}

/** A session of HTTP/2. */
export async function openHttp2(target: Target, dial: Dial = {}): Promise<ClientHttp2Session> {
  return sessionOver(await openTls(target, "h2", dial));
}

function sessionOver(socket: TLSSocket): ClientHttp2Session {
  const session = connectHttp2("https://localhost", { createConnection: () => socket });
  session.on("error", () => undefined);
  return session;
}

/** One request on a session; headers that HTTP/2 allows only once must be sent as frames. Status 0 when the stream was reset. */
export function sendHttp2(session: ClientHttp2Session, request: WireRequest): Promise<WireReply> {
  const { method = "GET", path, headers = [], body } = request;
  return new Promise((resolve, reject) => {
    const grouped = new Map<string, string[]>();
    for (const [name, value] of headers) {
      const key = name.toLowerCase();
      grouped.set(key, [...(grouped.get(key) ?? []), value]);
    }
    const fields = Object.fromEntries(
      [...grouped].map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
    );
    const stream = session.request({ ":method": method, ":path": path, ...fields }, { endStream: body === undefined });
    const guard = setTimeout(() => {
      reject(new RangeError(`no end of the stream after ${hangMs} ms`));
      session.destroy();
    }, hangMs);
    let status = 0;
    let replied = new Map<string, string>();
    const chunks: Buffer[] = [];
    stream.on("response", (received) => {
      status = received[":status"] ?? 0;
      replied = new Map(Object.entries(received).map(([name, value]) => [name, String(value)]));
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", () => undefined);
    stream.once("close", () => {
      clearTimeout(guard);
      const all = Buffer.concat(chunks);
      resolve({ status, headers: replied, body: all, text: all.toString() });
    });
    if (body !== undefined) stream.end(body);
  });
}

/** One frame of HTTP/2. Source: RFC 9113 section 4.1. */
export function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Header fields without indexing and without Huffman coding. Source: RFC 7541 section 6.2.2. */
export function fieldBlock(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.of(0x00), hpackText(name), hpackText(value)]));
}

function hpackText(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  if (bytes.length < 127) return Buffer.concat([Buffer.of(bytes.length), bytes]);
  const size: number[] = [127];
  let left = bytes.length - 127;
  for (; left >= 128; left >>>= 7) size.push((left & 0x7f) | 0x80);
  return Buffer.concat([Buffer.of(...size, left), bytes]);
}

/** What begins a connection of HTTP/2: the preface and empty SETTINGS. */
export const http2Preface: Buffer = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0)]);

/** HEADERS of a request that has no body. */
export function headersFrame(stream: number, fields: readonly (readonly [name: string, value: string])[]): Buffer {
  return frame(1, 0x4 | 0x1, stream, fieldBlock(fields));
}

/** A frame as it was received. */
export interface ReceivedFrame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** Splits what a server of HTTP/2 sent; an unfinished frame at the end is dropped. */
export function framesOf(bytes: Buffer): readonly ReceivedFrame[] {
  const frames: ReceivedFrame[] = [];
  for (let at = 0; at + 9 <= bytes.length;) {
    const length = bytes.readUIntBE(at, 3);
    if (at + 9 + length > bytes.length) break;
    frames.push({
      type: bytes.readUInt8(at + 3),
      flags: bytes.readUInt8(at + 4),
      stream: bytes.readUInt32BE(at + 5) & 0x7fff_ffff,
      payload: bytes.subarray(at + 9, at + 9 + length),
    });
    at += 9 + length;
  }
  return frames;
}

/** Sends fields as one request of HTTP/2, duplicates and all, and gives the body of the reply; empty when the stream was reset. */
export async function sendFields(
  target: Target,
  fields: readonly (readonly [string, string])[],
  dial: Dial = {},
): Promise<string> {
  const socket = await openTls(target, "h2", dial);
  const chunks: Buffer[] = [];
  const done = new Promise<void>((resolve, reject) => {
    const guard = setTimeout(() => reject(new RangeError(`no end of the stream after ${hangMs} ms`)), hangMs);
    const finish = (): void => {
      clearTimeout(guard);
      resolve();
    };
    socket.once("close", finish);
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      const frames = framesOf(Buffer.concat(chunks));
      // The end of stream 1, its reset, or the end of the connection.
      if (frames.some(({ type, flags, stream }) => type === 7 || (stream === 1 && (type === 3 || (flags & 1) === 1))))
        finish();
    });
  });
  socket.write(Buffer.concat([http2Preface, headersFrame(1, fields)]));
  await done;
  socket.destroy();
  return Buffer.concat(
    framesOf(Buffer.concat(chunks))
      .filter(({ type, stream }) => type === 0 && stream === 1)
      .map(({ payload }) => payload),
  ).toString();
}
