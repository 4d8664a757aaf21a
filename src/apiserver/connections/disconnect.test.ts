import { once } from "node:events";
import { createServer as createHttp1 } from "node:http";
import { connect, createServer, type ClientHttp2Stream } from "node:http2";
import { connect as connectSocket, type AddressInfo, type Server } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { readBody } from "../body/body.ts";
import { onDisconnect } from "./disconnect.ts";
import type { Incoming, Outgoing } from "../http-types.ts";
import { responseWriter } from "../response-writer.ts";
import { sendBuffers } from "./send-buffers.ts";
import { watchStream, type WatchStreamOptions } from "../watch-stream.ts";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

interface Exchange {
  readonly request: Incoming;
  readonly response: Outgoing;
}

async function portOf(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** An HTTP/2 request of which a part of the body was sent, and its client. */
async function http2Exchange(server = createServer()): Promise<Exchange & { readonly client: ClientHttp2Stream }> {
  const session = connect(`http://127.0.0.1:${await portOf(server)}`).on("error", () => undefined);
  closers.push(() => session.destroy());
  const requested = once(server, "request") as unknown as Promise<[Incoming, Outgoing]>;
  const client = session.request({ ":method": "POST", ":path": "/" }).on("error", () => undefined);
  client.write("half of ");
  const [request, response] = await requested;
  return { request, response, client };
}

/** HTTP/2, closed by the client before the request is read or answered. */
async function reset(): Promise<Exchange> {
  const { request, response, client } = await http2Exchange();
  const closed = once(response, "close");
  client.session?.destroy();
  await closed;
  return { request, response };
}

/** HTTP/2, where the `request` event comes after the stream was destroyed and before it is closed. */
async function destroyedBefore(): Promise<Exchange> {
  const server = createServer();
  // Runs before node makes a request of the stream.
  server.prependListener("stream", (stream) => stream.session?.destroy());
  return http2Exchange(server);
}

/** HTTP/1.1, closed by the client; so many requests wait for their answers, and the last of them is meant. */
async function hungUp(requests: number): Promise<Exchange> {
  const server = createHttp1();
  const port = await portOf(server);
  const exchanges: Exchange[] = [];
  const last = new Promise<Exchange>((resolve) => {
    server.on("request", (request, response) => {
      exchanges.push({ request, response });
      if (exchanges.length === requests) resolve({ request, response });
    });
  });
  const client = connectSocket(port, "127.0.0.1").on("error", () => undefined);
  client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n".repeat(requests - 1));
  client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf of ");
  const exchange = await last;
  // The end in the midst of a body is an error of the socket first.
  const closed = new Promise((resolve) => exchange.request.socket.once("close", resolve));
  client.destroy();
  await closed;
  return exchange;
}

const disconnected: readonly (readonly [string, () => Promise<Exchange>])[] = [
  ["an HTTP/2 stream that is closed", reset],
  ["an HTTP/2 stream that is destroyed in the moment of the request", destroyedBefore],
  ["an HTTP/1.1 connection that is closed", () => hungUp(1)],
  ["an HTTP/1.1 connection that is closed before the answer's turn", () => hungUp(2)],
];

/** What comes of a promise without a further event from the network. */
async function atOnce(promise: Promise<unknown>): Promise<unknown> {
  const waits = new Promise((resolve) => setImmediate(() => resolve("waits")));
  return Promise.race([promise.catch((error: unknown) => error), waits]);
}

const sendBuffer = (): ReturnType<ReturnType<typeof sendBuffers>["open"]> =>
  sendBuffers(() => () => undefined).open({ flow: "jane", abandon: () => undefined });

describe.each(disconnected)("on %s", (_name, open) => {
  test("a body is not waited for, nor taken for whole", async () => {
    const { request } = await open();
    expect(String(await atOnce(readBody(request, { timeoutMs: 60_000 })))).toContain("the request body ended early");
  });

  test("what waits for the disconnect hears of it at once", async () => {
    const { response } = await open();
    const receivedBody = new Promise<string>((resolve) => onDisconnect(response, () => resolve("disconnected")));
    expect(await atOnce(receivedBody)).toBe("disconnected");
  });

  test("an answer drops what it is given", async () => {
    const { response } = await open();
    const writer = responseWriter({ response, buffer: sendBuffer(), turn: () => Promise.resolve() });
    writer.push(["x".repeat(1 << 20)]);
    expect([writer.isClosed(), writer.isFull(), writer.written()]).toEqual([true, false, 0]);
  });

  test("a watch ends and is closed", async () => {
    const { response } = await open();
    let closed = 0;
    const options = {
      response,
      handle: { close: () => (closed += 1), take: () => "wait", revision: () => undefined },
      buffer: sendBuffer(),
      turn: () => Promise.resolve(),
      encoder: {},
      clock: { now: () => 0, sleep: () => new Promise(() => undefined) },
      timeoutMs: 60_000,
      bookmarks: false,
      signals: [],
      onAbort: () => () => undefined,
      wrote: () => undefined,
      terminated: () => undefined,
    } as unknown as WatchStreamOptions;
    expect(await atOnce(watchStream(options).done)).toBe(undefined);
    expect(closed).toBe(1);
  });
});

test("the disconnect of a pipelined HTTP/1.1 request is heard before its answer's turn", async () => {
  const server = createHttp1();
  const port = await portOf(server);
  const client = connectSocket(port, "127.0.0.1").on("error", () => undefined);
  const receivedBody = new Promise<void>((resolve) => {
    let requests = 0;
    server.on("request", (_request, response) => {
      requests += 1;
      if (requests < 2) return;
      onDisconnect(response, resolve);
      client.destroy();
    });
  });
  client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(2));
  await expect(receivedBody).resolves.toBeUndefined();
});

test("an answer that is sent whole counts as a disconnect only then", async () => {
  const { request, response, client } = await http2Exchange();
  const receivedBody: string[] = [];
  onDisconnect(response, () => receivedBody.push("disconnected"));
  client.end("the whole");
  expect((await readBody(request, { timeoutMs: 60_000 })).toString()).toBe("half of the whole");
  expect(receivedBody).toEqual([]);
  const closed = once(response, "close");
  response.end();
  client.resume();
  await closed;
  expect(receivedBody).toEqual(["disconnected"]);
});
