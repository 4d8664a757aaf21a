import type { Outgoing, Reply } from "./exchange.ts";

/** Bodies above this many bytes are compressed for clients that accept gzip. Source: apiserver's defaultGzipThresholdBytes. */
const gzipThreshold = 128 * 1024;

/** Headers that every reply of this request carries. */
export type CommonHeaders = Readonly<Record<string, string | readonly string[]>>;

/** Sends a whole reply; resolves with the bytes of its body. HEAD requests get the headers alone. */
export async function respond(
  response: Outgoing,
  reply: Reply,
  options: { readonly common: CommonHeaders; readonly acceptEncoding: string | undefined; readonly head: boolean },
): Promise<number> {
  // Text stays text: HTTP/1.1 then sends it in one piece with the headers.
  let { body } = reply;
  const headers: Record<string, string | number | readonly string[]> = {
    "cache-control": "no-cache, private",
    ...options.common,
    "content-type": reply.contentType,
    ...reply.headers,
  };
  let length = Buffer.byteLength(body);
  if (length > gzipThreshold && /\bgzip\b/.test(options.acceptEncoding ?? "")) {
    body = await gzip(body);
    length = body.length;
    headers["content-encoding"] = "gzip";
    headers["vary"] = headers["vary"] === undefined ? "Accept-Encoding" : `${String(headers["vary"])}, Accept-Encoding`;
  }
  headers["content-length"] = length;
  writeHead(response, reply.status, headers);
  if (options.head) {
    response.end();
    return 0;
  }
  endWith(response, body);
  return length;
}

/** Both protocols' writeHead under one signature. */
export function writeHead(
  response: Outgoing,
  status: number,
  headers: Record<string, string | number | readonly string[]>,
): void {
  (response.writeHead as (status: number, headers: object) => unknown).call(response, status, headers);
}

/** Both protocols' end under one signature. */
export function endWith(response: Outgoing, last: Buffer | string): void {
  (response.end as (chunk: Buffer | string) => unknown).call(response, last);
}

/** Both protocols' write under one signature; false when the socket is full. */
export function writeChunk(response: Outgoing, chunk: Buffer): boolean {
  return (response.write as (chunk: Buffer) => boolean).call(response, chunk);
}

async function gzip(body: Buffer | string): Promise<Buffer> {
  const zlib = await import("node:zlib");
  return new Promise((resolve, reject) => {
    zlib.gzip(body, { level: 1 }, (error, result) => {
      if (error === null) resolve(result);
      else reject(error);
    });
  });
}
