import { once } from "node:events";
import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { connect, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { http2Preface, openHttp2, openTls, requestBytes, send, sendHttp2 } from "../kits/wire.ts";
import { call, startAttackedHub, type AttackedHub } from "./attacked-hub.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const limits = { maxOpen: 60, maxUnauthenticated: 20 };

let hub: AttackedHub;
let admin: ClientHttp2Session;
let watch: ClientHttp2Stream;
beforeAll(async () => {
  hub = await startAttackedHub({ connectionLimits: limits });
  admin = await openHttp2(hub.target, hub.admin);
  const session = await openHttp2(hub.target, hub.admin);
  watch = session.request({ ":path": `${configMaps}?watch=true&resourceVersion=0` });
  await once(watch, "response");
});
const opened: Socket[] = [];
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy();
});
afterAll(async () => {
  watch.session?.destroy();
  admin.destroy();
  await hub.close();
});

const flood = 3 * limits.maxUnauthenticated;

async function metric(name: string): Promise<number> {
  const { text } = await sendHttp2(admin, { path: "/metrics" });
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
}

const open: Readonly<Record<string, () => Promise<Socket>>> = {
  "never begin their handshake": async () => {
    const socket = connect(hub.target.port, "127.0.0.1");
    await once(socket, "connect");
    return socket;
  },
  "never make a request": () => openTls(hub.target, "http/1.1"),
  "never make a request of HTTP/2": async () => {
    const socket = await openTls(hub.target, "h2");
    socket.write(http2Preface);
    return socket;
  },
  "make a request without a credential": async () => {
    const socket = await openTls(hub.target, "http/1.1");
    socket.write(requestBytes({ path: "/livez", headers: [["Connection", "keep-alive"]] }));
    await once(socket, "data");
    return socket;
  },
  "make a request with a wrong credential": async () => {
    const socket = await openTls(hub.target, "http/1.1");
    const headers = [
      ["Connection", "keep-alive"],
      ["Authorization", "Bearer wrong"],
    ] as const;
    socket.write(requestBytes({ path: "/livez", headers }));
    await once(socket, "data");
    return socket;
  },
  "send a body that does not end": async () => {
    const socket = await openTls(hub.target, "http/1.1");
    socket.write(`POST ${configMaps} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{`);
    await once(socket, "data");
    return socket;
  },
};

describe("thousands of requests at once without a credential", () => {
  test("are answered or told to try again later, while an authenticated client is served", async () => {
    const before = await metric("pratique_refused_requests_total");
    const sessions = await Promise.all(Array.from({ length: 12 }, () => openHttp2(hub.target)));
    const asked = sessions.flatMap((session) =>
      Array.from({ length: 1000 }, () => sendHttp2(session, { path: "/livez" })),
    );
    const served = await sendHttp2(admin, { path: configMaps });
    const replies = await Promise.all(asked);
    for (const session of sessions) session.destroy();
    expect(served.status).toBe(200);
    expect([...new Set(replies.map(({ status }) => status))].toSorted((a, b) => a - b)).toEqual([200, 429]);
    const refused = replies.filter(({ text }) => text === "Too many requests, please try again later.\n");
    expect(refused.map(({ status, headers }) => [status, headers.get("retry-after")])).toEqual(
      refused.map(() => [429, "1"]),
    );
    expect(refused.length).toBeGreaterThan(0);
    expect((await metric("pratique_refused_requests_total")) - before).toBe(refused.length);
  });
});

describe("more connections than the hub takes of clients without a credential", () => {
  test.each(Object.entries(open))("are closed, and others are served: those that %s", async (_what, dial) => {
    const before = await metric("pratique_closed_connections_total");
    for (let index = 0; index < flood; index += 1) {
      const socket = await dial();
      socket.on("error", () => undefined);
      opened.push(socket);
    }
    expect(await send(hub.target, { path: "/livez" })).toMatchObject({ status: 200 });
    expect(await send(hub.target, { path: "/readyz" }, { over: "HTTP/2" })).toMatchObject({ status: 200 });
    expect(await metric("pratique_unauthenticated_connections")).toBeLessThanOrEqual(limits.maxUnauthenticated);
    expect((await metric("pratique_closed_connections_total")) - before).toBeGreaterThanOrEqual(
      flood - limits.maxUnauthenticated,
    );
  });

  test("cost no authenticated client its watch, and are one log line a minute with reason and limits", async () => {
    expect(watch.closed).toBe(false);
    const event = once(watch, "data");
    const made = await call(hub, hub.admin, { path: configMaps, body: { metadata: { name: "seen" } } });
    expect(made.status).toBe(201);
    await expect(event).resolves.toBeDefined();
    const lines = hub.log.filter(({ reason }) => reason === "ConnectionLimitReached");
    expect(lines).toEqual([expect.objectContaining({ level: "warn", closed: 1, ...limits })]);
  });
});
