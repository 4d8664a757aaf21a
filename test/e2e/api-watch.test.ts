import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { decodeProtobuf } from "../../src/serializer/protobuf/protobuf.ts";
import { secrets as secretKind } from "../../src/apis/secret.ts";
import { apiClient, type ApiClient, type Stream, type StreamEvent } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const initialEnd = "k8s.io/initial-events-end";
const watchList = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

let hub: TestHub;
let api: ApiClient;
let http2: ApiClient;
/** In a namespace of its own for each test, so that nobody else's events come along. */
let secrets: string;
let count = 0;

beforeAll(async () => {
  hub = await startTestHub();
  api = apiClient(hub);
  http2 = apiClient(hub, "admin", "http2");
});

afterAll(async () => {
  api.close();
  http2.close();
  await hub.close();
});

beforeEach(async () => {
  count += 1;
  await api("/api/v1/namespaces", { method: "POST", body: { metadata: { name: `watch-${count}` } } });
  secrets = `/api/v1/namespaces/watch-${count}/secrets`;
});

type Labels = Readonly<Record<string, string | null>>;

async function create(name: string, labels: Labels = {}): Promise<string> {
  const reply = await api(secrets, { method: "POST", body: { metadata: { name, labels } } });
  return reply.object().metadata.resourceVersion ?? "";
}

async function label(name: string, labels: Labels): Promise<string> {
  const body = { metadata: { labels } };
  const reply = await api(`${secrets}/${name}`, { method: "PATCH", type: "application/merge-patch+json", body });
  return reply.object().metadata.resourceVersion ?? "";
}

const remove = (name: string): Promise<unknown> => api(`${secrets}/${name}`, { method: "DELETE" });

async function now(): Promise<string> {
  return ((await api(secrets)).json()["metadata"] as { readonly resourceVersion: string }).resourceVersion;
}

const short = ({ type, object }: StreamEvent): string => `${type} ${object.metadata.name ?? ""}`.trim();

async function take(stream: Stream, many: number): Promise<readonly string[]> {
  const seen: string[] = [];
  while (seen.length < many) seen.push(short(await stream.next()));
  return seen;
}

