import type { TLSSocket } from "node:tls";
import { openTls, type Dial, type Target } from "./wire.ts";

/** Many POSTs to one server, on many connections at once: a fraction of the processor time that as many streams of HTTP/2 take. */
export interface ParallelPosts {
  /** The text of the reply, whatever its status; a header may have several values. */
  readonly post: (path: string, body: string, headers: PostHeaders) => Promise<string>;
  readonly close: () => void;
}

export type PostHeaders = Readonly<Record<string, string | readonly string[]>>;

interface Post {
  readonly bytes: Buffer;
  readonly resolve: (text: string) => void;
  readonly reject: (error: unknown) => void;
  attempts: number;
}

/** POSTs go to these in turn; each has one POST on its way, so that a reply can belong to no other. */
const connections = 48;
/** A server may end a connection with requests on it that it has not read; they are sent once more, so they should change nothing. */
const maxAttempts = 3;

/** Connects with the first POST, and again where the server has ended an idle connection. */
export function parallelPosts(target: Target, dial: Dial): ParallelPosts {
  const lanes = Array.from({ length: connections }, () => lane(() => openTls(target, "http/1.1", dial)));
  let next = 0;
  return {
    post: (path, body, headers) =>
      new Promise((resolve, reject) => {
        const post = { bytes: postBytes(path, body, headers), resolve, reject, attempts: 0 };
        lanes[next++ % connections]?.send(post);
      }),
    close: () => {
      for (const { close } of lanes) close();
    },
  };
}

interface Lane {
  readonly send: (post: Post) => void;
  readonly close: () => void;
}

function lane(open: () => Promise<TLSSocket>): Lane {
  let socket: TLSSocket | undefined;
  let isOpening = false;
  let received: Buffer = Buffer.alloc(0);
  /** Without a reply yet; the first of them is on its way. */
  let waiting: Post[] = [];

  async function connect(): Promise<void> {
    isOpening = true;
    try {
      const opened = await open();
      socket = opened;
      received = Buffer.alloc(0);
      // What an ended connection still delivers belongs to no post of the next.
      opened.on("data", (chunk: Buffer) => (socket === opened ? take(chunk) : undefined));
      opened.once("close", () => ended(opened));
      writeFirst();
    } catch (error) {
      for (const { reject } of waiting.splice(0)) reject(error);
    } finally {
      isOpening = false;
    }
  }

  function writeFirst(): void {
    const [post] = waiting;
    if (post === undefined) return;
    post.attempts += 1;
    socket?.write(post.bytes);
  }

  function take(chunk: Buffer): void {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const reply = firstReply(received);
    if (reply === undefined) return;
    received = received.subarray(reply.end);
    waiting.shift()?.resolve(reply.text);
    writeFirst();
  }

  function ended(one: TLSSocket): void {
    if (socket !== one) return;
    socket = undefined;
    const [again, lost] = [waiting.filter(isWorthAnother), waiting.filter((post) => !isWorthAnother(post))];
    waiting = again;
    for (const { reject } of lost) reject(new Error("the server ended the connection before it answered"));
    if (waiting.length > 0) void connect();
  }

  return {
    send: (post) => {
      waiting.push(post);
      if (socket !== undefined && waiting.length === 1) writeFirst();
      if (socket === undefined && !isOpening) void connect();
    },
    close: () => socket?.destroy(),
  };
}

function isWorthAnother({ attempts }: Post): boolean {
  return attempts < maxAttempts;
}

function postBytes(path: string, body: string, headers: PostHeaders): Buffer {
  const payload = Buffer.from(body);
  const fields = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}: ${value}`),
  );
  const head = [
    `POST ${path} HTTP/1.1`,
    "Host: localhost",
    "Content-Type: application/json",
    `Content-Length: ${payload.length}`,
    ...fields,
    "",
    "",
  ].join("\r\n");
  return Buffer.concat([Buffer.from(head, "latin1"), payload]);
}

/** The first whole reply in the bytes, and where it ends. */
export function firstReply(bytes: Buffer): { readonly text: string; readonly end: number } | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const head = bytes.subarray(0, headEnd).toString("latin1");
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  const start = headEnd + 4;
  if (length === undefined) return chunkedReply(bytes, start);
  const end = start + Number(length);
  return bytes.length < end ? undefined : { text: bytes.toString("utf8", start, end), end };
}

function chunkedReply(bytes: Buffer, start: number): { readonly text: string; readonly end: number } | undefined {
  const parts: Buffer[] = [];
  for (let at = start; ;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    const end = lineEnd + 2 + size + 2;
    if (bytes.length < end) return undefined;
    if (size === 0) return { text: Buffer.concat(parts).toString(), end };
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = end;
  }
}
