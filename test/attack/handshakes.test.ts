import { once } from "node:events";
import { connect, createServer, Server as NetServer, type AddressInfo, type Socket } from "node:net";
import { constants } from "node:os";
import { connect as connectTls } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { listen, type Server, type ServerOptions } from "../../src/apiserver/server.ts";
import { issueOwn } from "../../src/ca/hub-certificates.ts";
import { systemRandom } from "../../src/host/system-random.ts";
import { createCa } from "../../src/pki/ca.ts";
import { generatePrivateKey } from "../../src/pki/keys.ts";
import { openHttp2, send, sendHttp2 } from "../kits/wire.ts";

const ca = createCa({ commonName: "ca", key: generatePrivateKey(), now: Date.now(), years: 1, random: systemRandom });
const pair = issueOwn(
  ca,
  { commonName: "hub", organizations: [], dnsNames: ["localhost"], ipAddresses: [], usage: "server auth" },
  { now: Date.now(), random: systemRandom },
);

/** A server that answers every request. */
const served = {
  ...pair,
  clientCaPem: ca.pem,
  host: "127.0.0.1",
  port: 0,
  monotonic: () => performance.now(),
  handle: (_request, response) => void response.end("served"),
} satisfies ServerOptions;

let server: Server;
const sockets: Socket[] = [];
beforeEach(async () => {
  server = await listen({
    ...served,
    // Longer than any test: what ends here ends for another reason.
    timeouts: { headersMs: 600_000, idleMs: 600_000, checkMs: 20, aliveMs: 600_000 },
  });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close(0);
});

/** The first bytes of a client of TLS; whoever sends them again has no work with it. */
async function clientHello(): Promise<Buffer> {
  const listener = createServer();
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const accepted = once(listener, "connection");
  const client = connectTls({ host: "127.0.0.1", port: (listener.address() as AddressInfo).port });
  client.on("error", () => undefined);
  const [socket] = (await accepted) as [Socket];
  const [hello] = (await once(socket, "data")) as [Buffer];
  client.destroy();
  socket.destroy();
  listener.close();
  return hello;
}

/** Connections on which nothing was said yet, and which the server has accepted. */
async function silent(count: number): Promise<readonly Socket[]> {
  const opened = Array.from({ length: count }, () => connect(server.port, "127.0.0.1"));
  sockets.push(...opened);
  for (const socket of opened) socket.on("error", () => undefined);
  while (server.connections() < count) await pass();
  return opened;
}

/** One pass of the event loop, which the server and its clients share here. */
function pass(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe("many handshakes at once", () => {
  test("go on a few in each pass of the event loop", async () => {
    const count = 60;
    const [hello, clients] = [await clientHello(), await silent(count)];
    let answered = 0;
    for (const client of clients) client.once("data", () => (answered += 1));
    for (const client of clients) client.write(hello);
    let [most, before] = [0, 0];
    while (answered < count) {
      await pass();
      most = Math.max(most, answered - before);
      before = answered;
    }
    expect(most).toBeLessThanOrEqual(8);
  });

  test("that are silent hold no place: others shake hands, by HTTP/1.1 and HTTP/2, and are served", async () => {
    await silent(60);
    const target = { port: server.port, caPem: ca.pem };
    expect(await send(target, { path: "/" })).toMatchObject({ status: 200, text: "served" });
    const session = await openHttp2(target);
    for (let again = 0; again < 3; again += 1) {
      expect(await sendHttp2(session, { path: "/" })).toMatchObject({ status: 200, text: "served" });
    }
    session.destroy();
  });

  test("that are refused are forgotten: those behind them are served", async () => {
    const clients = await silent(60);
    for (const client of clients) client.end("GET / HTTP/1.1\r\n\r\n");
    await Promise.all(clients.map((client) => once(client.resume(), "close")));
    expect(await send({ port: server.port, caPem: ca.pem }, { path: "/" })).toMatchObject({ status: 200 });
    while (server.connections() > 0) await pass();
  });

  test("do not hold up a server that closes", async () => {
    const clients = await silent(60);
    const ended = Promise.all(clients.map((client) => once(client.resume(), "close")));
    await server.close(600_000);
    expect(await ended).toHaveLength(60);
  });
});

/** What the event loop tells of a connection that it could not accept. */
interface Acceptor {
  readonly _handle: { readonly onconnection: (status: number) => void };
}

describe("a connection that cannot be accepted", () => {
  test("is told, and others are served", async () => {
    const failures: Error[] = [];
    const other = await listen({
      ...served,
      acceptFailed: (error) => void failures.push(error),
    });
    const { _getActiveHandles: handles } = process as unknown as { readonly _getActiveHandles: () => unknown[] };
    const [acceptor] = handles().filter(
      (handle) => handle instanceof NetServer && (handle.address() as AddressInfo | null)?.port === other.port,
    ) as unknown as readonly Acceptor[];
    const { _handle: handle } = acceptor as Acceptor;
    handle.onconnection(-constants.errno.EMFILE);
    expect(failures).toMatchObject([{ code: "EMFILE", syscall: "accept" }]);
    expect(await send({ port: other.port, caPem: ca.pem }, { path: "/" })).toMatchObject({ status: 200 });
    await other.close(0);
  });
});
