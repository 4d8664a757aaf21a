import { request as rawRequest } from "node:https";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeProtobuf, encodeProtobuf } from "../../src/serializer/protobuf/protobuf.ts";
import { configMaps } from "../../src/apis/config-map.ts";
import { partialObjectMetadataSchema } from "../../src/apis/schemas/shorthand.ts";
import { publishedMeta } from "../../src/apis/schemas/published.ts";
import { adminKeyPair, apiClient, type ApiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const protobuf = "application/vnd.kubernetes.protobuf";
const table = "application/json;as=Table;v=v1;g=meta.k8s.io";

let hub: TestHub;
let api: ApiClient;

beforeAll(async () => {
  hub = await startTestHub();
  api = apiClient(hub);
  await api(maps, { method: "POST", body: { metadata: { name: "one", labels: { app: "x" } }, data: { a: "1" } } });
});

afterAll(async () => {
  api.close();
  await hub.close();
});

describe("the form of replies", () => {
  it.each([
    ["nothing", undefined],
    ["*/*", "*/*"],
    ["application/*", "application/*"],
    ["application/json", "application/json"],
    ["an unknown type before JSON", "application/cbor,application/json"],
    [
      "a transformation that nobody knows before JSON",
      "application/json;as=Nonsense;g=meta.k8s.io;v=v1,application/json",
    ],
    ["a clause of quality 0 before JSON", "application/yaml;q=0,application/json;q=0.1"],
  ])("is plain JSON for %s", async (_title, accept) => {
    const reply = await api(`${maps}/one`, accept === undefined ? {} : { accept });
    expect(reply.status).toBe(200);
    expect(reply.headers["content-type"]).toBe("application/json");
    expect(reply.headers["cache-control"]).toBe("no-cache, private");
    expect(reply.text).not.toContain("\n");
    expect(reply.object()).toMatchObject({ kind: "ConfigMap", apiVersion: "v1", data: { a: "1" } });
  });

  it("is YAML where that has the higher quality", async () => {
    const reply = await api(`${maps}/one`, { accept: "application/json;q=0.5,application/yaml" });
    expect(reply.headers["content-type"]).toBe("application/yaml");
    expect(reply.text).toMatch(/^kind: ConfigMap$/m);
    // What other readers would take for a time or a truth is quoted.
    expect(reply.text).toMatch(/^ {2}creationTimestamp: "20\d\d-.*Z"$/m);
  });

  it("is protobuf for one object and for a list", async () => {
    const one = await api(`${maps}/one`, { accept: `${protobuf},application/json` });
    expect(one.headers["content-type"]).toBe(protobuf);
    expect(decodeProtobuf(one.body, () => configMaps.schema).object).toMatchObject({
      kind: "ConfigMap",
      metadata: { name: "one" },
      data: { a: "1" },
    });
    const list = await api(maps, { accept: protobuf });
    expect(list.headers["content-type"]).toBe(protobuf);
    expect(list.body.subarray(0, 4)).toEqual(Buffer.from("k8s\0"));
    expect(list.text).toContain("ConfigMapList");
    expect(list.text).toContain("one");
  });

  it.each([
    ["the media type's parameter", { accept: "application/json;pretty=1" }, ""],
    ["the query", {}, "?pretty=true"],
    ["curl", { headers: { "user-agent": "curl/8.5.0" } }, ""],
    ["a browser", { headers: { "user-agent": "Mozilla/5.0 (X11)" } }, ""],
  ])("is indented for %s", async (_title, ask, query) => {
    const reply = await api(`${maps}/one${query}`, ask);
    expect(reply.text).toContain('\n  "kind": "ConfigMap"');
  });

  it("is not indented for curl that asks for it to be so", async () => {
    const reply = await api(`${maps}/one?pretty=false`, { headers: { "user-agent": "curl/8.5.0" } });
    expect(reply.text).not.toContain("\n");
  });

  it.each(["text/html", "constructor", "__proto__", "application/json;q=0", ";;,"])("is 406 for %s", async (accept) => {
    const reply = await api(`${maps}/one`, { accept });
    expect(reply.status).toBe(406);
    expect(reply.json()).toMatchObject({
      kind: "Status",
      status: "Failure",
      reason: "NotAcceptable",
      message:
        "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
      code: 406,
    });
  });

  it("is compressed above 128 KiB for clients that take gzip, and says that caches must tell them apart", async () => {
    const data = { big: "x".repeat(200_000) };
    await api(maps, { method: "POST", body: { metadata: { name: "big" }, data } });
    const plain = await api(`${maps}/big`);
    expect(plain.headers["content-encoding"]).toBeUndefined();
    const zipped = await api(`${maps}/big`, { headers: { "accept-encoding": "gzip" } });
    expect(zipped.headers).toMatchObject({ "content-encoding": "gzip", vary: "Accept-Encoding" });
    expect(gunzipSync(zipped.body)).toEqual(plain.body);
    const small = await api(`${maps}/one`, { headers: { "accept-encoding": "gzip" } });
    expect(small.headers["content-encoding"]).toBeUndefined();
    await api(`${maps}/big`, { method: "DELETE" });
  });

  it("is 405 for HEAD, as in Kubernetes", async () => {
    expect((await api(`${maps}/one`, { method: "HEAD" })).status).toBe(405);
    expect((await api(maps, { method: "HEAD" })).status).toBe(405);
  });

  it("has the headers and no body for HEAD of what is no object, over both protocols", async () => {
    const http2 = apiClient(hub, "admin", "http2");
    for (const client of [api, http2]) {
      const [got, head] = [await client("/version"), await client("/version", { method: "HEAD" })];
      expect(head.status).toBe(200);
      expect(head.headers["content-length"]).toBe(got.headers["content-length"]);
      expect(head.body).toHaveLength(0);
    }
    http2.close();
  });
});

describe("tables", () => {
  const rows = (reply: { json(): Record<string, unknown> }): readonly Record<string, unknown>[] =>
    reply.json()["rows"] as Record<string, unknown>[];

  it("show name and columns, and carry each object's metadata", async () => {
    const reply = await api(maps, { accept: `${table},application/json` });
    expect(reply.headers["content-type"]).toBe("application/json");
    expect(reply.json()).toMatchObject({
      kind: "Table",
      apiVersion: "meta.k8s.io/v1",
      metadata: { resourceVersion: expect.stringMatching(/^[1-9]\d*$/) as unknown },
      columnDefinitions: [
        { name: "Name", type: "string", format: "name", priority: 0 },
        { name: "Data", type: "string" },
        { name: "Age", type: "string" },
      ],
    });
    expect(rows(reply).at(-1)).toMatchObject({
      cells: ["one", 1, expect.stringMatching(/^\d+s$/) as unknown],
      object: {
        kind: "PartialObjectMetadata",
        apiVersion: "meta.k8s.io/v1",
        metadata: { name: "one", namespace: "default" },
      },
    });
  });

  it("are of version v1beta1 where that is asked for", async () => {
    const reply = await api(`${maps}/one`, { accept: table.replace("v=v1", "v=v1beta1") });
    expect(reply.json()).toMatchObject({ kind: "Table", apiVersion: "meta.k8s.io/v1beta1" });
  });

  it("carry whole objects, nothing, or refuse an unknown wish", async () => {
    const [whole, none, odd] = await Promise.all(
      ["Object", "None", "Some"].map((wish) => api(`${maps}?includeObject=${wish}`, { accept: table })),
    );
    expect(whole === undefined ? [] : rows(whole).at(-1)).toMatchObject({
      object: { kind: "ConfigMap", data: { a: "1" } },
    });
    expect(none === undefined ? [] : rows(none).at(-1)).toMatchObject({ object: null });
    expect(odd?.status).toBe(400);
  });

  it("are never made of errors", async () => {
    const reply = await api(`${maps}/none`, { accept: `${table},application/json` });
    expect(reply.json()).toMatchObject({ kind: "Status", reason: "NotFound", code: 404 });
  });

  it("are cut into pages like lists", async () => {
    const reply = await api(`${maps}?limit=1`, { accept: table });
    expect(reply.json()["metadata"]).toMatchObject({ continue: expect.any(String) as unknown, remainingItemCount: 1 });
    expect(rows(reply)).toHaveLength(1);
  });
});

describe("metadata alone", () => {
  const one = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
  const list = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

  it("is served for an object and for a list", async () => {
    expect((await api(`${maps}/one`, { accept: one })).json()).toEqual({
      kind: "PartialObjectMetadata",
      apiVersion: "meta.k8s.io/v1",
      metadata: (await api(`${maps}/one`)).object().metadata,
    });
    const items = await api(maps, { accept: list });
    expect(items.json()).toMatchObject({ kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1" });
    expect(items.items().map(({ metadata, data }) => [metadata.name, data])).toEqual([
      ["kube-root-ca.crt", undefined],
      ["one", undefined],
    ]);
  });

  it("is served in protobuf, as the metadata client asks first", async () => {
    const reply = await api(`${maps}/one`, { accept: `${one.replace("application/json", protobuf)},${one}` });
    expect(reply.headers["content-type"]).toBe(protobuf);
    expect(decodeProtobuf(reply.body, () => partialObjectMetadataSchema).object).toMatchObject({
      kind: "PartialObjectMetadata",
      metadata: { name: "one", labels: { app: "x" } },
    });
  });

  it("is 406 where object and list are mixed up", async () => {
    for (const [path, accept] of [
      [`${maps}/one`, list],
      [maps, one],
    ] as const) {
      const reply = await api(path, { accept });
      expect([path, reply.status]).toEqual([path, 406]);
      expect(reply.json()).toMatchObject({ kind: "Status", reason: "NotAcceptable" });
    }
  });
});

describe("request bodies", () => {
  it.each([
    ["JSON", "application/json", JSON.stringify({ metadata: { name: "json" } })],
    ["JSON with a charset", "application/json; charset=utf-8", JSON.stringify({ metadata: { name: "charset" } })],
    ["YAML", "application/yaml", "metadata:\n  name: yaml\ndata:\n  a: '1'\n"],
    ["no type at all, which means JSON", undefined, JSON.stringify({ metadata: { name: "untyped" } })],
  ])("may be %s, without kind and apiVersion", async (_title, type, body) => {
    const reply = await api(maps, { method: "POST", body, ...(type === undefined ? {} : { type }) });
    expect(reply.status).toBe(201);
    expect(reply.object()).toMatchObject({ kind: "ConfigMap", apiVersion: "v1" });
  });

  it("may be protobuf, and so may the reply", async () => {
    const sent = { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "proto" }, data: { k: "v" } };
    const reply = await api(maps, {
      method: "POST",
      type: protobuf,
      accept: `${protobuf},application/json`,
      body: Buffer.from(encodeProtobuf(sent, configMaps.schema)),
    });
    expect(reply.status).toBe(201);
    expect(decodeProtobuf(reply.body, () => configMaps.schema).object).toMatchObject(sent);
    expect((await api(`${maps}/proto`)).object()).toMatchObject(sent);
    const gone = await api(`${maps}/proto`, { method: "DELETE", accept: `${protobuf},application/json` });
    expect(gone.status).toBe(200);
    expect(gone.headers["content-type"]).toBe(protobuf);
    expect(decodeProtobuf(gone.body, () => publishedMeta("Status")).object).toMatchObject({
      kind: "Status",
      status: "Success",
    });
  });

  it.each([
    ["cut short", Buffer.from("6b387300ffff", "hex")],
    ["without the magic", Buffer.from("0a0b", "hex")],
    ["empty", Buffer.alloc(0)],
  ])("are 400 in protobuf that is %s", async (_title, body) => {
    const reply = await api(maps, { method: "POST", type: protobuf, body });
    expect(reply.json()).toMatchObject({ reason: "BadRequest", code: 400 });
  });

  it("are 415 in any other type", async () => {
    for (const type of ["application/cbor", "text/plain", "application/x-www-form-urlencoded"]) {
      const reply = await api(maps, { method: "POST", type, body: "{}" });
      expect(reply.status).toBe(415);
      expect(reply.json()).toMatchObject({
        reason: "UnsupportedMediaType",
        message: `the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, ${protobuf}`,
      });
    }
  });

  it.each([
    [
      "of another apiVersion",
      { apiVersion: "v2", kind: "ConfigMap" },
      'ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v2"',
    ],
    [
      "of another kind",
      { apiVersion: "v1", kind: "Secret" },
      'Secret in version "v1" cannot be handled as a ConfigMap',
    ],
    [
      "with a field of another type",
      { data: { a: 1 } },
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number',
    ],
    [
      "of another namespace",
      { metadata: { name: "x", namespace: "kube-system" } },
      "the namespace of the provided object does not match the namespace sent on the request",
    ],
    ["that is a list", [], "couldn't get version/kind; json parse error"],
    ["that is no JSON", "{", "couldn't get version/kind; json parse error"],
    [
      "whose kind is no text",
      { kind: { toString: 1 } },
      "cannot unmarshal object into Go struct field .kind of type string",
    ],
    [
      "whose apiVersion is no text",
      { apiVersion: [1] },
      "cannot unmarshal array into Go struct field .apiVersion of type string",
    ],
    ["with an own __proto__", '{"metadata":{"name":"x","__proto__":{"a":1}}}', "__proto__"],
    ["nested without end", `${"[".repeat(100_000)}${"]".repeat(100_000)}`, "json parse error"],
  ])("are 400 %s", async (_title, body, message) => {
    const reply = await api(maps, { method: "POST", body, type: "application/json" });
    expect(reply.status).toBe(400);
    expect(reply.json()).toMatchObject({ reason: "BadRequest", message: expect.stringContaining(message) as unknown });
  });

  it("are 413 above 3 MiB, whether or not they say so in advance, and the hub goes on", async () => {
    const body = Buffer.alloc(3 * 1024 * 1024 + 1, 0x20);
    const http2 = apiClient(hub, "admin", "http2");
    for (const client of [api, http2]) {
      const reply = await client(maps, { method: "POST", type: "application/json", body });
      expect(reply.status).toBe(413);
      expect(reply.json()).toMatchObject({
        reason: "RequestEntityTooLarge",
        message: "Request entity too large: limit is 3145728",
      });
      expect((await client(`${maps}/one`)).status).toBe(200);
    }
    http2.close();
  });
});

describe("an endless body", () => {
  it.each(["with a length", "without a length"])("%s is answered with 413 and then cut off", async (title) => {
    const length = title === "with a length" ? { "content-length": String(1 << 30) } : {};
    const { status, sent } = await new Promise<{ status: number; sent: number }>((resolve) => {
      let [status, sent] = [0, 0];
      const request = rawRequest(hub.url + maps, {
        method: "POST",
        ca: hub.ca,
        cert: adminKeyPair(hub).certPem,
        key: adminKeyPair(hub).keyPem,
        agent: false,
        headers: { "content-type": "application/json", ...length },
      });
      const chunk = Buffer.alloc(256 * 1024, 0x20);
      const more = (): void => {
        while (!request.destroyed && sent < 1 << 30) {
          sent += chunk.length;
          if (!request.write(chunk)) return;
        }
      };
      request.on("drain", more).on("error", () => undefined);
      request.on("response", (response) => {
        status = response.statusCode ?? 0;
        response.resume();
      });
      request.on("close", () => resolve({ status, sent }));
      more();
    });
    expect(status).toBe(413);
    expect(sent).toBeLessThan(64 << 20);
  });
});

describe("a table of what has no columns in Kubernetes", () => {
  const review = { spec: { user: "ann", resourceAttributes: { verb: "get", resource: "pods" } } };
  const reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  const status = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/none.example.com/status";
  const approval = "/apis/certificates.k8s.io/v1/certificatesigningrequests/none/approval";
  const refusal =
    "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";
  const token = "/api/v1/namespaces/default/serviceaccounts/default/token";

  it.each([
    ["a review", reviews, { method: "POST", body: review }],
    ["a token", token, { method: "POST", body: { spec: {} } }],
    ["the status of a definition", status, {}],
    ["the approval of a certificate request", approval, {}],
    ["the finalizers of a namespace", "/api/v1/namespaces/default/finalize", { method: "PUT", body: {} }],
  ])("is 406 for %s", async (_title, path, ask) => {
    for (const accept of [table, "application/yaml;as=Table;v=v1;g=meta.k8s.io"]) {
      const reply = await api(path, { ...ask, accept });
      expect(reply.json()).toMatchObject({ reason: "NotAcceptable", code: 406, message: refusal });
    }
  });

  it("gives way to JSON where the client takes that too", async () => {
    const reply = await api(reviews, { method: "POST", body: review, accept: `${table},application/json` });
    expect(reply.status).toBe(201);
    expect(reply.json()).toMatchObject({ kind: "SubjectAccessReview" });
  });

  it("is answered for the status of a namespace, which has columns", async () => {
    const reply = await api("/api/v1/namespaces/default/status", { accept: table });
    expect(reply.json()).toMatchObject({ kind: "Table" });
  });

  it("is 406 in protobuf for every kind", async () => {
    const reply = await api(`${maps}/one`, { accept: `${protobuf};as=Table;v=v1;g=meta.k8s.io` });
    expect(reply.json()).toMatchObject({ reason: "NotAcceptable", code: 406, message: refusal });
  });
});
