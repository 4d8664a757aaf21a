import { once } from "node:events";
import type { Writable } from "node:stream";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { adminKeyPair, apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { echoing, nodeAt, podOn, startFakeKubelet, type FakeKubelet } from "../kits/fake-kubelet.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { eventually } from "../kits/peers-process.ts";
import { openTls, parseReply, speak, type WireReply } from "../kits/wire.ts";

const pods = "/api/v1/namespaces/default/pods";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const spdy = ["Connection: Upgrade", "Upgrade: SPDY/3.1"];
const webSocket = [
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA==",
  "Sec-WebSocket-Version: 13",
];

let hub: TestHub;
let kubelet: FakeKubelet;
let other: FakeKubelet;
let admin: ApiClient;

async function created(path: string, body: object): Promise<void> {
  const reply = await admin(path, { method: "POST", body });
  if (reply.status !== 201) throw new RangeError(reply.text);
}

async function grant(user: string, resource: string, verbs: readonly string[]): Promise<void> {
  const rules = [{ apiGroups: [""], resources: [resource], verbs }];
  await created(`${rbac}/clusterroles`, { metadata: { name: `of-${user}` }, rules });
  await created(`${rbac}/clusterrolebindings`, {
    metadata: { name: `of-${user}` },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: `of-${user}` },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
  });
}

const streams = ["attach", "exec", "portforward"] as const;
const verbs = ["get", "create"] as const;

beforeAll(async () => {
  const users = streams.flatMap((stream) => verbs.map((verb) => `${verb}-${stream}`));
  hub = await startTestHub({
    users: Object.fromEntries([...users, "follower", "waiter"].map((user) => [user, []])),
  });
  admin = apiClient(hub);
  kubelet = await startFakeKubelet(hub.dataDir);
  other = await startFakeKubelet(hub.dataDir, { commonName: "system:node:n2" });
  await created("/api/v1/nodes", nodeAt("n1", kubelet.port));
  await created("/api/v1/nodes", nodeAt("n2", other.port));
  await created(pods, podOn("n1"));
  for (const stream of streams) for (const verb of verbs) await grant(`${verb}-${stream}`, `pods/${stream}`, [verb]);
  await grant("follower", "pods/log", ["get"]);
  await grant("waiter", "pods/exec", ["create"]);
});

afterAll(async () => {
  admin?.close();
  await hub?.close();
  await kubelet?.close();
  await other?.close();
});

beforeEach(() => {
  (kubelet.seen as unknown[]).length = 0;
  kubelet.answer = (_request, response) => void response.end("line 1\n");
  kubelet.upgrade = echoing;
});

interface Terms {
  readonly as?: string;
  readonly method?: string;
  readonly headers?: readonly string[];
}

/** A connection on which a request was sent, whose answer is not read yet. */
async function sent(path: string, { as = "admin", method = "POST", headers = spdy }: Terms = {}): Promise<TLSSocket> {
  const { certPem: cert, keyPem: key } = adminKeyPair(hub);
  const socket = await openTls({ port: hub.port, caPem: hub.ca }, "http/1.1", as === "admin" ? { cert, key } : {});
  const credentials = as === "admin" ? [] : [`Authorization: Bearer ${hub.token(as)}`];
  socket.write([`${method} ${path} HTTP/1.1`, "Host: localhost", ...credentials, ...headers, "", ""].join("\r\n"));
  return socket;
}

/** The head of the answer; the rest is not read. */
async function headOf(socket: TLSSocket): Promise<WireReply> {
  let got = "";
  while (!got.includes("\r\n\r\n")) {
    await once(socket, "readable");
    got += String((socket.read() as Buffer | null) ?? "");
  }
  return parseReply(Buffer.from(got));
}

/** The whole of an answer that ends the connection. */
async function answered(path: string, terms: Terms): Promise<WireReply> {
  return parseReply(await speak(await sent(path, terms), ""));
}

