import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fakeClock, type FakeClock } from "../../test/kits/fake-clock.ts";
import { remoteClient, type RemoteClient } from "./remote.ts";

/** Within the 30 seconds after which a proxy that is silent is given up in any case. */
const limitMs = 15_000;

let proxy: Server;
let clock: FakeClock;
let client: RemoteClient;
const sockets: Socket[] = [];

beforeEach(async () => {
  proxy = createServer((socket) => {
    sockets.push(socket.on("error", () => undefined));
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  clock = fakeClock();
  const { port } = proxy.address() as AddressInfo;
  const proxyUrl = `http://127.0.0.1:${port}`;
  client = remoteClient({ server: "https://hub.invalid", proxyUrl, userAgent: "test", timeoutMs: 5000, clock });
});

afterEach(async () => {
  client.close();
  for (const socket of sockets.splice(0)) socket.destroy();
  proxy.close();
  await once(proxy, "close");
});

test(
  "a call through a proxy that gives no answer ends after its own time",
  async () => {
    const connected = once(proxy, "connection");
    const call = client.raw("GET", "/version").catch((error: unknown) => error);
    await connected;
    await clock.advance(5000);
    expect(await call).toMatchObject({ code: "TIMEOUT" });
  },
  limitMs,
);

test(
  "a call through a proxy that gives no answer ends when it is aborted",
  async () => {
    const connected = once(proxy, "connection");
    const stop = new AbortController();
    const call = client.raw("GET", "/version", { signal: stop.signal }).catch((error: unknown) => error);
    await connected;
    stop.abort();
    expect(await call).toMatchObject({ code: "ABORTED" });
  },
  limitMs,
);
