import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { pieceQueue, responseWriter, type Piece } from "./response-writer.ts";
import { respond } from "./respond.ts";
import { sendBuffers, type SendBuffers } from "./connections/send-buffers.ts";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A response of HTTP/1.1 whose client has sent its request and reads nothing yet. */
async function opened(): Promise<{ readonly response: ServerResponse; readonly client: Socket }> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  client.on("error", () => undefined);
  client.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const [, response] = (await once(server, "request")) as [unknown, ServerResponse];
  closers.push(() => {
    client.destroy();
    server.close();
  });
  return { response, client };
}

/** Everything that the client is sent from now on, without the head and the marks of chunks. */
async function read(client: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  client.on("data", (chunk: Buffer) => chunks.push(chunk));
  await once(client, "close");
  const all = Buffer.concat(chunks);
  const parts: Buffer[] = [];
  for (let at = all.indexOf("\r\n\r\n") + 4; ;) {
    const end = all.indexOf("\r\n", at);
    const size = Number.parseInt(all.subarray(at, end).toString("latin1"), 16);
    if (!(size > 0)) return Buffer.concat(parts);
    parts.push(all.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}

const noChecks = (): (() => void) => () => undefined;
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe("pieces", () => {
  it("are the same bytes whatever parts they are taken in", () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constant("é€𝄞".repeat(30)));
    const piece = fc.oneof(
      text,
      text.map((value) => Buffer.from(value)),
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 8 }),
        fc.array(fc.integer({ min: 4, max: 90 }), { minLength: 1 }),
        (pieces, sizes) => {
          const queue = pieceQueue();
          queue.add(pieces);
          const taken: Buffer[] = [];
          while (!queue.isEmpty()) {
            const size = sizes[taken.length % sizes.length] ?? 4;
            const part = queue.take(size);
            expect(part.length).toBeLessThanOrEqual(size);
            taken.push(part);
          }
          const whole = Buffer.concat(pieces.map((value) => Buffer.from(value)));
          expect(Buffer.concat(taken).equals(whole)).toBe(true);
        },
      ),
    );
  });
});

describe("an answer", () => {
  it("arrives whole and in order at a client that reads late", async () => {
    const { response, client } = await opened();
    const buffer = sendBuffers(noChecks).open({ flow: "a", abandon: () => undefined });
    const pieces: Piece[] = [`a${"é".repeat(3_000_000)}`, Buffer.alloc(5_000_000, "b"), "c".repeat(9_000_000), "end"];
    const writer = responseWriter({ response, buffer, turn });
    writer.push(pieces);
    writer.end();
    expect(writer.isFull()).toBe(true);
    const body = await read(client);
    expect(body.equals(Buffer.concat(pieces.map((piece) => Buffer.from(piece))))).toBe(true);
  });

  it("is encoded no further than its client reads, and given up when that reads nothing", async () => {
    const { response, client } = await opened();
    let look = (): void => undefined;
    const buffers: SendBuffers = sendBuffers((_ms, run) => {
      look = run;
      return () => undefined;
    });
    const buffer = buffers.open({ flow: "a", abandon: () => response.destroy() });
    response.once("close", buffer.close);
    const [megabyte, megabytes] = ["x".repeat(1024 * 1024), 100];
    let made = 0;
    const pieces = async function* all(): AsyncGenerator<readonly Piece[]> {
      for (; made < megabytes; made += 1) yield [megabyte];
    };
    const reply = { status: 200, contentType: "text/plain", body: { pieces } };
    const options = { common: {}, acceptEncoding: undefined, head: false, buffer: () => buffer, turn };
    const sent = respond(response, reply, options);
    // The kernel takes some megabytes; the window is full for good when nothing more is made between two looks.
    for (let [before, still] = [-1, 0]; still < 50; await turn()) {
      still = made === before && buffers.bytes() > 0 ? still + 1 : 0;
      before = made;
    }
    expect(made).toBeLessThan(megabytes / 2);
    expect(buffers.bytes()).toBeLessThanOrEqual(256 * 1024);
    for (let count = 0; count < 6; count += 1) look();
    await sent;
    expect(buffers.abandoned()).toBe(1);
    expect(buffers.bytes()).toBe(0);
    client.resume();
    await once(client, "close");
    expect(made).toBeLessThan(megabytes / 2);
  });
});
