import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { adminKeyPair, apiClient, type ApiClient } from "../kits/api-client.ts";
import { echoing, nodeAt, podOn, startFakeKubelet, type FakeKubelet } from "../kits/fake-kubelet.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { peerSuite } from "../kits/peers.ts";
import { eventually } from "../kits/peers-process.ts";
import { openTls, parseReply, speak, type WireReply } from "../kits/wire.ts";

const pods = "/api/v1/namespaces/default/pods";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

let hub: TestHub;
let kubelet: FakeKubelet;
let admin: ApiClient;
let folder: string;
let auditLog: string;

async function created(path: string, body: object): Promise<void> {
  const reply = await admin(path, { method: "POST", body });
  if (reply.status !== 201) throw new RangeError(reply.text);
}

async function grant(user: string, rules: readonly object[]): Promise<void> {
  await created(`${rbac}/clusterroles`, { metadata: { name: `of-${user}` }, rules });
  await created(`${rbac}/clusterrolebindings`, {
    metadata: { name: `of-${user}` },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: `of-${user}` },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
  });
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "pratique-streams-"));
  auditLog = join(folder, "audit.log");
  hub = await startTestHub({
    auditLogPath: auditLog,
    users: { reader: [], getter: [], creator: [], proxier: [], runner: [] },
    streamLimits: { maxPerUser: 3, maxTotal: 8 },
  });
  admin = apiClient(hub);
  kubelet = await startFakeKubelet(hub.dataDir);
  await created("/api/v1/nodes", nodeAt("n1", kubelet.port));
  await created(pods, podOn("n1"));
  await created(pods, podOn("n1", "two", ["a", "b"]));
  await created(pods, podOn("", "waiting"));
  await grant("reader", [{ apiGroups: [""], resources: ["pods/log"], verbs: ["get"] }]);
  await grant("getter", [{ apiGroups: [""], resources: ["pods/exec"], verbs: ["get"] }]);
  await grant("creator", [{ apiGroups: [""], resources: ["pods/exec"], verbs: ["get", "create"] }]);
  await grant("proxier", [{ apiGroups: [""], resources: ["nodes/proxy"], verbs: ["get"] }]);
});