describe("a watch", () => {
  it.each(["HTTP/1.1", "HTTP/2"])("sends its headers at once and one line per event over %s", async (protocol) => {
    const stream = await (protocol === "HTTP/2" ? http2 : api).stream(`${secrets}?watch=true&timeoutSeconds=60`, {
      headers: { "accept-encoding": "gzip", "user-agent": "curl/8" },
    });
    expect(stream.status).toBe(200);
    expect(stream.headers["content-type"]).toBe("application/json");
    expect(stream.headers["content-encoding"]).toBeUndefined();
    expect(stream.headers["content-length"]).toBeUndefined();
    await create("late");
    expect(await stream.next()).toMatchObject({
      type: "ADDED",
      object: { kind: "Secret", apiVersion: "v1", metadata: { name: "late" } },
    });
    expect(await stream.bytes(0)).toHaveLength(0);
    stream.close();
  });

  it("without a version and from 0 sends what is there, then what happens", async () => {
    await create("a");
    for (const query of ["watch=true", "watch=1&resourceVersion=0"]) {
      const stream = await api.stream(`${secrets}?${query}`);
      expect(await take(stream, 1)).toEqual(["ADDED a"]);
      await create("b");
      await remove("b");
      expect(await take(stream, 2)).toEqual(["ADDED b", "DELETED b"]);
      stream.close();
    }
  });

  it("from a version sends each later event in order, with growing versions and a deletion under its own", async () => {
    await create("a");
    const from = await now();
    const changed = await label("a", { x: "1" });
    await remove("a");
    const added = await create("c");
    const stream = await api.stream(`${secrets}?watch=true&resourceVersion=${from}`);
    const seen = [await stream.next(), await stream.next(), await stream.next()];
    expect(seen.map(short)).toEqual(["MODIFIED a", "DELETED a", "ADDED c"]);
    const [first, second, third] = seen.map(({ object }) => Number(object.metadata.resourceVersion));
    expect([String(first), String(third)]).toEqual([changed, added]);
    expect(second).toBeGreaterThan(Number(changed));
    expect(second).toBeLessThan(Number(added));
    stream.close();
  });

  it("with sendInitialEvents ends the state with an annotated bookmark of its own kind", async () => {
    await create("a");
    await create("b");
    for (const client of [api, http2]) {
      const stream = await client.stream(`${secrets}?${watchList}`);
      expect(await take(stream, 2)).toEqual(["ADDED a", "ADDED b"]);
      expect(await stream.next()).toEqual({
        type: "BOOKMARK",
        object: {
          kind: "Secret",
          apiVersion: "v1",
          metadata: {
            resourceVersion: expect.stringMatching(/^[1-9]\d*$/) as unknown,
            annotations: { [initialEnd]: "true" },
          },
        },
      });
      stream.close();
    }
    const empty = await api.stream(`${secrets}?${watchList}&fieldSelector=metadata.name%3Dnone`);
    expect((await empty.next()).object.metadata.annotations).toEqual({ [initialEnd]: "true" });
    await create("none");
    expect(short(await empty.next())).toBe("ADDED none");
    empty.close();
  });

  it("with sendInitialEvents=false begins now and sends no state", async () => {
    await create("a");
    const query = "watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
    const stream = await api.stream(`${secrets}?${query}`);
    await create("b");
    expect(await take(stream, 1)).toEqual(["ADDED b"]);
    stream.close();
  });

  it("ends in the normal way after timeoutSeconds, with a bookmark of the newest version before", async () => {
    // The bookmark comes two seconds before the end; what is created below must come before it, also on a busy machine.
    const stream = await api.stream(`${secrets}?watch=true&allowWatchBookmarks=true&timeoutSeconds=10`);
    await create("a");
    const elsewhere = await api("/api/v1/namespaces/default/configmaps", {
      method: "POST",
      body: { metadata: { generateName: "elsewhere-" } },
    });
    const seen = await stream.rest();
    expect(seen.map(({ type }) => type)).toEqual(["ADDED", "BOOKMARK"]);
    expect(seen[1]?.object).toMatchObject({ kind: "Secret", apiVersion: "v1" });
    // Also a watch that nothing happened to must learn how far it has come.
    expect(Number(seen[1]?.object.metadata.resourceVersion)).toBeGreaterThanOrEqual(
      Number(elsewhere.object().metadata.resourceVersion),
    );
    expect(seen[1]?.object.metadata.annotations).toBeUndefined();
  });

  it("without allowWatchBookmarks sees none", async () => {
    await create("a");
    const stream = await api.stream(`${secrets}?watch=true&timeoutSeconds=1`);
    expect((await stream.rest()).map(short)).toEqual(["ADDED a"]);
  });

  it("with a label selector tells of objects that begin and cease to match as ADDED and DELETED", async () => {
    await create("in", { app: "x" });
    await create("out");
    const stream = await api.stream(`${secrets}?watch=true&labelSelector=app%3Dx`);
    expect(await take(stream, 1)).toEqual(["ADDED in"]);
    await label("out", { app: "x" });
    await label("out", { more: "1" });
    const left = await label("in", { app: null });
    await remove("in");
    await remove("out");
    const seen = [await stream.next(), await stream.next(), await stream.next(), await stream.next()];
    expect(seen.map(short)).toEqual(["ADDED out", "MODIFIED out", "DELETED in", "DELETED out"]);
    // The last state that matched, under the version of the change that ended it.
    expect(seen[2]?.object.metadata).toMatchObject({ labels: { app: "x" }, resourceVersion: left });
    stream.close();
  });

  it("of one name sees nothing else", async () => {
    const stream = await api.stream(`${secrets}?watch=true&fieldSelector=metadata.name%3Done`);
    await create("other");
    await create("one");
    await remove("other");
    await remove("one");
    expect(await take(stream, 2)).toEqual(["ADDED one", "DELETED one"]);
    stream.close();
  });

  it("asked for by HEAD is refused", async () => {
    for (const client of [api, http2]) {
      const reply = await client(`${secrets}?watch=true`, { method: "HEAD" });
      expect([reply.status, reply.body.length]).toEqual([405, 0]);
    }
  });

  it("means nothing where the path has a name: that is a get, and only of this object", async () => {
    await create("one");
    const reply = await api(`${secrets}/one?watch=true`);
    expect(reply.object()).toMatchObject({ kind: "Secret", metadata: { name: "one" } });
    expect((await api(`${secrets}/two?watch=true`)).status).toBe(404);
  });

  it.each([
    ["watch=true&resourceVersion=abc", 400],
    ["watch=true&resourceVersion=01", 400],
    ["watch=true&fieldSelector=foo%3Dbar", 400],
    ["watch=true&timeoutSeconds=soon", 400],
    ["watch=true&resourceVersionMatch=NotOlderThan", 422],
    ["watch=true&sendInitialEvents=true", 422],
    ["watch=true&sendInitialEvents=true&resourceVersionMatch=Exact", 422],
  ])("with ?%s is %i before any stream begins", async (query, code) => {
    const reply = await api(`${secrets}?${query}`);
    expect(reply.status).toBe(code);
    expect(reply.json()).toMatchObject({ kind: "Status", code });
  });

  it("as a table describes the columns in the first event only", async () => {
    await create("a");
    const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    const stream = await api.stream(`${secrets}?watch=true`, { accept });
    await create("b");
    const [first, second] = [await stream.next(), await stream.next()];
    expect(first).toMatchObject({
      type: "ADDED",
      object: { kind: "Table", rows: [{ cells: expect.arrayContaining(["a"]) as unknown }] },
    });
    expect(first.object["columnDefinitions"]).toHaveLength(4);
    expect(second.object).toMatchObject({
      kind: "Table",
      columnDefinitions: [],
      rows: [{ object: { metadata: { name: "b" } } }],
    });
    stream.close();
  });

  it("as metadata alone sends no data", async () => {
    await create("a");
    const accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    const stream = await api.stream(`${secrets}?${watchList}`, { accept });
    expect(await stream.next()).toMatchObject({
      type: "ADDED",
      object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: { name: "a" } },
    });
    expect(await stream.next()).toMatchObject({ type: "BOOKMARK", object: { kind: "PartialObjectMetadata" } });
    stream.close();
  });

  it("in protobuf sends frames with their length in front", async () => {
    await create("a");
    const stream = await api.stream(`${secrets}?watch=true`, { accept: "application/vnd.kubernetes.protobuf" });
    expect(stream.headers["content-type"]).toBe("application/vnd.kubernetes.protobuf;stream=watch");
    const length = (await stream.bytes(4)).readUInt32BE(0);
    const frame = (await stream.bytes(4 + length)).subarray(4, 4 + length);
    expect(frame.subarray(0, 7)).toEqual(Buffer.from("\x0a\x05ADDED"));
    const object = frame.subarray(frame.indexOf("k8s\0"));
    expect(decodeProtobuf(object, () => secretKind.schema).object).toMatchObject({
      kind: "Secret",
      metadata: { name: "a" },
    });
    stream.close();
  });
});

