import { once } from "node:events";
import { readdir, readFile, stat } from "node:fs/promises";
import type { ClientHttp2Session } from "node:http2";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  fieldBlock,
  frame,
  framesOf,
  http2Preface,
  openHttp2,
  openTls,
  parseReply,
  protocols,
  send,
  sendHttp2,
  type Dial,
  type Protocol,
} from "../kits/wire.ts";
import { call, startAttackedHub, type AttackedHub } from "./attacked-hub.ts";
import { checkHubAfterEach } from "./check-hub-after-each.ts";

const megabyte = 1024 * 1024;
const configMaps = "/api/v1/namespaces/default/configmaps";
const accessRequests = "/apis/access.pratique.dev/v1alpha1/accessrequests";

let hub: AttackedHub;
beforeAll(async () => {
  hub = await startAttackedHub({
    accessRequests: { perAddress: 1, inAll: 600, pending: 1000 },
    auditLogMaxSizeMb: 1,
    auditLogMaxBackups: 2,
  });
  await call(hub, hub.admin, {
    path: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    body: {
      metadata: { name: "floods" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "Group", name: "people", apiGroup: "rbac.authorization.k8s.io" }],
    },
  });
  // The only one of this minute.
  await send(hub.target, { method: "POST", path: accessRequests, body: "{}" });
});
afterAll(() => hub.close());
checkHubAfterEach(() => hub);

/** The next pass of the event loop, which the hub and its clients share here. */
function pass(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe("DATA frames of HTTP/2 of one byte each", () => {
  /** Fewer than the window of the connection lets through, so that it is not this that ends it. */
  const maxFrames = 60_000;
  const crumbs = Buffer.concat(Array.from({ length: 200 }, () => frame(0, 0, 1, Buffer.of(0x20))));

  async function sendCrumbs(socket: TLSSocket): Promise<number> {
    let sent = 0;
    while (sent < maxFrames && socket.writable) {
      socket.write(crumbs);
      sent += 200;
      await pass();
    }
    return sent;
  }

  test.each([
    ["of a body that is read", "operator", "too many small chunks"],
    // By then its answer may not have been sent: a sender that lets it come gets to see it, as is shown below.
    ["of a body that is not read, as its request was refused", undefined, ""],
  ] as const)("end the connection: %s", async (_name, user, message) => {
    const socket = await openTls(hub.target, "h2");
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    const received: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => received.push(chunk));
    const fields = [
      [":method", "POST"],
      [":scheme", "https"],
      [":authority", "localhost"],
      [":path", configMaps],
      ["content-type", "application/json"],
      ...(user === undefined ? [] : ([["authorization", `Bearer ${hub.tokens[user]}`]] as const)),
    ] as const;
    socket.write(Buffer.concat([http2Preface, frame(1, 0x4, 1, fieldBlock(fields))]));
    expect(await sendCrumbs(socket)).toBeLessThan(maxFrames);
    await closed;
    const bodies = framesOf(Buffer.concat(received)).filter(({ type }) => type === 0);
    expect(Buffer.concat(bodies.map(({ payload }) => payload)).toString()).toContain(message);
  });
});

