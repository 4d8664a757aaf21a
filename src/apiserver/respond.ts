import { constants } from "node:http2";
import type { LazyBody, Outgoing, Reply } from "./http-types.ts";
import { pieceQueue, responseWriter, type Piece } from "./response-writer.ts";
import type { SendBuffer } from "./connections/send-buffers.ts";

/** Bodies above this many bytes are compressed for clients that accept gzip. Source: apiserver's defaultGzipThresholdBytes. */
const gzipThreshold = 128 * 1024;
/** Bodies up to this many bytes are written to the connection at once. */
const smallBytes = 16 * 1024;

/** Headers of every reply to this request. */
export type CommonHeaders = Readonly<Record<string, string | readonly string[]>>;

type Headers = Record<string, string | number | readonly string[]>;

export interface RespondOptions {
  readonly common: CommonHeaders;
  readonly acceptEncoding: string | undefined;
  readonly head: boolean;
  /** The share of this answer in the send buffers. */
  readonly buffer: () => SendBuffer;
  /** Waits until the next part of a large body may be written. */
  readonly turn: () => Promise<void>;
}

/**
 * Sends a whole reply, a large body as fast as its client reads it; resolves with the bytes of the body when its connection has sent it
 * all or has closed. HEAD requests get the headers alone.
 */
export async function respond(response: Outgoing, reply: Reply, options: RespondOptions): Promise<number> {
  const { body } = reply;
  const length = isLazy(body) ? Infinity : Buffer.byteLength(body);
  const isCompressed = length > gzipThreshold && /\bgzip\b/.test(options.acceptEncoding ?? "");
  writeHead(response, reply.status, headersOf(reply, options.common, isCompressed ? "compressed" : length));
  if (options.head) {
    response.end();
    return 0;
  }
  // Text stays text: HTTP/1.1 then sends it in one piece with the headers.
  if (!isLazy(body) && length <= smallBytes) {
    endWith(response, body);
    return length;
  }
  const pieces = isLazy(body) ? body.pieces() : wholeBody(body);
  return sendPieces(response, isCompressed ? compressed(pieces) : pieces, options);
}

function headersOf(reply: Reply, common: CommonHeaders, length: number | "compressed"): Headers {
  const headers: Headers = {
    "cache-control": "no-cache, private",
    ...common,
    "content-type": reply.contentType,
    ...reply.headers,
  };
  if (length === "compressed") {
    const { vary } = headers;
    headers["content-encoding"] = "gzip";
    headers["vary"] = vary === undefined ? "Accept-Encoding" : `${String(vary)}, Accept-Encoding`;
  } else if (length !== Infinity) headers["content-length"] = length;
  return headers;
}

function isLazy(body: Reply["body"]): body is LazyBody {
  return typeof body === "object" && "pieces" in body;
}

async function* wholeBody(body: Buffer | string): AsyncGenerator<readonly Piece[]> {
  yield [body];
}

async function sendPieces(
  response: Outgoing,
  pieces: AsyncIterable<readonly Piece[]>,
  { buffer, turn }: RespondOptions,
): Promise<number> {
  const writer = responseWriter({ response, buffer: buffer(), turn });
  for await (const some of pieces) {
    writer.push(some);
    await writer.ready();
    if (writer.isClosed()) break;
  }
  writer.end();
  return writer.written();
}

/** Both protocols' writeHead under one signature. */
export function writeHead(response: Outgoing, status: number, headers: Headers): void {
  (response.writeHead as (status: number, headers: object) => unknown).call(response, status, headers);
}

/**
 * Ends a started answer so that its client detects that it is incomplete: a reset with an error in HTTP/2, where one without would
 * look like the end, and the connection in HTTP/1.1, before the length or the last chunk was sent.
 */
export function breakOff(response: Outgoing): void {
  if ("stream" in response) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  // An answer behind another one of its connection has no socket yet.
  else if (response.socket === null) response.req.socket.destroy();
  // Bytes that wait for a client that reads nothing are dropped now, and not when the reset could be sent.
  response.destroy?.();
}

/** Both protocols' end under one signature. */
export function endWith(response: Outgoing, last: Buffer | string): void {
  (response.end as (chunk: Buffer | string) => unknown).call(response, last);
}

/** Compressed outside the event loop, and no further ahead than a few parts. */
async function* compressed(pieces: AsyncIterable<readonly Piece[]>): AsyncGenerator<readonly Piece[]> {
  const [{ createGzip }, { pipeline, Readable }] = await Promise.all([import("node:zlib"), import("node:stream")]);
  const gzip = createGzip({ level: 1, chunkSize: compressedChunkBytes });
  // A failure ends the compressed stream with the same error, which is thrown below.
  pipeline(Readable.from(chunksOf(pieces), { highWaterMark: 1 }), gzip, () => undefined);
  for await (const chunk of gzip) yield [chunk as Buffer];
}

const compressedChunkBytes = 64 * 1024;
/** Each chunk is one round trip to a thread of the pool. */
const plainChunkBytes = 128 * 1024;

async function* chunksOf(pieces: AsyncIterable<readonly Piece[]>): AsyncGenerator<Buffer> {
  for await (const some of pieces) {
    const queue = pieceQueue();
    queue.add(some);
    while (!queue.isEmpty()) yield queue.take(plainChunkBytes);
  }
}
