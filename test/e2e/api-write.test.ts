import { beforeEach, describe, expect, it } from "vitest";
import type { Reply } from "../kits/api-client.ts";
import { hubForFile } from "../kits/hub-for-file.ts";

const json = "application/json-patch+json";
const merge = "application/merge-patch+json";
const strategic = "application/strategic-merge-patch+json";

const { api, post } = await hubForFile();
let namespace: string;
let maps: string;
let count = 0;

beforeEach(async () => {
  count += 1;
  namespace = `/api/v1/namespaces/write-${count}`;
  await post("/api/v1/namespaces", { metadata: { name: `write-${count}` } });
  maps = `${namespace}/configmaps`;
});

const put = (path: string, body: object): Promise<Reply> => api(path, { method: "PUT", body: named(path, body) });
/** An update must name its object. */
const named = (path: string, body: object): object => {
  const [name = ""] = path
    .replace(/(?:\/(?:status|finalize))?(?:\?.*)?$/, "")
    .split("/")
    .slice(-1);
  return { ...body, metadata: { name, ...("metadata" in body ? (body.metadata as object) : {}) } };
};
const patch = (path: string, type: string, body: object): Promise<Reply> => api(path, { method: "PATCH", type, body });
const warningsOf = ({ headers }: Reply): unknown => headers["warning"];
/** HTTP/1.1 joins the values of a repeated header. */
const warned = (...texts: readonly string[]): string =>
  texts.map((text) => `299 - "${text.replaceAll('"', String.raw`\"`)}"`).join(", ");

describe("create", () => {
  it("answers 201 with uid, creation time and version, and takes none of them from the client", async () => {
    const reply = await post(maps, {
      metadata: {
        name: "a",
        uid: "mine",
        creationTimestamp: "2001-01-01T00:00:00Z",
        deletionTimestamp: "2001-01-01T00:00:00Z",
        generation: 7,
        selfLink: "/x",
        managedFields: [{ manager: "m" }],
      },
    });
    expect(reply.status).toBe(201);
    const { metadata } = reply.object();
    expect(metadata).toEqual({
      name: "a",
      namespace: `write-${count}`,
      uid: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/) as unknown,
      resourceVersion: expect.stringMatching(/^[1-9]\d*$/) as unknown,
      creationTimestamp: expect.stringMatching(/^20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as unknown,
    });
    expect(Date.parse(metadata.creationTimestamp ?? "")).toBeGreaterThan(Date.UTC(2025));
  });

  it("of a name that is taken is 409 AlreadyExists", async () => {
    await post(maps, { metadata: { name: "a" } });
    expect((await post(maps, { metadata: { name: "a" } })).json()).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: 'configmaps "a" already exists',
      reason: "AlreadyExists",
      details: { name: "a", kind: "configmaps" },
      code: 409,
    });
  });

  it("with generateName makes a name of five letters that are hard to mistake", async () => {
    const long = "x".repeat(70);
    const [short, cut] = [
      await post(maps, { metadata: { generateName: "pre-" } }),
      await post(maps, { metadata: { generateName: long } }),
    ];
    expect(short.object().metadata).toMatchObject({
      generateName: "pre-",
      name: expect.stringMatching(/^pre-[bcdfghjklmnpqrstvwxz2456789]{5}$/) as unknown,
    });
    expect(cut.object().metadata.name).toMatch(/^x{58}[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });

  it("without any name is 422, and 422 with a bad one", async () => {
    expect((await post(maps, { metadata: {} })).json()).toMatchObject({
      reason: "Invalid",
      message: expect.stringMatching(
        /^ConfigMap "" is invalid: metadata\.name: Required value: name or generateName is required$/,
      ) as unknown,
      details: { kind: "ConfigMap", causes: [{ reason: "FieldValueRequired", field: "metadata.name" }] },
    });
    for (const name of ["A", "a_b", "-a", "a/b", "..", "a".repeat(254)]) {
      const reply = await post(maps, { metadata: { name } });
      expect([name, reply.status]).toEqual([name, 422]);
    }
  });

  it("with a resourceVersion is 500 without a reason", async () => {
    const reply = await post(maps, { metadata: { name: "a", resourceVersion: "5" } });
    expect(reply.status).toBe(500);
    expect(reply.json()).toMatchObject({
      message: "resourceVersion should not be set on objects to be created",
      code: 500,
    });
  });

  it("in a missing namespace is 404, in a path without one 405", async () => {
    expect((await post("/api/v1/namespaces/none/configmaps", { metadata: { name: "a" } })).json()).toMatchObject({
      reason: "NotFound",
      message: 'namespaces "none" not found',
      details: { name: "none", kind: "namespaces" },
    });
    expect((await post("/api/v1/configmaps", { metadata: { name: "a" } })).status).toBe(405);
  });

  it("lists every fault of an object", async () => {
    const reply = await post(maps, { metadata: { name: "A", labels: { "": "x", b: "-" } }, data: { "a/b": "1" } });
    expect(reply.status).toBe(422);
    const { message, details } = reply.json() as { message: string; details: { causes: { field: string }[] } };
    expect(message).toMatch(/^ConfigMap "A" is invalid: \[metadata\.name: Invalid value: "A": .*, .*\]$/s);
    expect(details.causes.map(({ field }) => field)).toEqual([
      "metadata.name",
      "metadata.labels",
      "metadata.labels",
      "metadata.labels",
      "data[a/b]",
    ]);
  });
});

describe("update", () => {
  it("with the current version replaces, with an older one is 409, without one the last write wins", async () => {
    const first = (await post(maps, { metadata: { name: "a" }, data: { n: "1" } })).object();
    const second = await put(`${maps}/a`, { ...first, data: { n: "2" } });
    expect(second.status).toBe(200);
    expect(second.object().metadata).toEqual({
      ...first.metadata,
      // In the second of the write.
      managedFields: [
        { ...(first.metadata.managedFields as readonly object[])[0], time: expect.any(String) as unknown },
      ],
      resourceVersion: expect.not.stringMatching(`^${first.metadata.resourceVersion}$`) as unknown,
    });
    expect((await put(`${maps}/a`, { ...first, data: { n: "3" } })).json()).toMatchObject({
      reason: "Conflict",
      code: 409,
      message:
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
      details: { name: "a", kind: "configmaps" },
    });
    expect((await put(`${maps}/a`, { data: { n: "4" } })).object()["data"]).toEqual({ n: "4" });
  });

  it("of a kind without unconditional update needs a version", async () => {
    const leases = `/apis/coordination.k8s.io/v1/namespaces/write-${count}/leases`;
    await post(leases, { metadata: { name: "a" } });
    expect((await put(`${leases}/a`, { metadata: { name: "a" } })).json()).toMatchObject({
      reason: "Invalid",
      code: 422,
      message:
        'leases.coordination.k8s.io "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    });
  });

  it("of a missing object is 404, or creates it where the kind allows that", async () => {
    expect((await put(`${maps}/none`, { data: {} })).status).toBe(404);
    const leases = `/apis/coordination.k8s.io/v1/namespaces/write-${count}/leases`;
    const made = await put(`${leases}/b`, { metadata: { name: "b" }, spec: { holderIdentity: "h" } });
    expect([made.status, made.object()["spec"]]).toEqual([201, { holderIdentity: "h" }]);
  });

  it("keeps what a client may not change", async () => {
    const first = (await post(maps, { metadata: { name: "a", labels: { l: "1" } } })).object();
    const changed = await put(`${maps}/a`, {
      metadata: {
        ...first.metadata,
        creationTimestamp: "2001-01-01T00:00:00Z",
        generation: 9,
        deletionTimestamp: "2001-01-01T00:00:00Z",
        labels: { l: "2" },
      },
    });
    const { resourceVersion: _old, managedFields: _times, ...kept } = first.metadata;
    expect(changed.object().metadata).toMatchObject({ ...kept, labels: { l: "2" } });
    expect(changed.object().metadata).not.toHaveProperty("deletionTimestamp");
    expect((await put(`${maps}/a`, { metadata: { uid: "other" } })).json()).toMatchObject({
      reason: "Conflict",
      message: expect.stringContaining(
        "Precondition failed: UID in precondition: other, UID in object meta:",
      ) as unknown,
    });
    expect((await put(`${maps}/a`, { metadata: { name: "b" } })).json()).toMatchObject({
      reason: "BadRequest",
      message: "the name of the object (b) does not match the name on the URL (a)",
    });
  });

  it("that changes nothing keeps the version and makes no event", async () => {
    const first = (await post(maps, { metadata: { name: "a", labels: { l: "1" } }, data: { x: "1" } })).object();
    const stream = await api.stream(`${maps}?watch=true&resourceVersion=${first.metadata.resourceVersion}`);
    expect((await put(`${maps}/a`, first)).object()).toEqual(first);
    expect((await put(`${maps}/a`, { data: { x: "1" }, metadata: { labels: { l: "1" } } })).object()).toEqual(first);
    for (const [type, body] of [
      [merge, { data: { x: "1", gone: null } }],
      [strategic, { data: { x: "1" } }],
      [json, [{ op: "test", path: "/data/x", value: "1" }]],
    ] as const) {
      expect((await patch(`${maps}/a`, type, body)).object()).toEqual(first);
    }
    await post(maps, { metadata: { name: "mark" } });
    let event = await stream.next();
    if (event.object.metadata.name === "kube-root-ca.crt") event = await stream.next();
    expect([event.type, event.object.metadata.name]).toEqual(["ADDED", "mark"]);
    stream.close();
  });

  it("loses no change when many write at once", async () => {
    await post(maps, { metadata: { name: "a" } });
    const writers = Array.from({ length: 16 }, (_, index) => `k${index}`);
    const replies = await Promise.all(writers.map((key) => patch(`${maps}/a`, merge, { data: { [key]: "1" } })));
    const conflicts = replies.filter(({ status }) => status === 409).length;
    const stored = (await api(`${maps}/a`)).object()["data"] as Record<string, string>;
    expect(replies.every(({ status }) => status === 200 || status === 409)).toBe(true);
    expect(Object.keys(stored)).toHaveLength(writers.length - conflicts);
  });
});

describe("patch", () => {
  it("by JSON patch, merge patch and strategic merge patch changes what it names", async () => {
    const accounts = `${namespace}/serviceaccounts`;
    await post(accounts, { metadata: { name: "a" }, secrets: [{ name: "one" }, { name: "two" }] });
    const added = await patch(`${accounts}/a`, json, [{ op: "add", path: "/secrets/-", value: { name: "three" } }]);
    expect(added.object()["secrets"]).toEqual([{ name: "one" }, { name: "two" }, { name: "three" }]);
    const merged = await patch(`${accounts}/a`, strategic, {
      secrets: [{ name: "two", $patch: "delete" }, { name: "four" }],
    });
    expect((merged.object()["secrets"] as { name: string }[]).map(({ name }) => name).toSorted()).toEqual([
      "four",
      "one",
      "three",
    ]);
    const replaced = await patch(`${accounts}/a`, merge, {
      secrets: [{ name: "five" }],
      metadata: { labels: { l: "1" } },
    });
    expect(replaced.object()).toMatchObject({ secrets: [{ name: "five" }], metadata: { labels: { l: "1" } } });
    const nulled = await patch(`${accounts}/a`, merge, { metadata: { labels: null } });
    expect(nulled.object().metadata).not.toHaveProperty("labels");
  });

  it("with a version in it is conditional", async () => {
    const { metadata } = (await post(maps, { metadata: { name: "a" } })).object();
    const body = { metadata: { resourceVersion: metadata.resourceVersion }, data: { a: "1" } };
    expect((await patch(`${maps}/a`, merge, body)).status).toBe(200);
    expect((await patch(`${maps}/a`, merge, { ...body, data: { a: "2" } })).json()).toMatchObject({
      reason: "Conflict",
      code: 409,
    });
  });

  it("of a missing object is 404", async () => {
    expect((await patch(`${maps}/none`, merge, {})).status).toBe(404);
  });

  it.each([["application/json"], ["text/plain"], ["application/yaml"]])(
    "of type %s is 415 and names the types that are taken",
    async (type) => {
      await post(maps, { metadata: { name: "a" } });
      const reply = await patch(`${maps}/a?fieldManager=m`, type, {});
      expect(reply.json()).toMatchObject({
        reason: "UnsupportedMediaType",
        code: 415,
        message: expect.stringContaining(`accepted media types include: ${json}, ${merge}, ${strategic}`) as unknown,
      });
    },
  );

  it("with force is 422, as that belongs to apply", async () => {
    await post(maps, { metadata: { name: "a" } });
    expect((await patch(`${maps}/a?force=true`, merge, {})).json()).toMatchObject({
      reason: "Invalid",
      message: 'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
    });
  });

  it.each([
    [
      "a failing test",
      json,
      [{ op: "test", path: "/data/x", value: "2" }],
      422,
      "the server rejected our request due to an error in our request",
    ],
    ["a path that is not there", json, [{ op: "remove", path: "/data/none" }], 422, "the server rejected our request"],
    ["an unknown operation", json, [{ op: "jump", path: "/data" }], 422, "the server rejected our request"],
    ["a JSON patch that is no list", json, {}, 400, "error decoding patch"],
    ["a merge patch that is no object", merge, [], 400, "error decoding patch"],
    [
      "too many operations",
      json,
      Array.from({ length: 10_001 }, () => ({ op: "test", path: "/data/x", value: "1" })),
      413,
      "10000",
    ],
    ["a wrong type in the result", merge, { data: { x: 1 } }, 422, "json: cannot unmarshal number"],
    [
      "an invalid result",
      merge,
      { metadata: { labels: { a: "-" } } },
      422,
      'ConfigMap "a" is invalid: metadata.labels: Invalid value: "-"',
    ],
    [
      "another name",
      merge,
      { metadata: { name: "b" } },
      400,
      "the name of the object (b) does not match the name on the URL (a)",
    ],
    [
      "another namespace",
      merge,
      { metadata: { namespace: "default" } },
      400,
      "the namespace of the provided object does not match",
    ],
    ["another kind", merge, { kind: "Secret" }, 422, "Secret"],
    ["a key __proto__", json, [{ op: "add", path: "/data/__proto__", value: "1" }], 400, "__proto__"],
  ] as const)("with %s is refused", async (...[, type, body, code, message]) => {
    await post(maps, { metadata: { name: "a" }, data: { x: "1" } });
    const reply = await patch(`${maps}/a`, type, body);
    expect([reply.status, reply.text]).toEqual([code, expect.any(String) as unknown]);
    expect(reply.json()).toMatchObject({ kind: "Status", message: expect.stringContaining(message) as unknown });
    expect((await api(`${maps}/a`)).object()["data"]).toEqual({ x: "1" });
  });
});

describe("dry run", () => {
  it("does everything but store", async () => {
    const { resourceVersion } = (await api(maps)).json()["metadata"] as { resourceVersion: string };
    const made = await post(`${maps}?dryRun=All`, { metadata: { name: "a" }, data: { x: "1" } });
    expect(made.status).toBe(201);
    expect(made.object()).toMatchObject({
      metadata: { name: "a", uid: expect.any(String) as unknown },
      data: { x: "1" },
    });
    expect((await api(`${maps}/a`)).status).toBe(404);
    expect((await post(`${maps}?dryRun=All`, { metadata: { name: "A" } })).status).toBe(422);
    const real = (await post(maps, { metadata: { name: "a" } })).object();
    expect(Number(real.metadata.resourceVersion)).toBeGreaterThan(Number(resourceVersion));
    expect((await post(`${maps}?dryRun=All`, { metadata: { name: "a" } })).status).toBe(409);
    expect((await put(`${maps}/a?dryRun=All`, { data: { x: "2" } })).object()["data"]).toEqual({ x: "2" });
    expect((await patch(`${maps}/a?dryRun=All`, merge, { data: { x: "3" } })).object()["data"]).toEqual({ x: "3" });
    expect((await api(`${maps}/a?dryRun=All`, { method: "DELETE" })).status).toBe(200);
    expect((await api(`${maps}/a`)).object()).toEqual(real);
  });

  it.each(["POST", "PUT", "PATCH", "DELETE"])("of another kind than All is 422 for %s", async (method) => {
    const path = method === "POST" ? maps : `${maps}/a`;
    const reply = await api(`${path}?dryRun=Some`, {
      method,
      body: method === "DELETE" ? "" : {},
      type: method === "PATCH" ? merge : "application/json",
    });
    expect(reply.json()).toMatchObject({
      reason: "Invalid",
      message: expect.stringContaining('dryRun: Unsupported value: ["Some"]: supported values: "All"') as unknown,
    });
  });
});

describe("field validation", () => {
  const extra = { metadata: { name: "v" }, data: { a: "1" }, foo: 1, spec: { bar: 2 } };

  it("warns by default and under Warn, one header for each field", async () => {
    for (const query of ["", "?fieldValidation=Warn"]) {
      const reply = await post(maps + query, extra);
      expect(reply.status).toBe(201);
      expect(warningsOf(reply)).toBe(warned('unknown field "foo"', 'unknown field "spec"'));
      expect(reply.object()).not.toHaveProperty("foo");
      await api(`${maps}/v`, { method: "DELETE" });
    }
  });

  it("under Ignore says nothing", async () => {
    const reply = await post(`${maps}?fieldValidation=Ignore`, extra);
    expect([reply.status, warningsOf(reply)]).toEqual([201, undefined]);
  });

  it("under Strict is 400 for create and update, 422 for patch", async () => {
    const created = await post(`${maps}?fieldValidation=Strict`, extra);
    expect(created.json()).toMatchObject({
      reason: "BadRequest",
      message:
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "foo", unknown field "spec"',
    });
    await post(maps, { metadata: { name: "v" } });
    expect((await put(`${maps}/v?fieldValidation=Strict`, extra)).status).toBe(400);
    const patched = await patch(`${maps}/v?fieldValidation=Strict`, merge, { metadata: { nope: 1 } });
    expect(patched.json()).toMatchObject({
      reason: "Invalid",
      code: 422,
      message: expect.stringContaining('strict decoding error: unknown field "metadata.nope"') as unknown,
      details: { causes: [{ field: "patch", reason: "FieldValueInvalid" }] },
    });
  });

  it("sees fields that occur twice", async () => {
    const body = '{"metadata":{"name":"v"},"data":{"a":"1","a":"2"}}';
    const ask = { method: "POST", type: "application/json", body };
    const warning = await api(maps, ask);
    expect(warningsOf(warning)).toBe(warned('duplicate field "data.a"'));
    expect(warning.object()["data"]).toEqual({ a: "2" });
    expect((await api(`${maps}?fieldValidation=Strict`, ask)).status).toBe(400);
  });

  it("of another word, and a field manager that is too long or unprintable, are 422", async () => {
    for (const query of ["fieldValidation=Maybe", `fieldManager=${"m".repeat(129)}`, "fieldManager=a%07b"]) {
      expect([query, (await post(`${maps}?${query}`, { metadata: { name: "q" } })).status]).toEqual([query, 422]);
    }
    expect((await post(`${maps}?fieldManager=kubectl-create`, { metadata: { name: "q" } })).status).toBe(201);
  });
});