describe("a body that goes on after its request was refused", () => {
  /** Four times what is taken of such a body. */
  const maxBytes = 64 * megabyte;
  const block = Buffer.alloc(64 * 1024, " ");

  interface Sender {
    readonly stream: Duplex;
    readonly status: () => number;
    readonly frameOf: (bytes: Buffer) => Buffer;
  }

  async function overHttp1(path: string, headers: Readonly<Record<string, string>>, dial: Dial): Promise<Sender> {
    const stream = await openTls(hub.target, "http/1.1", dial);
    const received: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => received.push(chunk));
    const fields = Object.entries({ host: "localhost", "transfer-encoding": "chunked", ...headers });
    stream.write(`POST ${path} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
    return {
      stream,
      status: () => parseReply(Buffer.concat(received)).status,
      frameOf: (bytes) => Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]),
    };
  }

  const sessions: ClientHttp2Session[] = [];
  afterEach(() => {
    for (const session of sessions.splice(0)) session.destroy();
  });

  async function overHttp2(path: string, headers: Readonly<Record<string, string>>, dial: Dial): Promise<Sender> {
    const session = await openHttp2(hub.target, dial);
    sessions.push(session);
    const stream = session.request({ ":method": "POST", ":path": path, ...headers }, { endStream: false });
    let status = 0;
    stream.on("response", (received) => {
      status = received[":status"] ?? 0;
    });
    stream.resume();
    return { stream, status: () => status, frameOf: (bytes) => bytes };
  }

  /** Sends until the hub hangs up; resolves to how many bytes it took. */
  async function flood({ stream, frameOf }: Sender): Promise<number> {
    const bytes = frameOf(block);
    stream.on("error", () => undefined);
    const closed = new Promise<void>((resolve) => stream.once("close", resolve));
    let sent = 0;
    while (sent < maxBytes && stream.writable) {
      sent += bytes.length;
      if (!stream.write(bytes)) await Promise.race([closed, once(stream, "drain").catch(() => undefined)]);
      await pass();
    }
    return sent;
  }

  const wrong = { authorization: "Bearer wrong-token" };
  test.each(
    protocols.flatMap((over: Protocol) => [
      { status: 401, over, path: configMaps, headers: wrong, as: undefined },
      { status: 413, over, path: configMaps, headers: {}, as: "admin" },
      { status: 429, over, path: accessRequests, headers: {}, as: undefined },
    ]),
  )("with $status over $over loses its connection", async ({ status, over, path, headers, as }) => {
    const open = over === "HTTP/2" ? overHttp2 : overHttp1;
    const sender = await open(
      path,
      { "content-type": "application/json", ...headers },
      as === undefined ? {} : hub.admin,
    );
    expect(await flood(sender)).toBeLessThan(maxBytes);
    expect(sender.status()).toBe(status);
  });
});

describe("places for large bodies", () => {
  const head = (bytes: number): string =>
    `POST ${configMaps}?dryRun=All HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;
  const body = JSON.stringify({ metadata: { name: "large" }, data: { a: "x".repeat(200 * 1024) } });

  test("that are held by senders who stop after 128 KiB are given to others within their deadline", async () => {
    // All places, as two are for one user.
    const holders = ["mallory", "mallory", "trudy", "trudy"];
    const sockets = await Promise.all(
      [...holders, "jane"].map((name) => openTls(hub.target, "http/1.1", hub.as(name, "people"))),
    );
    const statuses: number[] = [];
    for (const socket of sockets) {
      socket.once("data", (chunk: Buffer) => statuses.push(parseReply(chunk).status));
    }
    const [jane] = sockets.slice(-1);
    for (const socket of sockets.slice(0, -1)) {
      socket.write(Buffer.concat([Buffer.from(head(megabyte)), Buffer.alloc(140 * 1024, " ")]));
    }
    // By then the hub has read what they sent.
    for (let again = 0; again < 3; again += 1) await send(hub.target, { path: "/readyz" });
    const closed = sockets.map((socket) => once(socket, "close"));
    jane?.write(head(body.length) + body);
    await Promise.all(closed);
    // The first place comes free by the deadline of one that stopped, and not by its end.
    expect(statuses.toSorted((a, b) => a - b)).toEqual([201, 504, 504, 504, 504]);
    expect(statuses[0]).toBe(504);
  });
});

describe("the audit log", () => {
  const maxLineBytes = 8192;
  const requests = 2400;
  const names = async (): Promise<readonly string[]> => {
    const folder = join(hub.dataDir, "audit");
    return (await readdir(folder)).map((file) => join(folder, file));
  };

  test("takes some kilobytes of an anonymous request, however long its path, query and user agent, and no more than its files may hold", async () => {
    const session = await openHttp2(hub.target);
    const flood = async (index: number): Promise<number> => {
      const { status } = await sendHttp2(session, {
        path: `/apis/${"%01".repeat(1200)}/v1/${"x".repeat(2000)}-${index}?${"q=%01&".repeat(500)}`,
        headers: [["user-agent", "\\".repeat(3000)]],
      });
      return status;
    };
    const statuses = new Set<number>();
    for (let sent = 0; sent < requests; sent += 50) {
      const answered = await Promise.all(Array.from({ length: 50 }, (_, index) => flood(sent + index)));
      for (const status of answered) statuses.add(status);
    }
    session.destroy();
    expect([...statuses]).toEqual([403]);
    // What is written is told by its files: three of them are full.
    await expect.poll(async () => (await names()).length).toBe(3);
    const sizes = await Promise.all((await names()).map(async (file) => (await stat(file)).size));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(megabyte);
    const texts = await Promise.all((await names()).map((file) => readFile(file, "utf8")));
    const lines = texts.flatMap((text) => text.split("\n")).filter((line) => line.includes("%01"));
    expect(lines.length).toBeGreaterThan(100);
    expect(Math.max(...lines.map((line) => Buffer.byteLength(line)))).toBeLessThanOrEqual(maxLineBytes);
  });
});
