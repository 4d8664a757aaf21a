import type { Duplex } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { issueOwn } from "../../src/ca/hub-certificates.ts";
import { systemRandom } from "../../src/host/system-random.ts";
import { adminKeyPair, apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { echoing, nodeAt, podOn, startFakeKubelet, type FakeKubelet } from "../kits/fake-kubelet.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { eventually } from "../kits/peers-process.ts";
import { openTls, parseReply, send, speak, type Dial } from "../kits/wire.ts";
import { authorityIn } from "./attacked-hub.ts";

const pods = "/api/v1/namespaces/default/pods";
const spdy = ["Connection: Upgrade", "Upgrade: SPDY/3.1"];

let hub: TestHub;
let kubelet: FakeKubelet;
let admin: ApiClient;
let dial: Dial;

async function created(path: string, body: object): Promise<void> {
  const reply = await admin(path, { method: "POST", body });
  if (reply.status !== 201) throw new RangeError(reply.text);
}

const messageOf = (reply: Reply): string => String(reply.json()["message"]);

beforeAll(async () => {
  hub = await startTestHub();
  admin = apiClient(hub);
  const { certPem: cert, keyPem: key } = adminKeyPair(hub);
  dial = { cert, key };
  kubelet = await startFakeKubelet(hub.dataDir);
  await created("/api/v1/nodes", nodeAt("n1", kubelet.port));
  await created(pods, podOn("n1"));
});

afterAll(async () => {
  admin?.close();
  await hub?.close();
  await kubelet?.close();
});

beforeEach(() => {
  (kubelet.seen as unknown[]).length = 0;
  kubelet.answer = (_request, response) => void response.end("line 1\n");
  kubelet.upgrade = echoing;
});

describe("a Node that lies about its address", () => {
  it.each([
    ["a metadata service", "169.254.169.254", "no link-local, multicast, unspecified or metadata address"],
    ["the same, as an IPv6 address", "::ffff:169.254.169.254", "no link-local, multicast"],
    ["any address of the machine", "0.0.0.0", "no link-local, multicast"],
    ["a multicast group", "224.0.0.1", "no link-local, multicast"],
    ["a link-local IPv6 address", "fe80::1", "no link-local, multicast"],
    ["the same, by way of an interface", "fe80::1%lo", "no link-local, multicast"],
    ["a metadata service behind NAT64", "64:ff9b::169.254.169.254", "no link-local, multicast"],
  ])("does not lead the hub to %s", async (title, address, why) => {
    const name = `liar-${title.replaceAll(/[^a-z0-9]+/gi, "-").toLowerCase()}`;
    await created("/api/v1/nodes", nodeAt(name, 80, address));
    const reply = await admin(`/api/v1/nodes/${name}/proxy/latest/meta-data`);
    expect(reply.status).toBe(500);
    expect(messageOf(reply)).toContain(why);
  });

  it.each([
    ["a blank", "a b"],
    ["a line of a header", "a\r\nX-Remote-User: admin"],
    ["letters of another alphabet", "\u4f8b\u3048.example"],
    ["a port", "localhost:10250"],
    ["more characters than names have", "a".repeat(300)],
  ])("is told so where its host name has %s", async (title, host) => {
    const name = `odd-${title.replaceAll(/[^a-z]+/gi, "-").toLowerCase()}`;
    const status = { addresses: [{ type: "Hostname", address: host }] };
    await created("/api/v1/nodes", { ...nodeAt(name, 80), status });
    const reply = await admin(`/api/v1/nodes/${name}/proxy/healthz`);
    expect([reply.status, messageOf(reply)]).toEqual([500, expect.stringContaining("is no host name")]);
    expect(messageOf(reply).length).toBeLessThan(600);
  });

  it("is told so where its port does not exist", async () => {
    await created("/api/v1/nodes", nodeAt("beyond", 70_000));
    const reply = await admin("/api/v1/nodes/beyond/proxy/healthz");
    expect([reply.status, messageOf(reply)]).toEqual([500, expect.stringContaining("port 70000 does not exist")]);
  });

  it("does not lead the hub to itself with more rights than the client's", async () => {
    await created("/api/v1/nodes", nodeAt("mirror", hub.port));
    const reply = await admin("/api/v1/nodes/mirror/proxy/api/v1/nodes/n1/proxy/run");
    expect(reply.status).toBe(500);
    expect(messageOf(reply)).toContain("answered 401");
    expect(kubelet.seen).toEqual([]);
    expect(hub.log).toContainEqual(expect.objectContaining({ reason: "KubeletCredentialPresented" }));
  });

  it("does not lead to the kubelet of another node, whose certificate has its name", async () => {
    await created("/api/v1/nodes", nodeAt("borrower", kubelet.port));
    const reply = await admin("/api/v1/nodes/borrower/proxy/run/x", { method: "POST" });
    expect(reply.status).toBe(500);
    expect(messageOf(reply)).toContain("its certificate is that of another node, system:node:n1");
    expect(kubelet.seen).toEqual([]);
  });

  it("is not reached by way of a proxy request to another port", async () => {
    const reply = await admin("/api/v1/nodes/https:n1:443/proxy/x");
    expect([reply.status, messageOf(reply)]).toEqual([404, 'nodes "https:n1:443" not found']);
  });
});

describe("a hub that listens beyond loopback", () => {
  it("asks no kubelet at a loopback address, where the services of its own machine listen", async () => {
    const open = await startTestHub({ bindAddress: "0.0.0.0", tlsSans: ["127.0.0.1"] });
    const client = apiClient(open);
    await client("/api/v1/nodes", { method: "POST", body: nodeAt("n1", kubelet.port) });
    const byName = { ...nodeAt("n2", kubelet.port, "localhost") } as { status: { addresses: object[] } };
    byName.status.addresses = [{ type: "Hostname", address: "localhost" }];
    await client("/api/v1/nodes", { method: "POST", body: byName });
    for (const name of ["n1", "n2"]) {
      const reply = await client(`/api/v1/nodes/${name}/proxy/healthz`);
      expect([reply.status, messageOf(reply)]).toEqual([500, expect.stringContaining("loopback addresses only")]);
    }
    client.close();
    await open.close();
  });
});

describe("the hub's certificate for kubelets", () => {
  it("opens nothing at the hub", async () => {
    const authority = await authorityIn(hub.dataDir);
    const { certPem, keyPem } = issueOwn(
      authority,
      {
        commonName: "kube-apiserver-kubelet-client",
        organizations: ["system:masters"],
        dnsNames: [],
        ipAddresses: [],
        usage: "client auth",
      },
      { now: Date.now(), random: systemRandom },
    );
    const reply = await send(
      { port: hub.port, caPem: hub.ca },
      { path: "/api/v1/nodes" },
      { cert: certPem, key: keyPem },
    );
    expect(reply.status).toBe(401);
  });
});

describe("paths", () => {
  it.each([
    "/api/v1/nodes/n1/proxy/../../secrets",
    "/api/v1/nodes/n1/proxy/pods/%2e%2e/run",
    "/api/v1/nodes/n1/proxy/pods/%2E./run",
    "/api/v1/nodes/n1/proxy/pods%2f..%2frun",
    "/api/v1/nodes/n1/proxy/pods\\..\\run",
  ])("%s is not sent to the kubelet", async (path) => {
    const reply = await send({ port: hub.port, caPem: hub.ca }, { path }, dial);
    expect([400, 404]).toContain(reply.status);
    expect(kubelet.seen).toEqual([]);
  });

  it("the name of a container is one segment, whatever it holds", async () => {
    for (const container of ["../../run/default/p1/c", "c?x=1", "c#", "c%2f.."]) {
      const reply = await admin(`${pods}/p1/log?container=${encodeURIComponent(container)}`);
      expect([reply.status, kubelet.seen.length]).toEqual([400, 0]);
    }
  });

  it("rights on nodes/proxy of one Node are none on another path below it", async () => {
    const reply = await send({ port: hub.port, caPem: hub.ca }, { path: "/api/v1/nodes/n1/status/x" }, dial);
    expect(reply.status).toBe(404);
    const namespaced = "/api/v1/namespaces/default/nodes/n1/proxy/pods";
    expect((await send({ port: hub.port, caPem: hub.ca }, { path: namespaced }, dial)).status).toBe(404);
  });
});

describe("what follows a request for an upgrade", () => {
  const exec = `${pods}/p1/exec?command=id&stdout=true`;
  const further = `DELETE ${pods}/p1 HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  const raw = async (lines: readonly string[], rest: string): Promise<string> => {
    const socket = await openTls({ port: hub.port, caPem: hub.ca }, "http/1.1", dial);
    return (await speak(socket, `${lines.join("\r\n")}\r\n\r\n${rest}`)).toString("latin1");
  };
  const answersIn = (text: string): number => text.split("HTTP/1.1 ").length - 1;

  it("is never a further request, whether the kubelet agrees or not", async () => {
    kubelet.upgrade = (_request, socket) => void socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
    const refused = await raw([`POST ${exec} HTTP/1.1`, "Host: localhost", ...spdy], further);
    expect([answersIn(refused), parseReply(Buffer.from(refused)).status]).toEqual([1, 500]);
    const elsewhere = await raw(
      ["GET /version HTTP/1.1", "Host: localhost", "Connection: Upgrade", "Upgrade: h2c"],
      further,
    );
    expect([answersIn(elsewhere), parseReply(Buffer.from(elsewhere)).status]).toEqual([1, 200]);
    expect((await admin(`${pods}/p1`)).status).toBe(200);
  });

  it("is no body", async () => {
    for (const framing of ["Content-Length: 5", "Content-Length: 5000", "Transfer-Encoding: chunked"]) {
      const reply = await raw([`POST ${exec} HTTP/1.1`, "Host: localhost", ...spdy, framing], further);
      expect([answersIn(reply), parseReply(Buffer.from(reply)).status]).toEqual([1, 400]);
    }
    expect(kubelet.seen).toEqual([]);
  });

  it("does not keep the connection of a client that keeps its side of it open", async () => {
    const connections = async (): Promise<string | undefined> =>
      /^pratique_connections (\d+)$/m.exec((await admin("/metrics")).text)?.[1];
    const before = await connections();
    const request = `POST /version HTTP/1.1\r\nHost: localhost\r\n${spdy.join("\r\n")}\r\nContent-Length: 5000\r\n\r\n`;
    const requests = [request, "GET /version HTTP/1.1\r\nno header\r\n\r\n", "GET /version HTTP/1.1\r\n\r\n"];
    const sockets = await Promise.all(
      requests.map(() => openTls({ port: hub.port, caPem: hub.ca }, "http/1.1", { allowHalfOpen: true })),
    );
    for (const [at, socket] of sockets.entries()) socket.write(requests[at] ?? "");
    await expect.poll(connections).toBe(before);
    for (const socket of sockets) socket.destroy();
  });

  it("a kubelet that speaks another protocol than asked, or answers 101 to a plain request, is cut off", async () => {
    const other = (_request: unknown, socket: Duplex): void =>
      void socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
    kubelet.upgrade = other;
    const reply = await raw([`POST ${exec} HTTP/1.1`, "Host: localhost", ...spdy], "");
    expect([answersIn(reply), parseReply(Buffer.from(reply)).status]).toEqual([1, 500]);
    kubelet.answer = (request) => other(undefined, request.socket);
    expect((await admin(`${pods}/p1/log`)).status).toBe(500);
  });

  it("behind a request that has no answer yet, ends the connection", async () => {
    // What the tests before have upgraded is closed by now, or soon.
    await expect.poll(() => kubelet.upgraded.size).toBe(0);
    kubelet.answer = () => undefined;
    const socket = await openTls({ port: hub.port, caPem: hub.ca }, "http/1.1", dial);
    const log = `GET ${pods}/p1/log?follow=true HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    const upgrade = [`POST ${exec} HTTP/1.1`, "Host: localhost", ...spdy, "", ""].join("\r\n");
    expect((await speak(socket, log + upgrade)).toString()).toBe("");
    expect(kubelet.upgraded.size).toBe(0);
    expect((await admin("/livez")).status).toBe(200);
  });
});