describe("rights", () => {
  it.each(streams)("to create pods/%s alone open no WebSocket, and to get alone open nothing", async (stream) => {
    const path = `${pods}/p1/${stream}?command=id&stdout=true`;
    const asked = [
      { as: `create-${stream}`, method: "GET", headers: webSocket, verb: "get" },
      { as: `get-${stream}`, method: "GET", headers: webSocket, verb: "create" },
      { as: `get-${stream}`, method: "POST", headers: spdy, verb: "create" },
    ];
    for (const { verb, ...terms } of asked) {
      const reply = await answered(path, terms);
      expect([reply.status, reply.text]).toEqual([403, expect.stringContaining(`cannot ${verb} resource`)]);
    }
    expect(kubelet.seen).toEqual([]);
    const socket = await sent(path, { as: `create-${stream}` });
    expect((await headOf(socket)).status).toBe(101);
    socket.destroy();
  });
});

describe("a page of another site, in a browser that holds a client certificate", () => {
  const origin = "Origin: https://elsewhere.example";
  const exec = `${pods}/p1/exec?command=id&stdout=true`;

  it("opens no stream, and sends nothing to a kubelet", async () => {
    const stream = await answered(exec, { method: "GET", headers: [...webSocket, origin] });
    expect([stream.status, stream.text]).toEqual([403, expect.stringContaining("another origin")]);
    const run = "/api/v1/nodes/n1/proxy/run/default/p1/c?cmd=id";
    const form = ["Content-Type: text/plain", "Content-Length: 0", "Connection: close", origin];
    expect((await answered(run, { headers: form })).status).toBe(403);
    const opaque = await answered(exec, { method: "GET", headers: [...webSocket, "Origin: null"] });
    expect(opaque.status).toBe(403);
    expect(kubelet.seen).toEqual([]);
  });

  it("is not mistaken for a page of the hub itself", async () => {
    const socket = await sent(exec, { method: "GET", headers: [...webSocket, "Origin: https://localhost"] });
    expect((await headOf(socket)).status).toBe(101);
    socket.destroy();
  });
});

function namesIn(headers: WireReply["headers"] | Reply["headers"]): readonly string[] {
  return headers instanceof Map ? [...(headers as WireReply["headers"]).keys()] : Object.keys(headers);
}

describe("a kubelet that answers with a redirect", () => {
  it("leads neither the hub nor the client elsewhere", async () => {
    const location = `https://127.0.0.1:${other.port}/run/default/p1/c?cmd=id`;
    kubelet.answer = (_request, response) => void response.writeHead(302, { location }).end();
    kubelet.upgrade = (_request, socket) =>
      void socket.end(`HTTP/1.1 307 Temporary Redirect\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`);
    const replies = [
      await admin(`${pods}/p1/log`),
      await admin("/api/v1/nodes/n1/proxy/logs"),
      await answered(`${pods}/p1/exec?command=id`, {}),
    ];
    for (const reply of replies) {
      expect([reply.status, reply.text]).toEqual([500, expect.stringMatching(/answered 30[27]/)]);
      expect(namesIn(reply.headers)).not.toContain("location");
      expect(reply.text).not.toContain(location);
    }
    expect(other.seen).toEqual([]);
  });
});

describe("headers of a client", () => {
  it("do not speak to the kubelet in the hub's name", async () => {
    const headers = [
      "X-Remote-User: admin",
      "X-Remote-Group: system:masters",
      "X-Remote-Extra-Scopes: all",
      "X-Forwarded-For: 10.0.0.1",
      "X-Forwarded-Host: elsewhere",
      "Forwarded: for=10.0.0.1",
      "Cookie: a=b",
      "Authorization-Info: x",
      "Proxy-Authorization: Basic eDp5",
      "Accept: text/plain",
      "Connection: close",
    ];
    const reply = await answered("/api/v1/nodes/n1/proxy/pods", { method: "GET", headers });
    expect(reply.status).toBe(200);
    expect(Object.keys(kubelet.seen[0]?.headers ?? {}).sort()).toEqual(["accept", "connection", "host", "user-agent"]);
    const socket = await sent(`${pods}/p1/exec?command=id`, { headers: [...spdy, ...headers.slice(0, -2)] });
    expect((await headOf(socket)).status).toBe(101);
    expect(Object.keys(kubelet.seen[1]?.headers ?? {}).sort()).toEqual([
      "connection",
      "content-length",
      "host",
      "upgrade",
      "user-agent",
    ]);
    socket.destroy();
  });
});