afterAll(async () => {
  admin?.close();
  await hub?.close();
  await kubelet?.close();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(() => {
  (kubelet.seen as unknown[]).length = 0;
  kubelet.answer = (_request, response) => void response.end("line 1\nline 2\n");
  kubelet.upgrade = echoing;
});

const spdy = ["Connection: Upgrade", "Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: v5.channel.k8s.io"];

async function opened(identity: string): Promise<{ socket: TLSSocket; credentials: readonly string[] }> {
  const target = { port: hub.port, caPem: hub.ca };
  const { certPem: cert, keyPem: key } = adminKeyPair(hub);
  const dial = identity === "admin" ? { cert, key } : {};
  const credentials = identity === "admin" ? [] : [`Authorization: Bearer ${hub.token(identity)}`];
  return { socket: await openTls(target, "http/1.1", dial), credentials };
}

/** Sends a request as it is, and resolves with the head of the answer; the connection goes on. */
async function upgraded(
  path: string,
  { as = "admin", method = "POST", headers = spdy }: { as?: string; method?: string; headers?: readonly string[] } = {},
): Promise<{ socket: TLSSocket; reply: WireReply; next: (text: string) => Promise<void> }> {
  const { socket, credentials } = await opened(as);
  let got = "";
  socket.on("data", (chunk: Buffer) => {
    got += chunk.toString("latin1");
  });
  const lines = [`${method} ${path} HTTP/1.1`, "Host: localhost", ...credentials, ...headers, "", ""];
  socket.write(lines.join("\r\n"));
  await eventually("the head of the answer", async () => got.includes("\r\n\r\n") || undefined);
  const reply = parseReply(Buffer.from(got, "latin1"));
  const next = async (text: string): Promise<void> => {
    await eventually(`${text} in the stream`, async () => got.includes(text) || undefined);
  };
  return { socket, reply, next };
}

/** Sends a request that is refused, and resolves with the whole answer. */
async function refused(
  path: string,
  terms: { as?: string; method?: string; headers?: readonly string[] },
): Promise<WireReply> {
  const { as = "admin", method = "POST", headers = spdy } = terms;
  const { socket, credentials } = await opened(as);
  const lines = [`${method} ${path} HTTP/1.1`, "Host: localhost", ...credentials, ...headers, "", ""];
  return parseReply(await speak(socket, lines.join("\r\n")));
}

describe("pods/log", () => {
  it("relays the log of the only container, asked with the hub's certificate for kubelets", async () => {
    const reply = await admin(`${pods}/p1/log?tailLines=5&timestamps=true&pretty=true`);
    expect([reply.status, reply.headers["content-type"], reply.text]).toEqual([200, "text/plain", "line 1\nline 2\n"]);
    const [seen] = kubelet.seen;
    expect(seen?.url).toBe("/containerLogs/default/p1/c?timestamps=true&tailLines=5");
    expect(seen?.subject).toEqual({ CN: "kube-apiserver-kubelet-client" });
    expect(Object.keys(seen?.headers ?? {}).sort()).toEqual(["connection", "host", "user-agent"]);
  });

  it("is sent as it comes over HTTP/2 as well", async () => {
    const client = apiClient(hub, "admin", "http2");
    kubelet.answer = (_request, response) => void response.write("first\n");
    const stream = await client.stream(`${pods}/p1/log?follow=true`);
    expect((await stream.bytes(6)).toString()).toBe("first\n");
    expect(kubelet.seen[0]?.url).toBe("/containerLogs/default/p1/c?follow=true");
    stream.close();
    client.close();
  });

  it.each([
    ["two/log", 400, "a container name must be specified for pod two, choose one of: [a b]"],
    ["two/log?container=z", 400, "container z is not valid for pod two"],
    ["p1/log?container=..%2F..%2Fexec", 400, "container ../../exec is not valid for pod p1"],
    ["p1/log?tailLines=-1", 422, "tailLines: Invalid value: -1: must be greater than or equal to 0"],
    ["p1/log?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", 422, "at most one of `sinceTime` or `sinceSeconds`"],
    ["none/log", 404, 'pods "none" not found'],
    ["waiting/log", 200, ""],
  ])("%s is answered %i", async (path, status, message) => {
    const reply = await admin(`${pods}/${path}`);
    expect(reply.status).toBe(status);
    expect(status === 200 ? reply.text : reply.json()["message"]).toContain(message);
    expect(kubelet.seen).toEqual([]);
  });

  it("needs the right to get pods/log, and nothing more", async () => {
    const reader = apiClient(hub, { token: hub.token("reader") });
    const getter = apiClient(hub, { token: hub.token("getter") });
    expect((await reader(`${pods}/p1/log`)).status).toBe(200);
    expect((await getter(`${pods}/p1/log`)).status).toBe(403);
    reader.close();
    getter.close();
  });

  it("a refusal of the kubelet is no refusal of the client's credential", async () => {
    kubelet.answer = (_request, response) => void response.writeHead(401).end("Unauthorized");
    const reply = await admin(`${pods}/p1/log`);
    expect(reply.status).toBe(500);
    expect(reply.json()["message"]).toContain("the kubelet of the node of pod p1 answered 401: Unauthorized");
    kubelet.answer = (_request, response) =>
      void response.writeHead(400).end("previous terminated container not found");
    expect((await admin(`${pods}/p1/log`)).json()["message"]).toBe("previous terminated container not found");
  });

  it("an answer that the kubelet breaks off does not look whole", async () => {
    kubelet.answer = (_request, response) => {
      response.write("half");
      setImmediate(() => response.destroy());
    };
    await expect(admin(`${pods}/p1/log`)).rejects.toThrow(/aborted|hang up|closed/);
  });
});

describe("pods/exec, attach and portforward", () => {
  it("carry the bytes of both sides once the kubelet has switched protocols", async () => {
    const { socket, reply, next } = await upgraded(
      `${pods}/p1/exec?command=sh&command=-c%20x&stdin=true&stdout=true&tty=false`,
    );
    expect(reply.status).toBe(101);
    expect([...reply.headers.keys()].sort()).toEqual([
      "audit-id",
      "connection",
      "upgrade",
      "x-kubernetes-pf-flowschema-uid",
      "x-kubernetes-pf-prioritylevel-uid",
      "x-stream-protocol-version",
    ]);
    expect(reply.headers.get("x-stream-protocol-version")).toBe("v5.channel.k8s.io");
    expect(kubelet.seen[0]?.url).toBe("/exec/default/p1/c?input=1&output=1&command=sh&command=-c+x");
    expect(kubelet.seen[0]?.method).toBe("POST");
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await next("GET / HTTP/1.1");
    socket.end();
    await eventually("the end of the connection to the kubelet", async () => kubelet.upgraded.size === 0 || undefined);
  });

  it.each([
    ["attach?stdin=true", "/attach/default/p1/c?input=1"],
    ["portforward?ports=80&ports=443", "/portForward/default/p1?port=80%2C443"],
  ])("%s is asked as %s", async (path, url) => {
    const { socket, reply } = await upgraded(`${pods}/p1/${path}`);
    expect([reply.status, kubelet.seen[0]?.url]).toEqual([101, url]);
    socket.destroy();
  });

  it("a WebSocket, which asks with GET, needs the right to create as well", async () => {
    const webSocket = [
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA==",
      "Sec-WebSocket-Version: 13",
    ];
    const path = `${pods}/p1/exec?command=id&stdout=true`;
    const reply = await refused(path, { as: "getter", method: "GET", headers: webSocket });
    expect([reply.status, reply.text]).toEqual([403, expect.stringContaining("cannot create resource")]);
    expect(kubelet.seen).toEqual([]);
    const { socket, reply: allowed } = await upgraded(path, { as: "creator", method: "GET", headers: webSocket });
    expect([allowed.status, kubelet.seen[0]?.method]).toEqual([101, "GET"]);
    socket.destroy();
  });

  it("nothing of the client's credential reaches the kubelet", async () => {
    const token = Buffer.from(hub.token("creator")).toString("base64url");
    const headers = [
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA==",
      "Sec-WebSocket-Version: 13",
      `Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.${token}, v4.channel.k8s.io`,
      "Cookie: secret",
      "Origin: https://elsewhere",
      "X-Forwarded-For: 10.0.0.1",
    ];
    const { socket } = await upgraded(`${pods}/p1/exec?command=id`, { as: "creator", method: "GET", headers });
    expect(Object.keys(kubelet.seen[0]?.headers ?? {}).sort()).toEqual([
      "connection",
      "host",
      "sec-websocket-key",
      "sec-websocket-protocol",
      "sec-websocket-version",
      "upgrade",
      "user-agent",
    ]);
    expect(kubelet.seen[0]?.headers["sec-websocket-protocol"]).toBe("v4.channel.k8s.io");
    socket.destroy();
  });

  it("a request without an upgrade, and a Pod without a Node, are refused", async () => {
    const plain = await admin(`${pods}/p1/exec?command=id`, { method: "POST" });
    expect([plain.status, plain.json()["message"]]).toEqual([400, "Upgrade request required"]);
    const waiting = await refused(`${pods}/waiting/exec?command=id`, {});
    expect([waiting.status, waiting.text]).toEqual([
      400,
      expect.stringContaining("pod waiting does not have a host assigned"),
    ]);
  });

  it("what the kubelet answers in place of an upgrade is told with its code", async () => {
    kubelet.upgrade = (_request, socket) =>
      void socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 11\r\n\r\nno such pod");
    const reply = await refused(`${pods}/p1/exec?command=id`, {});
    expect([reply.status, reply.text]).toEqual([404, "no such pod"]);
  });

  it("end with the credential: a token whose CredentialRevocation is made", async () => {
    const { socket } = await upgraded(`${pods}/p1/exec?command=id`, { as: "creator" });
    const closed = once(socket, "close");
    await created("/apis/access.pratique.dev/v1alpha1/credentialrevocations", {
      metadata: { name: "creator" },
      spec: { user: "creator" },
    });
    await closed;
    await eventually("the end of the connection to the kubelet", async () => kubelet.upgraded.size === 0 || undefined);
    expect((await refused(`${pods}/p1/exec?command=id`, { as: "creator" })).status).toBe(401);
  });

  it("are as many at once as the hub allows one user", async () => {
    const open = [];
    for (let count = 0; count < 3; count += 1) open.push(await upgraded(`${pods}/p1/exec?command=id`));
    const reply = await refused(`${pods}/p1/exec?command=id`, {});
    expect([reply.status, reply.text]).toEqual([
      429,
      expect.stringContaining("too many connections to kubelets are open"),
    ]);
    for (const { socket } of open) socket.destroy();
    await eventually("room for another one", async () => {
      const again = await upgraded(`${pods}/p1/exec?command=id`);
      again.socket.destroy();
      return again.reply.status === 101 || undefined;
    });
  });

  it("are in the audit log at their start and at their end", async () => {
    const { socket, reply } = await upgraded(`${pods}/p1/exec?command=id`);
    const id = reply.headers.get("audit-id");
    const stages = (): readonly (readonly unknown[])[] =>
      readFileSync(auditLog, "utf8")
        .split("\n")
        .filter((line) => line.includes(`"auditID":"${id}"`))
        .map((line) => JSON.parse(line) as { stage: string; responseStatus?: { code?: number } })
        .map(({ stage, responseStatus }) => [stage, responseStatus?.code]);
    await eventually("the start", async () => stages().some(([stage]) => stage === "ResponseStarted") || undefined);
    expect(stages()).not.toContainEqual(["ResponseComplete", 101]);
    socket.destroy();
    await eventually("the end", async () => stages().some(([stage]) => stage === "ResponseComplete") || undefined);
    expect(stages()).toContainEqual(["ResponseStarted", 101]);
    expect(stages()).toContainEqual(["ResponseComplete", 101]);
  });
});

describe("nodes/proxy", () => {
  const proxy = "/api/v1/nodes/n1/proxy";

  it("relays path, query, method, type and body, and the kubelet's code", async () => {
    kubelet.answer = (_request, response) =>
      void response.writeHead(418, { "content-type": "text/html", "set-cookie": "a=b" }).end("<b>");
    const reply = await admin(`${proxy}/run/a%20b?x=1`, { method: "POST", body: "text", type: "text/plain" });
    expect([reply.status, reply.text, reply.headers["content-type"]]).toEqual([418, "<b>", "text/html"]);
    expect([reply.headers["set-cookie"], reply.headers["x-content-type-options"]]).toEqual([undefined, "nosniff"]);
    const [seen] = kubelet.seen;
    expect([seen?.method, seen?.url, seen?.body]).toEqual(["POST", "/run/a%20b?x=1", "text"]);
  });

  it("needs the right to create for an upgrade, through which kubelets run commands", async () => {
    expect((await apiGet("proxier", `${proxy}/healthz`)).status).toBe(200);
    const webSocket = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA=="];
    const reply = await refused(`${proxy}/exec/default/p1/c?command=id`, {
      as: "proxier",
      method: "GET",
      headers: webSocket,
    });
    expect(reply.status).toBe(403);
  });

  async function apiGet(user: string, path: string): Promise<{ status: number }> {
    const client = apiClient(hub, { token: hub.token(user) });
    const reply = await client(path);
    client.close();
    return reply;
  }
});

describe("admission", () => {
  it("sees a connection as CONNECT, and can refuse it", async () => {
    const group = "/apis/admissionregistration.k8s.io/v1";
    await created(`${group}/validatingadmissionpolicies`, {
      metadata: { name: "no-shells" },
      spec: {
        matchConstraints: {
          resourceRules: [{ operations: ["CONNECT"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods/exec"] }],
        },
        validations: [{ expression: "!('sh' in object.command)", message: "no shells" }],
      },
    });
    await created(`${group}/validatingadmissionpolicybindings`, {
      metadata: { name: "no-shells" },
      spec: { policyName: "no-shells", validationActions: ["Deny"] },
    });
    const shell = await refused(`${pods}/p1/exec?command=sh`, {});
    expect([shell.status, shell.text]).toEqual([422, expect.stringContaining("no shells")]);
    expect(kubelet.seen).toEqual([]);
    const { socket, reply } = await upgraded(`${pods}/p1/exec?command=id`);
    expect(reply.status).toBe(101);
    socket.destroy();
  });
});

describe("discovery", () => {
  it("lists the subresources as kube-apiserver does", async () => {
    const { resources } = (await admin("/api/v1")).json() as { resources: readonly { name: string }[] };
    expect(resources.filter(({ name }) => /^pods\/(attach|exec|log|portforward)$|^nodes\/proxy$/.test(name))).toEqual([
      { name: "nodes/proxy", singularName: "", namespaced: false, kind: "NodeProxyOptions", verbs: ["create", "get"] },
      { name: "pods/attach", singularName: "", namespaced: true, kind: "PodAttachOptions", verbs: ["create", "get"] },
      { name: "pods/exec", singularName: "", namespaced: true, kind: "PodExecOptions", verbs: ["create", "get"] },
      { name: "pods/log", singularName: "", namespaced: true, kind: "Pod", verbs: ["get"] },
      {
        name: "pods/portforward",
        singularName: "",
        namespaced: true,
        kind: "PodPortForwardOptions",
        verbs: ["create", "get"],
      },
    ]);
  });
});

peerSuite("kubectl", "kubectl", () => {
  it("prints logs, and what lies behind nodes/proxy", async () => {
    expect(await hub.kubectl.ok("logs", "p1")).toBe("line 1\nline 2\n");
    expect(await hub.kubectl.ok("get", "--raw", "/api/v1/nodes/n1/proxy/healthz")).toBe("line 1\nline 2\n");
    expect(kubelet.seen.map(({ url }) => url)).toEqual(["/containerLogs/default/p1/c", "/healthz"]);
  });

  it("tries a WebSocket for exec, and SPDY where the kubelet refuses that", async () => {
    kubelet.upgrade = (request, socket) =>
      void socket.end(
        request.headers.upgrade === "websocket"
          ? "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
          : "HTTP/1.1 404 Not Found\r\nContent-Length: 16\r\n\r\nno such pod here",
      );
    const { err } = await hub.kubectl("exec", "p1", "--", "id");
    expect(err).toContain("no such pod here");
    expect(kubelet.seen.map(({ method, headers }) => `${method} ${headers.upgrade}`)).toEqual([
      "GET websocket",
      "POST SPDY/3.1",
    ]);
    expect(kubelet.seen[1]?.headers["x-stream-protocol-version"]).toContain("v4.channel.k8s.io");
  });
});