describe("a Pod", () => {
  it("has no ephemeral container whose name would be a path at the kubelet", async () => {
    const { spec, ...rest } = podOn("n1", "sly") as { spec: object };
    const ephemeralContainers = [{ name: "..", image: "i" }];
    const reply = await admin(pods, { method: "POST", body: { ...rest, spec: { ...spec, ephemeralContainers } } });
    expect([reply.status, messageOf(reply)]).toEqual([
      422,
      expect.stringContaining('spec.ephemeralContainers[0].name: Invalid value: ".."'),
    ]);
  });

  it("that was made anew on another Node is looked for there", async () => {
    const second = await startFakeKubelet(hub.dataDir, { commonName: "system:node:n9" });
    await created("/api/v1/nodes", nodeAt("n9", second.port));
    await created(pods, podOn("n1", "moving"));
    await admin(`${pods}/moving/log`);
    await admin(`${pods}/moving?gracePeriodSeconds=0`, { method: "DELETE" });
    await created(pods, podOn("n9", "moving"));
    await admin(`${pods}/moving/log`);
    expect([kubelet.seen.length, second.seen.length]).toEqual([1, 1]);
    await second.close();
  });
});

describe("a client that goes", () => {
  it("takes its request to a silent kubelet along", async () => {
    let open = 0;
    kubelet.answer = (request) => {
      open += 1;
      request.socket.once("close", () => {
        open -= 1;
      });
    };
    const socket = await openTls({ port: hub.port, caPem: hub.ca }, "http/1.1", dial);
    socket.write(`GET ${pods}/p1/log?follow=true HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await eventually("the request", async () => open === 1 || undefined);
    socket.destroy();
    await eventually("the end of the request", async () => open === 0 || undefined);
    expect(kubelet.seen).toHaveLength(1);
  });
});