describe("an answer that is none", () => {
  it.each(["http1", "http2"] as const)(
    "with a code that does not exist is an error of the hub over %s",
    async (over) => {
      kubelet.answer = (_request, response) => void response.writeHead(999).end("x");
      const client = apiClient(hub, "admin", over);
      const reply = await client("/api/v1/nodes/n1/proxy/healthz");
      expect([reply.status, reply.text]).toEqual([500, expect.stringContaining("answered 999")]);
      client.close();
    },
  );
});

describe("a side that reads nothing", () => {
  const tooMuch = 192 * 1024 * 1024;
  const chunk = Buffer.alloc(256 * 1024, "x");

  /** Writes as fast as the other side takes it, and counts. */
  function pumping(to: Writable): () => number {
    let written = 0;
    const pump = (): void => {
      while (written < tooMuch && !to.destroyed) {
        written += chunk.length;
        if (!to.write(chunk)) return;
      }
    };
    to.on("drain", pump);
    pump();
    return () => written;
  }

  /** The count once it has stood still while the hub has answered other requests. */
  async function stalled(count: () => number): Promise<number> {
    return eventually("that the sender is held up", async () => {
      const before = count();
      for (let turn = 0; turn < 20; turn += 1) await admin("/livez");
      return count() === before ? before : undefined;
    });
  }

  it("holds up a kubelet that sends through a tunnel", async () => {
    let count = (): number => 0;
    kubelet.upgrade = (request, socket, head) => {
      echoing(request, socket, head);
      count = pumping(socket);
    };
    const socket = await sent(`${pods}/p1/exec?command=id`);
    await headOf(socket);
    socket.pause();
    expect(await stalled(() => count())).toBeLessThan(tooMuch / 2);
    socket.destroy();
  });

  it("holds up a client that sends through a tunnel", async () => {
    kubelet.upgrade = (_request, socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n");
      socket.pause();
    };
    const socket = await sent(`${pods}/p1/exec?command=id`);
    await headOf(socket);
    expect(await stalled(pumping(socket))).toBeLessThan(tooMuch / 2);
    socket.destroy();
  });

  it("holds up a client that sends before the kubelet has agreed", async () => {
    kubelet.upgrade = () => undefined;
    const socket = await sent(`${pods}/p1/exec?command=id`);
    expect(await stalled(pumping(socket))).toBeLessThan(tooMuch / 2);
    socket.destroy();
  });

  it("holds up a kubelet that sends a log", async () => {
    let count = (): number => 0;
    kubelet.answer = (_request, response) => {
      count = pumping(response);
    };
    const socket = await sent(`${pods}/p1/log?follow=true`, { method: "GET", headers: [] });
    await headOf(socket);
    expect(await stalled(() => count())).toBeLessThan(tooMuch / 2);
    socket.destroy();
  });
});

describe("a client", () => {
  it("that ends its side while the kubelet has not agreed takes the request along", async () => {
    const open = silent();
    const socket = await sent(`${pods}/p1/exec?command=id`);
    await eventually("the request", async () => open() === 1 || undefined);
    socket.end();
    await eventually("the end of the request", async () => open() === 0 || undefined);
    expect(kubelet.seen).toHaveLength(1);
  });

  it("whose credential is revoked loses the log that it follows", async () => {
    kubelet.answer = (_request, response) => void response.write("first\n");
    const socket = await sent(`${pods}/p1/log?follow=true`, { as: "follower", method: "GET", headers: [] });
    expect((await headOf(socket)).status).toBe(200);
    socket.resume();
    const closed = once(socket, "close");
    await revoke("follower");
    await closed;
  });

  it("whose credential is revoked loses the stream that the kubelet has not agreed to yet", async () => {
    const open = silent();
    const socket = await sent(`${pods}/p1/exec?command=id`, { as: "waiter" });
    await eventually("the request", async () => open() === 1 || undefined);
    await revoke("waiter");
    const reply = parseReply(await speak(socket, ""));
    expect(reply.status).toBe(500);
    await eventually("the end of the request", async () => open() === 0 || undefined);
  });

  /** A kubelet that answers no upgrade; how many it has been asked for and still holds. */
  function silent(): () => number {
    let open = 0;
    kubelet.upgrade = (_request, socket) => {
      open += 1;
      socket.once("close", () => {
        open -= 1;
      });
    };
    return () => open;
  }

  async function revoke(user: string): Promise<void> {
    await created("/apis/access.pratique.dev/v1alpha1/credentialrevocations", {
      metadata: { name: user },
      spec: { user },
    });
  }
});
