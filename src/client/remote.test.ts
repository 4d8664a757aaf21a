import { createServer } from "node:https";
import type { Server } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { generateKeyPairSync, randomBytes, X509Certificate } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createCa } from "../pki/ca.ts";
import type { CertificateAuthority } from "../pki/ca.ts";
import { issueCertificate } from "../pki/certificate.ts";
import { buildName } from "../pki/names.ts";
import { buildSubjectAltNames } from "../pki/subject-alt-name.ts";
import { StatusError } from "../apimachinery/status.ts";
import { fakeClock } from "../../test/kits/fake-clock.ts";
import type { FakeClock } from "../../test/kits/fake-clock.ts";
import { ConnectionError } from "./client.ts";
import type { ResourceRef, WatchEvent } from "./client.ts";
import { informer } from "./informer.ts";
import { remoteClient } from "./remote.ts";
import type { RemoteClient, RemoteOptions } from "./remote.ts";

const configMaps: ResourceRef = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  scope: "Namespaced",
};
const csrs: ResourceRef = {
  group: "certificates.k8s.io",
  version: "v1",
  kind: "CertificateSigningRequest",
  plural: "certificatesigningrequests",
  scope: "Cluster",
};
const a = { namespace: "n", name: "a" };

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

let server: Server;
let ca: CertificateAuthority;
let origin: string;
let handle: Handler;
let clients: RemoteClient[] = [];
const sockets = new Set<Duplex>();

function keys(): {
  readonly privateKey: ReturnType<typeof generateKeyPairSync>["privateKey"];
  readonly spki: Uint8Array;
} {
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { privateKey: pair.privateKey, spki: pair.publicKey.export({ type: "spki", format: "der" }) };
}

function certificate(name: string, usage: string): { readonly cert: string; readonly key: string } {
  const { privateKey, spki } = keys();
  const rawSans = buildSubjectAltNames({ dns: ["hub.test"], ip: ["127.0.0.1"] });
  const issued = issueCertificate({
    issuer: ca,
    rawSubject: buildName({ commonName: name, organizations: [] }),
    spki,
    usages: ["digital signature", usage],
    notBefore: Date.now() - 60_000,
    notAfter: Date.now() + 3_600_000,
    serial: randomBytes(16),
    role: "leaf",
    ...(rawSans === undefined ? {} : { rawSans }),
  });
  return { cert: issued.pem, key: privateKey.export({ type: "sec1", format: "pem" }).toString() };
}

