import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { discardBody, readBody } from "./body.ts";
import type { Incoming } from "../http-types.ts";

let server: Server | undefined;

afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve));
});

async function serve(handle: (request: Incoming) => void): Promise<Socket> {
  server = createServer((request) => handle(request)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  return socket;
}

/** Sends chunks of one byte until the other side hangs up; resolves to how many it took. */
async function sendCrumbs(socket: Socket, maximum: number): Promise<number> {
  let sent = 0;
  while (sent < maximum && !socket.destroyed) {
    socket.write("1\r\nx\r\n".repeat(100));
    sent += 100;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return sent;
}

test("a body in chunks of one byte is refused after the first few hundred, and its connection is cut", async () => {
  let refusal: unknown;
  const socket = await serve((request) => {
    readBody(request, { timeoutMs: 60_000 }).catch((error: unknown) => {
      refusal = error;
    });
  });
  const closed = once(socket, "close");
  expect(await sendCrumbs(socket, 1_000_000)).toBeLessThan(1_000_000);
  await closed;
  expect(String(refusal)).toContain("too many small chunks");
});

test("a body that is not read is not taken without end", async () => {
  const socket = await serve((request) => discardBody(request));
  const closed = once(socket, "close");
  expect(await sendCrumbs(socket, 1_000_000)).toBeLessThan(1_000_000);
  await closed;
});

test("a body in ordinary chunks is whole, however many they are", async () => {
  const read = new Promise<Buffer>((resolve, reject) => {
    void serve((request) => void readBody(request, { timeoutMs: 60_000 }).then(resolve, reject)).then((socket) => {
      for (let index = 0; index < 2000; index += 1) socket.write(`200\r\n${String(index % 10).repeat(512)}\r\n`);
      socket.end("0\r\n\r\n");
    });
  });
  const body = await read;
  expect(body.length).toBe(2000 * 512);
  expect(body.toString()).toBe(Array.from({ length: 2000 }, (_, index) => String(index % 10).repeat(512)).join(""));
});