describe("history that is gone", () => {
  it("ends a watch with an ERROR event under HTTP 200, and a reader that asks anew goes on", async () => {
    const from = await create("big");
    // The window of events is bounded by bytes: seventeen of a megabyte push out what was before.
    for (let round = 0; round < 17; round += 1) {
      const stringData = { round: String(round), big: "x".repeat(1_000_000) };
      const body = { metadata: { name: "big" }, stringData };
      expect((await api(`${secrets}/big`, { method: "PUT", body })).status).toBe(200);
    }
    for (const client of [api, http2]) {
      const stream = await client.stream(`${secrets}?watch=true&resourceVersion=${from}`);
      expect(stream.status).toBe(200);
      expect(await stream.rest()).toEqual([
        {
          type: "ERROR",
          object: {
            kind: "Status",
            apiVersion: "v1",
            metadata: {},
            status: "Failure",
            message: expect.stringMatching(new RegExp(`^too old resource version: ${from} \\(\\d+\\)$`)) as unknown,
            reason: "Expired",
            code: 410,
          },
        },
      ]);
    }
    const fresh = await api.stream(`${secrets}?${watchList}&fieldSelector=metadata.name%3Dnone`);
    expect((await fresh.next()).type).toBe("BOOKMARK");
    fresh.close();
  });
});

describe("many watchers", () => {
  it("see the same events in the same order", async () => {
    const from = await now();
    const streams = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        (index % 2 === 0 ? api : http2).stream(`${secrets}?watch=true&resourceVersion=${from}`),
      ),
    );
    await Promise.all(Array.from({ length: 20 }, (_, index) => create(`s${index}`)));
    const seen = await Promise.all(streams.map((stream) => take(stream, 20)));
    expect(new Set(seen.map((list) => list.join()))).toHaveProperty("size", 1);
    for (const stream of streams) stream.close();
  });
});