beforeAll(async () => {
  ca = createCa({ commonName: "test-ca", key: keys().privateKey, now: Date.now(), years: 1, random: randomBytes });
  server = createServer({ ...certificate("hub", "server auth"), requestCert: true, rejectUnauthorized: false });
  server.on("request", (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => handle(request, response, Buffer.concat(chunks).toString()));
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

beforeEach(() => {
  for (const each of clients) each.close();
  clients = [];
});

afterAll(() => {
  for (const each of clients) each.close();
  server.closeAllConnections();
  server.close();
});

function connect(options: Partial<RemoteOptions> = {}): { readonly client: RemoteClient; readonly clock: FakeClock } {
  const clock = fakeClock();
  const trust = options.insecureSkipTlsVerify === true ? {} : { caPem: ca.pem };
  const client = remoteClient({ server: origin, ...trust, userAgent: "test/1", timeoutMs: 5000, clock, ...options });
  clients.push(client);
  return { client, clock };
}

function json(response: ServerResponse, code: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(code, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

async function failure(promise: Promise<unknown>): Promise<StatusError | ConnectionError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof StatusError || error instanceof ConnectionError) return error;
    throw error;
  }
  throw new TypeError("nothing was thrown");
}

/** Reads events until one is seen `count` times, or the stream ends. */
async function take(events: AsyncIterable<WatchEvent>, count: number): Promise<string[]> {
  const seen: string[] = [];
  for await (const event of events) {
    seen.push(
      event.type === "BOOKMARK" ? `BOOKMARK ${event.resourceVersion}` : `${event.type} ${event.object.metadata.name}`,
    );
    if (seen.length === count) break;
  }
  return seen;
}

describe("remoteClient", () => {
  test.each<[string, (client: RemoteClient) => Promise<unknown>, string]>([
    ["get", (client) => client.get(configMaps, a), "GET /api/v1/namespaces/n/configmaps/a "],
    [
      "list",
      (client) => client.list(configMaps, { namespace: "n", labelSelector: "x=y", limit: 2 }),
      "GET /api/v1/namespaces/n/configmaps?labelSelector=x%3Dy&limit=2 ",
    ],
    [
      "create",
      (client) => client.create(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: a }, { dryRun: true }),
      `POST /api/v1/namespaces/n/configmaps?dryRun=All application/json {"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"n","name":"a"}}`,
    ],
    [
      "create of a subresource",
      (client) => client.create(configMaps, { apiVersion: "v1", kind: "X", metadata: a }, { subresource: "token" }),
      `POST /api/v1/namespaces/n/configmaps/a/token application/json {"apiVersion":"v1","kind":"X","metadata":{"namespace":"n","name":"a"}}`,
    ],
    [
      "update of a subresource",
      (client) =>
        client.update(csrs, { apiVersion: "x", kind: "C", metadata: { name: "c" } }, { subresource: "approval" }),
      `PUT /apis/certificates.k8s.io/v1/certificatesigningrequests/c/approval application/json {"apiVersion":"x","kind":"C","metadata":{"name":"c"}}`,
    ],
    [
      "merge patch",
      (client) => client.patch(configMaps, a, { data: null }),
      `PATCH /api/v1/namespaces/n/configmaps/a application/merge-patch+json {"data":null}`,
    ],
    [
      "JSON patch",
      (client) => client.patch(configMaps, a, []),
      `PATCH /api/v1/namespaces/n/configmaps/a application/json-patch+json []`,
    ],
    [
      "delete",
      (client) => client.delete(configMaps, a, { preconditions: { uid: "u" }, propagationPolicy: "Orphan" }),
      `DELETE /api/v1/namespaces/n/configmaps/a application/json {"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u"},"propagationPolicy":"Orphan"}`,
    ],
    [
      "deletecollection",
      (client) => client.deleteCollection(configMaps, { namespace: "n" }),
      `DELETE /api/v1/namespaces/n/configmaps application/json {"kind":"DeleteOptions","apiVersion":"v1"}`,
    ],
  ])("sends a %s as Kubernetes expects it", async (_, call, expected) => {
    let sent = "";
    handle = (request, response, body) => {
      sent = `${request.method ?? ""} ${request.url ?? ""} ${request.headers["content-type"] ?? ""}${body && ` ${body}`}`;
      json(response, 200, { metadata: {}, items: [] });
    };
    await call(connect().client);
    expect(sent).toBe(expected);
  });

  test("keeps reason, code and details of a Status", async () => {
    handle = (_, response) =>
      json(response, 422, {
        kind: "Status",
        message: "ConfigMap is invalid",
        reason: "Invalid",
        details: { causes: [{ reason: "FieldValueRequired", message: "Required value", field: "data" }] },
      });
    const error = await failure(connect().client.get(configMaps, a));
    expect(error).toMatchObject({ reason: "Invalid", code: 422, message: "ConfigMap is invalid" });
    expect((error as StatusError).details?.causes?.[0]?.field).toBe("data");
  });

  test("makes a StatusError of a refusal that is no Status, by its code alone", async () => {
    handle = (_, response) => response.writeHead(403, { "content-type": "text/html" }).end("<html>");
    expect(await failure(connect().client.get(configMaps, a))).toMatchObject({ reason: "Forbidden", code: 403 });
    handle = (_, response) => json(response, 418, { kind: "Status", reason: "__proto__", message: "odd" });
    expect(await failure(connect().client.get(configMaps, a))).toMatchObject({ reason: "", code: 418, message: "odd" });
  });

  test("gives list items their kind, and an empty list for null", async () => {
    handle = (_, response) => json(response, 200, { kind: "ConfigMapList", metadata: {}, items: [{ metadata: a }] });
    const list = await connect().client.list(configMaps);
    expect(list.items).toEqual([{ apiVersion: "v1", kind: "ConfigMap", metadata: a }]);
    handle = (_, response) => json(response, 200, { kind: "ConfigMapList", metadata: {}, items: null });
    expect((await connect().client.list(configMaps)).items).toEqual([]);
  });

  test("lists in pages, and asks for fewer objects where a page is larger than a reply may be", async () => {
    const paths: string[] = [];
    const items = Array.from({ length: 40 }, (_, index) => ({ metadata: { name: `${index}`, text: "x".repeat(100) } }));
    handle = (request, response) => {
      const url = new URL(request.url ?? "", origin);
      paths.push(url.search);
      const first = Number(url.searchParams.get("continue") ?? 0);
      const end = first + Number(url.searchParams.get("limit") ?? items.length);
      const more = end < items.length ? { continue: String(end), remainingItemCount: items.length - end } : {};
      json(response, 200, {
        kind: "ConfigMapList",
        metadata: { resourceVersion: "7", ...more },
        items: items.slice(first, end),
      });
    };
    const { client } = connect({ maxReplyBytes: 2048 });
    const list = await client.list(configMaps, { labelSelector: "a=b", resourceVersion: "5" });
    expect(list.items.map(({ metadata }) => metadata.name)).toEqual(items.map(({ metadata }) => metadata.name));
    expect(list.metadata).toEqual({ resourceVersion: "7" });
    expect(paths.slice(0, 4)).toEqual([
      "?labelSelector=a%3Db&resourceVersion=5&limit=500",
      "?labelSelector=a%3Db&resourceVersion=5&limit=62",
      "?labelSelector=a%3Db&resourceVersion=5&limit=7",
      "?labelSelector=a%3Db&limit=7&continue=7",
    ]);
    handle = (_, response) => response.end("x".repeat(4096));
    expect(await failure(client.list(configMaps))).toMatchObject({ code: "REPLY_TOO_LARGE" });
  });

  test.each([
    ["a list", (client: RemoteClient) => client.list(configMaps)],
    [
      "an informer",
      async (client: RemoteClient) => {
        const backoff = { initialMs: 1, maxMs: 1 };
        const following = informer({ client, resource: configMaps, clock: fakeClock(), backoff, random: () => 0 });
        const stop = new AbortController();
        const run = following.run(stop.signal);
        await following.synced;
        stop.abort();
        await run;
        return { items: following.list() };
      },
    ],
  ])("%s whose snapshot is gone between two pages is read anew as a whole, at once", async (_, read) => {
    const paths: string[] = [];
    const items = ["a", "b", "c"].map((name) => ({ metadata: { namespace: "n", name } }));
    handle = (request, response) => {
      const { search, searchParams } = new URL(request.url ?? "", origin);
      if (searchParams.has("watch")) return json(response, 200, {});
      paths.push(search);
      if (searchParams.has("continue")) return json(response, 410, { kind: "Status", reason: "Expired", message: "" });
      const isPage = searchParams.has("limit");
      const metadata = { resourceVersion: "7", ...(isPage ? { continue: "2" } : {}) };
      json(response, 200, { kind: "ConfigMapList", metadata, items: isPage ? items.slice(0, 2) : items });
    };
    const found = await read(connect().client);
    expect(found.items.map(({ metadata }) => metadata.name)).toEqual(["a", "b", "c"]);
    expect(paths).toEqual(["?limit=500", "?limit=500&continue=2", ""]);
  });

  test("waits as long as Retry-After says, and only on 429 and 5xx", async () => {
    let calls = 0;
    handle = (_, response) => {
      calls += 1;
      if (calls < 3) response.writeHead(calls === 1 ? 429 : 503, { "retry-after": String(calls + 1) }).end("later");
      else json(response, 404, {}, { "retry-after": "9" });
    };
    const still = fakeClock();
    const waits: number[] = [];
    // Waiting for a reply would never end here; waiting for another try ends at once.
    const sleep: FakeClock["sleep"] = async (ms, signal) => {
      if (ms === 5000) await still.sleep(ms, signal);
      else waits.push(ms);
    };
    expect(await failure(connect({ clock: { ...still, sleep } }).client.get(configMaps, a))).toMatchObject({
      code: 404,
    });
    expect(waits).toEqual([2000, 3000]);
  });

  test("does not wait beyond its budget, nor for a Retry-After that is no number", async () => {
    handle = (_, response) => response.writeHead(503, { "retry-after": "31" }).end();
    expect(await failure(connect().client.get(configMaps, a))).toMatchObject({ reason: "ServiceUnavailable" });
    handle = (_, response) => response.writeHead(503, { "retry-after": "soon" }).end();
    expect(await failure(connect().client.get(configMaps, a))).toMatchObject({ reason: "ServiceUnavailable" });
  });

  test("gives up a server that does not answer in time", async () => {
    let arrived = false;
    handle = () => (arrived = true);
    const { client, clock } = connect();
    const answer = failure(client.get(configMaps, a));
    await until(() => arrived);
    await clock.advance(5000);
    expect(await answer).toMatchObject({ code: "TIMEOUT" });
  });

  test("refuses a reply that is too large, and one that is not JSON", async () => {
    handle = (_, response) => json(response, 200, { metadata: { name: "x".repeat(2000) } });
    expect(await failure(connect({ maxReplyBytes: 1000 }).client.get(configMaps, a))).toMatchObject({
      code: "REPLY_TOO_LARGE",
    });
    handle = (_, response) => response.writeHead(200).end("ok");
    expect(await failure(connect().client.get(configMaps, a))).toMatchObject({ code: "INVALID_REPLY" });
  });

  test("does not follow a redirect with its credentials", async () => {
    let calls = 0;
    handle = (_, response) => {
      calls += 1;
      response.writeHead(302, { location: `${origin}/elsewhere` }).end();
    };
    expect(await failure(connect({ token: "secret" }).client.get(configMaps, a))).toMatchObject({ code: 302 });
    expect(calls).toBe(1);
  });

  test("returns any answer of a raw request", async () => {
    handle = (request, response) => response.writeHead(request.url === "/healthz" ? 200 : 500).end("ok");
    const { client } = connect();
    expect(String((await client.raw("GET", "/healthz")).body)).toBe("ok");
    expect((await client.raw("GET", "/readyz")).status).toBe(500);
  });

  test("keeps its connection between calls, and reads again over a new one when the server has closed it", async () => {
    handle = (_, response) => json(response, 200, { metadata: a });
    const { client } = connect();
    await client.get(configMaps, a);
    const first = sockets.size;
    await client.get(configMaps, a);
    expect(sockets.size).toBe(first);
    let cut = false;
    handle = (request, response) => {
      if (cut) return json(response, 200, { metadata: a });
      cut = true;
      request.socket.destroy();
    };
    expect((await client.get(configMaps, a)).metadata).toEqual(a);
  });

  test("does not repeat a write that broke off", async () => {
    handle = (_, response) => json(response, 200, { metadata: a });
    const { client } = connect();
    await client.get(configMaps, a);
    let writes = 0;
    handle = (request) => {
      writes += 1;
      request.socket.destroy();
    };
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: a };
    expect(await failure(client.create(configMaps, object))).toMatchObject({ code: "ECONNRESET" });
    expect(writes).toBe(1);
  });
});

