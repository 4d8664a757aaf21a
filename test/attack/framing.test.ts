import { once } from "node:events";
import { connect } from "node:net";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readBody } from "../../src/apiserver/body/body.ts";
import { listen, type Server } from "../../src/apiserver/server.ts";
import { issueOwn } from "../../src/ca/hub-certificates.ts";
import { ownMemory } from "../kits/own-memory.ts";
import {
  fieldBlock,
  frame,
  framesOf,
  headersFrame,
  http2Preface,
  openHttp2,
  openTls,
  parseReply,
  requestBytes,
  send,
  sendHttp2,
  speak,
  type Dial,
} from "../kits/wire.ts";
import { identityIn, startAttackedHub, type AttackedHub } from "./attacked-hub.ts";
import { checkHubAfterEach } from "./check-hub-after-each.ts";

let hub: AttackedHub;
beforeAll(async () => {
  hub = await startAttackedHub();
});
afterAll(() => hub.close());
checkHubAfterEach(() => hub);

const collection = "/api/v1/namespaces/default/configmaps";
const object = JSON.stringify({ metadata: { name: "smuggled" } });

/** The statuses of all replies in what the hub sent on one connection. */
function statuses(bytes: Buffer): readonly number[] {
  return [...bytes.toString("latin1").matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
}

async function raw(bytes: string | Buffer, dial: Dial = hub.admin): Promise<Buffer> {
  return speak(await openTls(hub.target, "http/1.1", dial), bytes);
}

const get = (path: string): readonly (readonly [string, string])[] => [
  [":method", "GET"],
  [":scheme", "https"],
  [":authority", "localhost"],
  [":path", path],
];

describe("HTTP/1.1", () => {
  const post = (headers: string, body: string): string =>
    `POST ${collection} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}\r\n${body}`;
  const length = object.length;

  test.each([
    ["a length that is no number", `Content-Length: x\r\n`],
    ["a negative length", `Content-Length: -5\r\n`],
    ["a length with a sign", `Content-Length: +${length}\r\n`],
    ["a length in hexadecimal", `Content-Length: 0x${length.toString(16)}\r\n`],
    ["a length with a blank inside", `Content-Length: 1 ${length}\r\n`],
    ["a length beyond all numbers", `Content-Length: 99999999999999999999999\r\n`],
    ["two lengths that differ", `Content-Length: ${length}\r\nContent-Length: 5\r\n`],
    ["two lengths in one header", `Content-Length: ${length}, 5\r\n`],
    ["a length and chunks", `Content-Length: ${length}\r\nTransfer-Encoding: chunked\r\n`],
    ["chunks and a length", `Transfer-Encoding: chunked\r\nContent-Length: 5\r\n`],
    ["chunks that are not the last encoding", `Transfer-Encoding: chunked, gzip\r\n`],
    ["chunks twice", `Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked, identity\r\n`],
    ["an unknown encoding", `Transfer-Encoding: xchunked\r\n`],
    ["an encoding with a vertical tab", `Transfer-Encoding: \vchunked\r\n`],
    ["a blank before the colon of the encoding", `Transfer-Encoding : chunked\r\n`],
  ])("refuses %s, and what follows is no second request", async (_name, headers) => {
    const smuggled = requestBytes({ path: "/api/v1/secrets" }).toString("latin1");
    const reply = await raw(post(headers, `${object}${smuggled}`));
    expect(statuses(reply)).toEqual([400]);
  });

  test.each([
    ["a size that is no number", "zz\r\n{}\r\n0\r\n\r\n"],
    ["a size beyond all numbers", `${"f".repeat(40)}\r\n{}\r\n0\r\n\r\n`],
    ["a negative size", `-1\r\n{}\r\n0\r\n\r\n`],
    ["a chunk longer than it says", `2\r\n${object}\r\n0\r\n\r\n`],
    ["a bare line feed", `2\n{}\n0\n\n`],
    ["an endless extension", `2;${"x".repeat(64 * 1024)}\r\n{}\r\n0\r\n\r\n`],
  ])("refuses a chunked body with %s", async (_name, body) => {
    const reply = await raw(post("Transfer-Encoding: chunked\r\nConnection: close\r\n", body));
    expect(statuses(reply).every((status) => status === 400 || status === 413)).toBe(true);
  });

  test.each([
    ["an unknown version", "GET /version HTTP/9.9\r\nHost: a\r\n\r\n"],
    ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["an unknown method", "HACK /version HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["a method in lower case", "get /version HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["a version before 1.0", "GET /version HTTP/0.9\r\nHost: a\r\n\r\n"],
    ["no host", "GET /version HTTP/1.1\r\n\r\n"],
    ["two hosts", "GET /version HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n"],
    ["a NUL in the target", "GET /ver\0sion HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["a blank in the target", "GET /ver sion HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["another protocol", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
    ["rubbish", "\x00\x01\x02\x03\xff\xfe\r\n\r\n"],
  ])("refuses %s", async (_name, bytes) => {
    const reply = await raw(Buffer.from(bytes, "latin1"));
    expect(parseReply(reply).status).toBe(400);
    expect(reply.toString("latin1").trimEnd().split("\r\n\r\n")[1] ?? "").not.toContain("\n");
  });

  test("a request line alone on a closed connection is nothing", async () => {
    const socket = await openTls(hub.target, "http/1.1", hub.admin);
    socket.end(
      `POST ${collection} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n${object}`,
    );
    await expect(once(socket.resume(), "close")).resolves.toBeDefined();
  });

  test("CONNECT, TRACE and OPTIONS do nothing", async () => {
    expect(statuses(await raw(`CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: localhost\r\n\r\n`))).not.toContain(200);
    for (const method of ["TRACE", "OPTIONS"]) {
      const reply = await send(hub.target, { method, path: "/version", headers: [["X-Secret", "echo"]] }, hub.admin);
      expect([method, reply.status]).toEqual([method, 405]);
      expect(reply.text).not.toContain("echo");
    }
    expect(statuses(await raw("OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))).toEqual([404]);
  });

  test.each(["h2c", "websocket", "TLS/1.0", "SPDY/3.1"])("an upgrade to %s is passed over", async (protocol) => {
    const headers = [
      ["Connection", "Upgrade, close"],
      ["Upgrade", protocol],
      ["HTTP2-Settings", "AAMAAABkAAQAAP__"],
      ["Sec-WebSocket-Key", "x"],
      ["Sec-WebSocket-Version", "13"],
    ] as const;
    expect((await send(hub.target, { path: "/version", headers })).status).toBe(200);
    expect((await send(hub.target, { path: "/api/v1/secrets", headers })).status).toBe(403);
  });

  test("a second request in the same packet is judged by itself", async () => {
    const first = requestBytes({
      path: "/version",
      headers: [
        ["Connection", "keep-alive"],
        ["Authorization", `Bearer ${hub.tokens.operator}`],
      ],
    });
    const reply = await raw(Buffer.concat([first, requestBytes({ path: "/api/v1/secrets" })]), {});
    expect(statuses(reply)).toEqual([200, 403]);
  });

  test("an expectation other than 100-continue is refused, and 100-continue is met", async () => {
    const headers = (value: string) =>
      [
        ["Expect", value],
        ["Content-Type", "application/json"],
      ] as const;
    expect(
      (
        await send(
          hub.target,
          { method: "POST", path: collection, headers: headers("the-unexpected"), body: object },
          hub.admin,
        )
      ).status,
    ).toBe(417);
    const reply = await raw(
      requestBytes({
        method: "POST",
        path: `${collection}?dryRun=All`,
        headers: headers("100-continue"),
        body: object,
      }),
    );
    expect(statuses(reply)).toEqual([100, 201]);
  });

  test("requests that do not wait for replies are answered in order, and too many at once refused", async () => {
    const one = requestBytes({ path: "/version", headers: [["Connection", "keep-alive"]] });
    const last = requestBytes({ path: "/version" });
    const some = await raw(Buffer.concat([...Array.from({ length: 100 }, () => one), last]), {});
    expect(statuses(some)).toEqual(Array.from({ length: 101 }, () => 200));
    const many = statuses(await raw(Buffer.concat([...Array.from({ length: 5000 }, () => one), last]), {}));
    const served = many.filter((status) => status === 200).length;
    expect(served).toBeGreaterThan(0);
    expect(many).toEqual([...Array.from({ length: served }, () => 200), ...many.slice(served).map(() => 429)]);
  });

  test("half-open, cut and silent connections by the hundred do no harm", async () => {
    const sockets = await Promise.all(Array.from({ length: 100 }, () => openTls(hub.target, "http/1.1")));
    for (const [index, socket] of sockets.entries()) {
      socket.write("GET /version HTTP/1.1\r\nHost: local".slice(0, index));
      if (index % 3 === 0) socket.destroy();
    }
    expect((await send(hub.target, { path: "/readyz" })).text).toBe("ok");
    for (const socket of sockets) socket.destroy();
  });

  test("bytes that are no TLS are hung up on", async () => {
    const socket = connect(hub.target.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write("GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await expect(once(socket.resume(), "close")).resolves.toBeDefined();
  });
});

describe("HTTP/2", () => {
  /** What the hub says to these frames until it hangs up, says goodbye, or answers a ping of ours. */
  async function frames(bytes: Buffer, dial: Dial = {}): Promise<ReturnType<typeof framesOf>> {
    const socket = await openTls(hub.target, "h2", dial);
    const chunks: Buffer[] = [];
    const ended = new Promise<void>((resolve, reject) => {
      const guard = setTimeout(() => reject(new RangeError("the hub neither answers nor hangs up")), 40_000);
      const finish = (): void => {
        clearTimeout(guard);
        resolve();
      };
      socket.once("close", finish);
      socket.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        const answered = framesOf(Buffer.concat(chunks)).some(
          ({ type, flags, payload }) => type === 7 || (type === 6 && flags === 1 && payload.toString() === "the-last"),
        );
        if (answered) finish();
      });
    });
    socket.write(Buffer.concat([bytes, frame(6, 0, 0, Buffer.from("the-last"))]));
    await ended;
    socket.destroy();
    return framesOf(Buffer.concat(chunks));
  }

  const replies = (received: ReturnType<typeof framesOf>): number => received.filter(({ type }) => type === 1).length;

  test.each([
    ["a wrong preface", Buffer.from("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n")],
    ["a request of HTTP/1.1", requestBytes({ path: "/version" })],
    ["rubbish", Buffer.alloc(64, 0xa5)],
    ["a frame that is too long", Buffer.concat([http2Preface, frame(0, 0, 1, Buffer.alloc(1 << 20))])],
    ["data on a stream that is not open", Buffer.concat([http2Preface, frame(0, 1, 1, Buffer.from("{}"))])],
    ["headers on stream 0", Buffer.concat([http2Preface, headersFrame(0, get("/version"))])],
    ["headers on an even stream", Buffer.concat([http2Preface, headersFrame(2, get("/version"))])],
    ["a block that cannot be decoded", Buffer.concat([http2Preface, frame(1, 5, 1, Buffer.alloc(20, 0xff))])],
    ["settings of a wrong size", Buffer.concat([http2Preface, frame(4, 0, 0, Buffer.alloc(5))])],
    [
      "a window of more than there can be",
      Buffer.concat([http2Preface, frame(8, 0, 0, Buffer.from([0x7f, 0xff, 0xff, 0xff]))]),
    ],
    ["a ping of a wrong size", Buffer.concat([http2Preface, frame(6, 0, 0, Buffer.alloc(3))])],
    [
      "a push",
      Buffer.concat([
        http2Preface,
        frame(5, 4, 1, Buffer.concat([Buffer.from([0, 0, 0, 2]), fieldBlock(get("/version"))])),
      ]),
    ],
    [
      "continuations without end",
      Buffer.concat([
        http2Preface,
        frame(1, 1, 1, fieldBlock(get("/version"))),
        ...Array.from({ length: 2000 }, (_, index) => frame(9, 0, 1, fieldBlock([[`x-${index}`, "y".repeat(100)]]))),
      ]),
    ],
  ])("hangs up on %s", async (_name, bytes) => {
    const received = await frames(bytes);
    expect(received.some(({ payload }) => payload.toString() === "the-last")).toBe(false);
    expect(replies(received)).toBe(0);
  });

  test.each([
    ["no path", get("/version").filter(([name]) => name !== ":path")],
    ["an empty path", get("")],
    ["two paths", [...get("/version"), [":path", "/api/v1/secrets"]]],
    [
      "a pseudo header after a header",
      [
        [":method", "GET"],
        [":scheme", "https"],
        ["a", "b"],
        [":path", "/version"],
      ],
    ],
    ["a length that is not that of the body", [...get("/version"), ["content-length", "5"]]],
    ["a transfer encoding", [...get("/version"), ["transfer-encoding", "chunked"]]],
    ["an upgrade", [...get("/version"), ["upgrade", "h2c"]]],
  ] as readonly (readonly [string, readonly (readonly [string, string])[]])[])(
    "resets a stream with %s",
    async (_name, fields) => {
      const received = await frames(Buffer.concat([http2Preface, headersFrame(1, fields)]));
      const statusOk = received.some(({ type, payload }) => type === 1 && payload[0] === 0x88);
      expect(statusOk).toBe(false);
    },
  );

  test("CONNECT opens nothing", async () => {
    for (const fields of [
      [
        [":method", "CONNECT"],
        [":authority", "127.0.0.1:22"],
      ],
      [
        [":method", "CONNECT"],
        [":protocol", "websocket"],
        [":scheme", "https"],
        [":path", "/version"],
        [":authority", "localhost"],
      ],
    ] as const) {
      const received = await frames(Buffer.concat([http2Preface, headersFrame(1, fields)]), hub.admin);
      expect(received.some(({ type, payload }) => type === 1 && payload[0] === 0x88)).toBe(false);
    }
  });

  test("streams opened and reset by the ten thousand end the session, not the hub", async () => {
    const flood = Array.from({ length: 10_000 }, (_, index) =>
      Buffer.concat([
        headersFrame(2 * index + 1, get("/api/v1/secrets")),
        frame(3, 0, 2 * index + 1, Buffer.from([0, 0, 0, 8])),
      ]),
    );
    const received = await frames(Buffer.concat([http2Preface, ...flood]), hub.admin);
    expect(received.some(({ payload }) => payload.toString() === "the-last")).toBe(false);
  });

  test.each([
    ["pings", Array.from({ length: 50_000 }, () => frame(6, 0, 0, Buffer.alloc(8)))],
    ["settings", Array.from({ length: 50_000 }, () => frame(4, 0, 0, Buffer.from([0, 3, 0, 0, 0, 100])))],
    [
      "empty data",
      [
        frame(1, 4, 1, fieldBlock([[":method", "POST"], ...get("/version").slice(1)])),
        ...Array.from({ length: 50_000 }, () => frame(0, 0, 1)),
      ],
    ],
    [
      "priorities",
      Array.from({ length: 50_000 }, (_, index) => frame(2, 0, 2 * index + 1, Buffer.from([0, 0, 0, 0, 16]))),
    ],
    ["window updates", Array.from({ length: 50_000 }, () => frame(8, 0, 0, Buffer.from([0, 0, 0, 1])))],
    ["unknown frames", Array.from({ length: 50_000 }, () => frame(0xbb, 0, 0, Buffer.alloc(8)))],
  ])("a flood of %s leaves the hub at work, and its memory as it was", async (_name, flood) => {
    const memory = ownMemory();
    await frames(Buffer.concat([http2Preface, ...flood]));
    expect(ownMemory() - memory).toBeLessThan(256 * 1024 * 1024);
  });

  test("requests that are taken back while others connect are forgotten", async () => {
    const flood = (stream: number): Buffer =>
      Buffer.concat([headersFrame(stream, get("/api/v1/secrets")), frame(3, 0, stream, Buffer.from([0, 0, 0, 8]))]);
    const sessions = await Promise.all(Array.from({ length: 5 }, () => openTls(hub.target, "h2", hub.admin)));
    const silent = Array.from({ length: 50 }, () => connect(hub.target.port, "127.0.0.1"));
    await Promise.all(silent.map((socket) => once(socket, "connect")));
    for (const socket of silent) socket.on("error", () => undefined);
    for (const session of sessions) {
      session.write(Buffer.concat([http2Preface, ...Array.from({ length: 100 }, (_, index) => flood(2 * index + 1))]));
    }
    for (const socket of silent) socket.destroy();
    expect((await send(hub.target, { path: "/readyz" })).text).toBe("ok");
    for (const session of sessions) session.destroy();
  });

  test("requests of several people on several sessions stay apart", async () => {
    const [jane, john, anybody] = await Promise.all(
      [hub.as("jane"), hub.as("john"), {}].map((dial) => openHttp2(hub.target, dial)),
    );
    const whoami = {
      method: "POST",
      path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      headers: [["content-type", "application/json"]],
      body: "{}",
    } as const;
    const asked = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        sendHttp2([jane, john, anybody][index % 3] as NonNullable<typeof jane>, whoami),
      ),
    );
    expect(new Set(asked.map((reply, index) => `${index % 3} ${identityIn(reply)}`))).toEqual(
      new Set(["0 jane (system:authenticated)", "1 john (system:authenticated)", "2 anonymous"]),
    );
    for (const session of [jane, john, anybody]) session?.destroy();
  });
});

describe("a slow client", () => {
  let slow: Server;
  /** How many bodies began, and how many of them ended early. */
  let begun = 0;
  let broken = 0;
  const target = (): { readonly port: number; readonly caPem: string } => ({
    port: slow.port,
    caPem: hub.target.caPem,
  });

  /** With limits that a client of this process keeps to even where the machine is busy; tests that wait for them do so together. */
  const started = (aliveMs: number): Promise<Server> => {
    const pair = issueOwn(
      hub.authority,
      { commonName: "slow", organizations: [], dnsNames: ["localhost"], ipAddresses: [], usage: "server auth" },
      { now: Date.now(), random: (size) => crypto.getRandomValues(new Uint8Array(size)) },
    );
    return listen({
      monotonic: () => performance.now(),
      ...pair,
      clientCaPem: hub.authority.pem,
      host: "127.0.0.1",
      port: 0,
      handle: (request, response) => {
        if (request.url === "/never") response.writeHead(200);
        else if (request.method === "POST") {
          begun += 1;
          void readBody(request, { timeoutMs: 60_000 }).catch(() => (broken += 1));
        } else response.end();
      },
      timeouts: { headersMs: 4000, idleMs: 4000, checkMs: 20, aliveMs },
    });
  };

  beforeAll(async () => {
    slow = await started(100);
  });
  afterAll(() => slow.close(0));

  test.concurrent("that never begins its handshake is hung up on", async () => {
    const socket = connect(slow.port, "127.0.0.1");
    socket.on("error", () => undefined);
    await expect(once(socket.resume(), "close")).resolves.toBeDefined();
  });

  test.concurrent("that never begins its request is hung up on", async () => {
    expect(await speak(await openTls(target(), "http/1.1"), "")).toBeDefined();
  });

  test.concurrent("that sends its headers byte by byte is told 408 and hung up on", async () => {
    const socket = await openTls(target(), "http/1.1");
    const drip = setInterval(() => socket.write("X"), 5);
    const reply = speak(socket, "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
    expect(parseReply(await reply).status).toBe(408);
    clearInterval(drip);
  });

  test.concurrent("that keeps a connection without a further request is hung up on", async () => {
    const reply = await speak(
      await openTls(target(), "http/1.1"),
      requestBytes({ path: "/", headers: [["Connection", "keep-alive"]] }),
    );
    expect(parseReply(reply).status).toBe(200);
  });

  test.concurrent("of HTTP/2 that opens a session and no stream is hung up on", async () => {
    expect(await speak(await openTls(target(), "h2"), http2Preface)).toBeDefined();
  });

  test.concurrent("of HTTP/2 that was told goodbye is hung up on", async () => {
    expect(
      await speak(await openTls(target(), "h2"), Buffer.concat([http2Preface, frame(4, 0, 0, Buffer.alloc(5))])),
    ).toBeDefined();
  });

  test.concurrent("of HTTP/2 that never sends its preface is hung up on", async () => {
    expect(await speak(await openTls(target(), "h2"), "PRI * ")).toBeDefined();
  });

  test.concurrent("of HTTP/2 that is gone without a word is hung up on, whatever it had asked for", async () => {
    const socket = await openTls(target(), "h2");
    // Raw frames: nobody here answers a ping.
    expect(await speak(socket, Buffer.concat([http2Preface, headersFrame(1, get("/never"))]))).toBeDefined();
  });

  test.concurrent("of HTTP/2 that answers keeps its stream as long as it likes", async () => {
    // An answer must come before the next ping, and both are made by this one process.
    const patient = await started(3000);
    const session = await openHttp2({ port: patient.port, caPem: hub.target.caPem });
    const stream = session.request({ ":path": "/never" });
    await once(stream, "response");
    for (let ping = 0; ping < 3; ping += 1) await once(session, "ping");
    expect(stream.closed).toBe(false);
    session.destroy();
    await patient.close(0);
  });

  /** Opens streams at once, hangs up after `until`, waits until nothing is left of them, and returns how many the server had begun to read. */
  async function floodAndGo(streams: number, until: (socket: TLSSocket) => Promise<void>): Promise<number> {
    const [begunBefore, brokenBefore] = [begun, broken];
    const socket = await openTls(target(), "h2");
    const post = fieldBlock([[":method", "POST"], ...get("/body").slice(1)]);
    const flood = Array.from({ length: streams }, (_, index) => frame(1, 4, 2 * index + 1, post));
    socket.write(Buffer.concat([http2Preface, ...flood]));
    await until(socket);
    socket.destroy();
    await expect.poll(() => begun - begunBefore).toBeGreaterThan(0);
    await expect.poll(() => slow.connections()).toBe(0);
    // Its turn comes after those that wait, so that all are begun.
    expect((await send(target(), { path: "/" })).status).toBe(200);
    await expect.poll(() => begun - begunBefore - (broken - brokenBefore)).toBe(0);
    return begun - begunBefore;
  }

  test("of HTTP/2 that opens more streams than it may, and goes, leaves nothing behind", async () => {
    const streams = await floodAndGo(1500, async (socket) => {
      // The settings, and then the first stream that is refused; it may also be hung up on, since it answers no ping.
      for (let heard = 0; heard < 2 && !socket.destroyed; heard += 1) {
        await Promise.race([once(socket, "data"), once(socket, "close")]).catch(() => undefined);
      }
    });
    expect(streams).toBeLessThanOrEqual(1000);
  });

  test.each([50, 1500])(
    "of HTTP/2 that opens %i streams and goes without reading leaves nothing behind",
    async (streams) => {
      const begunStreams = await floodAndGo(
        streams,
        (socket) => new Promise((resolve) => void socket.write("", () => resolve())),
      );
      expect(begunStreams).toBeLessThanOrEqual(1000);
    },
  );

  test("of HTTP/2 whose requests wait for another connection to be accepted, and goes, leaves nothing behind", async () => {
    const others: Promise<TLSSocket>[] = [];
    const streams = await floodAndGo(50, async () => {
      others.push(openTls(target(), "h2"));
      for (const other of await Promise.all(others)) other.destroy();
    });
    expect(streams).toBe(50);
  });
});