describe("trust", () => {
  beforeEach(() => {
    handle = (_, response) => json(response, 200, { metadata: a });
  });

  test("refuses a server whose certificate another CA signed, before it sends anything", async () => {
    const other = createCa({
      commonName: "evil",
      key: keys().privateKey,
      now: Date.now(),
      years: 1,
      random: randomBytes,
    });
    let reached = false;
    handle = () => (reached = true);
    const error = await failure(connect({ caPem: other.pem, token: "secret" }).client.get(configMaps, a));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.code).toMatch(/SELF_SIGNED|UNABLE_TO/);
    expect(reached).toBe(false);
  });

  test("refuses a server whose certificate is for another name", async () => {
    const error = await failure(connect({ tlsServerName: "other.test" }).client.get(configMaps, a));
    expect(error.code).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
    expect((await connect({ tlsServerName: "hub.test" }).client.get(configMaps, a)).metadata).toEqual(a);
  });

  test("does not fall back to the runtime's roots for an empty CA, nor to no verification", async () => {
    expect(await failure(connect({ caPem: "" }).client.get(configMaps, a))).toMatchObject({ code: "INVALID_CA" });
    const both = connect({ insecureSkipTlsVerify: true, caPem: ca.pem }).client;
    await expect(both.get(configMaps, a)).rejects.toThrow(TypeError);
  });

  test.each(["http://127.0.0.1", "127.0.0.1:6443", "https://user@host", "https://host?x=y", "ftp://host"])(
    "refuses the server %s",
    (address) => {
      expect(() => connect({ server: address })).toThrow(ConnectionError);
    },
  );

  test("reads without verification only when told to", async () => {
    expect((await connect({ insecureSkipTlsVerify: true }).client.get(configMaps, a)).metadata).toEqual(a);
  });

  test("says which code a connection failed with", async () => {
    expect(await failure(connect({ server: "https://127.0.0.1:1" }).client.get(configMaps, a))).toMatchObject({
      code: "ECONNREFUSED",
    });
  });

  test("takes up rotated credentials with the next request", async () => {
    const seen: string[] = [];
    handle = (request, response) => {
      const peer = (
        request.socket as Duplex & { getPeerX509Certificate?: () => X509Certificate | undefined }
      ).getPeerX509Certificate?.();
      seen.push(`${peer?.subject ?? "nobody"} ${request.headers.authorization ?? "-"}`);
      json(response, 200, { metadata: a });
    };
    const [one, two] = [certificate("one", "client auth"), certificate("two", "client auth")];
    let now: ReturnType<NonNullable<RemoteOptions["credentials"]>> = { clientCertPem: one.cert, clientKeyPem: one.key };
    const { client } = connect({ credentials: () => now });
    await client.get(configMaps, a);
    now = { clientCertPem: two.cert, clientKeyPem: two.key };
    await client.get(configMaps, a);
    now = { token: "t" };
    await client.get(configMaps, a);
    expect(seen).toEqual(["CN=one -", "CN=two -", "nobody Bearer t"]);
  });

  test("fails without a word of the token when it cannot be a header", async () => {
    const error = await failure(connect({ token: "se\ncret" }).client.get(configMaps, a));
    expect(error.code).toBe("ERR_INVALID_CHAR");
    expect(error.message).not.toContain("cret");
  });
});

describe("watch", () => {
  const line = (type: string, name: string): string =>
    `${JSON.stringify({ type, object: { kind: "ConfigMap", apiVersion: "v1", metadata: { name, resourceVersion: "7" } } })}\n`;

  test("yields events however they are cut, and asks for bookmarks from where it stands", async () => {
    let url = "";
    handle = (request, response) => {
      url = request.url ?? "";
      response.writeHead(200, { "content-type": "application/json" });
      const text = line("ADDED", "ä") + line("BOOKMARK", "") + line("DELETED", "b");
      const bytes = Buffer.from(text);
      response.write(bytes.subarray(0, 95));
      setImmediate(() => response.end(bytes.subarray(95)));
    };
    const { client } = connect();
    const { signal } = new AbortController();
    const events = client.watch(configMaps, { namespace: "n", resourceVersion: "5", signal });
    expect(await take(events, 9)).toEqual(["ADDED ä", "BOOKMARK 7", "DELETED b"]);
    expect(url).toBe(
      "/api/v1/namespaces/n/configmaps?watch=true&allowWatchBookmarks=true&timeoutSeconds=450&resourceVersion=5",
    );
  });

  test.each([
    [
      "as an ERROR event",
      200,
      { type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired", message: "old" } },
    ],
    ["as a refusal", 410, { kind: "Status", code: 410, reason: "Gone", message: "old" }],
  ])("throws Expired when it comes %s", async (_, code, body) => {
    handle = (_request, response) => response.writeHead(code).end(`${JSON.stringify(body)}\n`);
    const { signal } = new AbortController();
    const error = await failure(take(connect().client.watch(configMaps, { resourceVersion: "1", signal }), 1));
    expect(error).toMatchObject({ reason: "Expired", code: 410, message: "old" });
  });

  test("throws when the connection breaks, and when it ends inside an event", async () => {
    handle = (request, response) => {
      response.writeHead(200);
      response.write(line("ADDED", "a"), () => request.socket.destroy());
    };
    const { signal } = new AbortController();
    expect(await failure(take(connect().client.watch(configMaps, { signal }), 9))).toMatchObject({
      code: "ECONNRESET",
    });
    handle = (_, response) => response.writeHead(200).end(line("ADDED", "a").slice(0, -9));
    expect(await failure(take(connect().client.watch(configMaps, { signal }), 9))).toMatchObject({ code: "TRUNCATED" });
  });

  test.each([
    ["an endless line", `{"type":"ADDED","object":"${"x".repeat(3000)}`, "EVENT_TOO_LARGE"],
    ["something that is no event", `[1]\n`, "INVALID_EVENT"],
    ["no JSON", `hello\n`, "INVALID_EVENT"],
    ["an unknown type", line("MAGIC", "a"), "INVALID_EVENT"],
    ["an object without metadata", `{"type":"ADDED","object":{}}\n`, "INVALID_EVENT"],
  ])("refuses %s", async (_, text, code) => {
    handle = (_request, response) => void response.writeHead(200).write(text);
    const { signal } = new AbortController();
    const { client } = connect({ maxEventBytes: 1000 });
    expect(await failure(take(client.watch(configMaps, { signal }), 1))).toMatchObject({ code });
  });

  test("ends quietly on abort and closes its stream", async () => {
    let closed = false;
    handle = (_, response) => {
      response.writeHead(200);
      response.write(line("ADDED", "a"));
      response.on("close", () => (closed = true));
    };
    const stop = new AbortController();
    const seen: string[] = [];
    for await (const event of connect().client.watch(configMaps, { signal: stop.signal })) {
      seen.push(event.type);
      stop.abort();
    }
    expect(seen).toEqual(["ADDED"]);
    await until(() => closed);
  });

  test("gives up a stream that outlives the time it asked for", async () => {
    handle = (_, response) => void response.writeHead(200).write(line("ADDED", "a"));
    const { client, clock } = connect();
    const { signal } = new AbortController();
    let open = false;
    async function follow(): Promise<void> {
      for await (const event of client.watch(configMaps, { signal })) open = event.type === "ADDED";
    }
    const end = failure(follow());
    await until(() => open);
    await clock.advance(480_000);
    expect(await end).toMatchObject({ code: "TIMEOUT", message: "the watch of configmaps did not end in time" });
  });
});

/** Lets the sockets work until `condition` holds. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
