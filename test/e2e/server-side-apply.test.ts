import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { definition, establish, version } from "../kits/definitions.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

let hub: TestHub;
let admin: ApiClient;

beforeAll(async () => {
  hub = await startTestHub({ users: { writer: [] } });
  admin = apiClient(hub);
});

afterAll(async () => {
  admin.close();
  await hub.close();
});

const maps = "/api/v1/namespaces/default/configmaps";
let count = 0;
const fresh = (): string => `ssa-${(count += 1)}`;

interface Apply {
  readonly as?: string;
  readonly force?: boolean;
  readonly query?: string;
  readonly path?: string;
  readonly client?: ApiClient;
}

/** Applies to a ConfigMap, or to what `path` names. */
async function apply(name: string, config: object, options: Apply = {}): Promise<Reply> {
  const { as = "a", force = false, query = "", path = `${maps}/${name}`, client = admin } = options;
  const { metadata, ...rest } = config as { metadata?: object };
  const manager = as === "" ? "" : `fieldManager=${as}`;
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, ...rest };
  return client(`${path}?${manager}${force ? "&force=true" : ""}${query}`, {
    method: "PATCH",
    type: "application/apply-patch+yaml",
    body: JSON.stringify(body),
  });
}

const merge = (path: string, body: object, as = "m"): Promise<Reply> =>
  admin(`${path}?fieldManager=${as}`, {
    method: "PATCH",
    type: "application/merge-patch+json",
    body: JSON.stringify(body),
  });

interface Entry {
  readonly manager: string;
  readonly operation: string;
  readonly subresource?: string;
  readonly time?: string;
  readonly fieldsV1: object;
}

const entriesOf = (object: ApiObject): readonly Entry[] => (object.metadata.managedFields ?? []) as readonly Entry[];

/** Whose fields are which, as text. */
const ownersOf = (object: ApiObject): unknown =>
  Object.fromEntries(
    entriesOf(object).map(({ manager, operation, subresource, fieldsV1 }) => [
      `${manager} ${operation}${subresource === undefined ? "" : ` ${subresource}`}`,
      JSON.stringify(fieldsV1),
    ]),
  );

const versionOf = ({ metadata }: ApiObject): string | undefined => metadata.resourceVersion;

describe("an apply", () => {
  it("creates what is missing with 201 and the fields of its manager", async () => {
    const reply = await apply(fresh(), { data: { x: "1" }, metadata: { labels: { l: "1" } } });
    expect(reply.status).toBe(201);
    expect(reply.object().metadata.managedFields).toEqual([
      {
        manager: "a",
        operation: "Apply",
        apiVersion: "v1",
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as string,
        fieldsType: "FieldsV1",
        fieldsV1: { "f:data": { "f:x": {} }, "f:metadata": { "f:labels": { "f:l": {} } } },
      },
    ]);
  });

  it("takes YAML", async () => {
    const name = fresh();
    const body = `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  x: |\n    one\n    two\n`;
    const reply = await admin(`${maps}/${name}?fieldManager=a`, {
      method: "PATCH",
      type: "application/apply-patch+yaml",
      body,
    });
    expect([reply.status, reply.object()["data"]]).toEqual([201, { x: "one\ntwo\n" }]);
  });

  it("that changes nothing writes nothing", async () => {
    const name = fresh();
    const first = (await apply(name, { data: { x: "1" } })).object();
    const again = await apply(name, { data: { x: "1" } });
    expect([again.status, again.object()]).toEqual([200, first]);
  });

  it("is refused where it changes fields of others, with every field as a cause", async () => {
    const name = fresh();
    await apply(name, { data: { x: "1", y: "1" } });
    await merge(`${maps}/${name}`, { data: { z: "1" } });
    const reply = await apply(name, { data: { x: "2", z: "2" } }, { as: "b" });
    expect(reply.json()).toMatchObject({
      code: 409,
      reason: "Conflict",
      message: 'Apply failed with 2 conflicts: conflicts with "a":\n- .data.x\nconflicts with "m" using v1:\n- .data.z',
      details: {
        causes: [
          { reason: "FieldManagerConflict", message: 'conflict with "a"', field: ".data.x" },
          { reason: "FieldManagerConflict", message: 'conflict with "m" using v1', field: ".data.z" },
        ],
      },
    });
    const forced = await apply(name, { data: { x: "2", z: "2" } }, { as: "b", force: true });
    expect(ownersOf(forced.object())).toEqual({
      "a Apply": '{"f:data":{"f:y":{}}}',
      "b Apply": '{"f:data":{"f:x":{},"f:z":{}}}',
    });
  });

  it("with dryRun says what it would do and does nothing", async () => {
    const name = fresh();
    expect((await apply(name, { data: { x: "1" } }, { query: "&dryRun=All" })).status).toBe(201);
    expect((await admin(`${maps}/${name}`)).status).toBe(404);
    const before = (await apply(name, { data: { x: "1" } })).object();
    const dry = await apply(name, { data: { x: "2" } }, { query: "&dryRun=All" });
    expect(dry.object()["data"]).toEqual({ x: "2" });
    expect((await admin(`${maps}/${name}`)).object()).toEqual(before);
  });

  it("that creates needs the permission to create as well", async () => {
    const role = {
      metadata: { name: "patcher" },
      rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["patch"] }],
    };
    const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    await admin(`${rbac}/roles`, { method: "POST", body: role });
    await admin(`${rbac}/rolebindings`, {
      method: "POST",
      body: {
        metadata: { name: "patcher" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "patcher" },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "writer" }],
      },
    });
    const client = apiClient(hub, { token: hub.token("writer") });
    const name = fresh();
    await expect.poll(async () => (await apply("absent-too", {}, { client })).text).toContain("create");
    const refused = await apply(name, { data: { x: "1" } }, { client });
    expect(refused.json()).toMatchObject({ code: 403, reason: "Forbidden" });
    await apply(name, { data: { x: "1" } });
    expect((await apply(name, { data: { y: "1" } }, { client, as: "w" })).status).toBe(200);
    client.close();
  });

  it("at once by many who own different fields loses nothing", async () => {
    const name = fresh();
    const many = Array.from({ length: 8 }, (_none, index) => `m${index}`);
    const replies = await Promise.all(many.map((as) => apply(name, { data: { [as]: "1" } }, { as })));
    expect(replies.map(({ status }) => status).filter((status) => status !== 200)).toEqual([201]);
    const object = (await admin(`${maps}/${name}`)).object();
    expect(Object.keys(object["data"] as object).sort()).toEqual([...many].sort());
    expect(entriesOf(object)).toHaveLength(8);
  });
});

describe("an apply is refused", () => {
  const cases: readonly (readonly [string, object, Apply, object])[] = [
    [
      "without a field manager",
      {},
      { as: "" },
      {
        code: 422,
        message: 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
      },
    ],
    [
      "with owners",
      { metadata: { managedFields: [] } },
      {},
      { code: 400, message: "metadata.managedFields must be nil" },
    ],
    ["with another kind", { kind: "Secret" }, {}, { code: 400, message: "invalid object type: /v1, Kind=Secret" }],
    [
      "with another version",
      { apiVersion: "apps/v1" },
      {},
      { code: 400, message: "invalid object type: apps/v1, Kind=ConfigMap" },
    ],
    [
      "with another namespace",
      { metadata: { namespace: "other" } },
      {},
      { code: 400, message: "the namespace of the provided object does not match the namespace sent on the request" },
    ],
    [
      "with another name",
      { metadata: { name: "other" } },
      {},
      { code: 400, message: "the name of the object (other) does not match the name on the URL (NAME)" },
    ],
    [
      "with a field that the schema does not have",
      { spec: { foo: 1 } },
      {},
      {
        code: 500,
        message:
          "failed to create typed patch object (/NAME; /v1, Kind=ConfigMap): .spec: field not declared in schema",
      },
    ],
    [
      "with a value of another type",
      { data: { x: 1 } },
      {},
      {
        code: 500,
        message:
          "failed to create typed patch object (/NAME; /v1, Kind=ConfigMap): .data.x: expected string, got &value.valueUnstructured{Value:1}",
      },
    ],
    [
      "with an item that occurs twice",
      { metadata: { finalizers: ["x.io/a", "x.io/a"] } },
      {},
      {
        code: 500,
        message:
          'failed to create typed patch object (/NAME; /v1, Kind=ConfigMap): .metadata.finalizers: duplicate entries for key [="x.io/a"]',
      },
    ],
    [
      "with the uid of an object that is not there",
      { metadata: { uid: "u" } },
      {},
      {
        code: 409,
        reason: "Conflict",
        message:
          'Operation cannot be fulfilled on configmaps "NAME": uid mismatch: the provided object specified uid u, and no existing object was found',
      },
    ],
  ];

  it.each(cases)("%s", async (_title, config, options, expected) => {
    const name = fresh();
    const reply = await apply(name, config, { ...options, path: `${maps}/${name}` });
    const named = JSON.parse(JSON.stringify(expected).replaceAll("NAME", name)) as object;
    expect(reply.json()).toMatchObject(named);
    expect((await admin(`${maps}/${name}`)).status).toBe(404);
  });

  it.each([
    ["that is no YAML", "a: [", "error decoding YAML: "],
    ["that is a list", "[]", "error decoding YAML: "],
    ["with a key __proto__", '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"__proto__":{"a":1}}', ""],
  ])("with a body %s", async (_title, body, message) => {
    const reply = await admin(`${maps}/x?fieldManager=a`, {
      method: "PATCH",
      type: "application/apply-patch+yaml",
      body,
    });
    expect([400, 500]).toContain(reply.status);
    expect((reply.json() as { message: string }).message).toContain(message);
  });

  it("with a key twice under Strict, in the words of Kubernetes; otherwise it takes the last and warns", async () => {
    const name = fresh();
    const body = `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  a: "1"\n  a: "2"\n`;
    const sent = { method: "PATCH", type: "application/apply-patch+yaml", body };
    const strict = await admin(`${maps}/${name}?fieldManager=a&fieldValidation=Strict`, sent);
    expect(strict.json()).toMatchObject({
      code: 400,
      reason: "BadRequest",
      message:
        'error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line 7: key "a" already set in map',
    });
    const ignored = await admin(`${maps}/${name}?fieldManager=a&fieldValidation=Ignore`, sent);
    expect([ignored.status, ignored.headers["warning"]]).toEqual([201, undefined]);
    const warned = await admin(`${maps}/${name}?fieldManager=a`, sent);
    expect([warned.status, warned.headers["warning"]]).toEqual([200, '299 - "line 7: key \\"a\\" already set in map"']);
    expect(warned.object()["data"]).toEqual({ a: "2" });
  });

  it("with a stale version or the uid of another object", async () => {
    const name = fresh();
    await apply(name, { data: { x: "1" } });
    for (const metadata of [{ resourceVersion: "1" }, { uid: "u" }]) {
      expect((await apply(name, { metadata, data: { x: "2" } })).json()).toMatchObject({
        code: 409,
        reason: "Conflict",
      });
    }
  });

  it("below what is not there", async () => {
    const path = "/api/v1/namespaces/absent/status";
    const reply = await apply("absent", { kind: "Namespace" }, { path });
    expect(reply.json()).toMatchObject({ code: 404, reason: "NotFound" });
  });
});

describe("owners", () => {
  it("of what is created and updated are its managers, else the user agent up to the slash", async () => {
    const name = fresh();
    await admin(maps, {
      method: "POST",
      headers: { "user-agent": "agent/1.0 (test)" },
      body: { metadata: { name }, data: { x: "1", y: "1" } },
    });
    const reply = await merge(`${maps}/${name}`, { data: { x: "2" } });
    expect(ownersOf(reply.object())).toEqual({
      "agent Update": '{"f:data":{".":{},"f:y":{}}}',
      "m Update": '{"f:data":{"f:x":{}}}',
    });
  });

  it("stay when a client sends them back, and when it sends none", async () => {
    const name = fresh();
    const created = (await apply(name, { data: { x: "1" } })).object();
    const put = async (object: object): Promise<Reply> =>
      admin(`${maps}/${name}?fieldManager=p`, { method: "PUT", body: object });
    expect((await put(created)).object()).toEqual(created);
    const { managedFields: _none, ...metadata } = created.metadata;
    expect((await put({ ...created, metadata })).object()).toEqual(created);
  });

  it("are forgotten when a client sends an empty list, and stay so until the next apply", async () => {
    const name = fresh();
    await apply(name, { data: { x: "1" } });
    expect(
      (await merge(`${maps}/${name}`, { metadata: { managedFields: [{}] } })).object().metadata.managedFields,
    ).toBeUndefined();
    expect((await merge(`${maps}/${name}`, { data: { y: "1" } })).object().metadata.managedFields).toBeUndefined();
    const applied = await apply(name, { data: { z: "1" } }, { as: "b" });
    expect(ownersOf(applied.object())).toEqual({
      "b Apply": '{"f:data":{"f:z":{}}}',
      "before-first-apply Update": '{"f:data":{".":{},"f:x":{},"f:y":{}}}',
    });
  });

  it("that a client garbles are not taken", async () => {
    const name = fresh();
    const created = (await apply(name, { data: { x: "1" } })).object();
    const garbled = [
      { manager: "x", operation: "Apply", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1: { a: 1 } },
    ];
    const reply = await merge(`${maps}/${name}`, { metadata: { managedFields: garbled } });
    expect(reply.object()).toEqual(created);
  });

  it("beyond ten who update become ancient-changes", async () => {
    const name = fresh();
    await admin(maps, { method: "POST", body: { metadata: { name }, data: { x: "1" } } });
    for (let index = 0; index < 12; index += 1)
      await merge(`${maps}/${name}`, { data: { [`k${index}`]: "1" } }, `m${index}`);
    const entries = entriesOf((await admin(`${maps}/${name}`)).object());
    expect(entries).toHaveLength(10);
    expect(entries.map(({ manager }) => manager)).toContain("ancient-changes");
  });

  it("of a status are apart from those of the object", async () => {
    const name = fresh();
    const namespaces = "/api/v1/namespaces";
    await apply(name, { kind: "Namespace", metadata: { labels: { l: "1" } } }, { path: `${namespaces}/${name}` });
    const condition = { type: "Test", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" };
    const config = {
      kind: "Namespace",
      metadata: { labels: { l: "1" } },
      status: { phase: "Active", conditions: [condition] },
    };
    const reply = await apply(name, config, { as: "s", path: `${namespaces}/${name}/status` });
    expect(ownersOf(reply.object())).toMatchObject({
      "a Apply": '{"f:metadata":{"f:labels":{"f:l":{}}}}',
      "s Apply status":
        '{"f:metadata":{"f:labels":{"f:l":{}}},"f:status":{"f:conditions":{"k:{\\"type\\":\\"Test\\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:phase":{}}}',
    });
    const ignored = await apply(name, config, { path: `${namespaces}/${name}` });
    expect(ownersOf(ignored.object())).toMatchObject({ "a Apply": '{"f:metadata":{"f:labels":{"f:l":{}}}}' });
  });

  it("of what controllers inside the hub write are their accounts", async () => {
    const name = fresh();
    await admin("/api/v1/namespaces", { method: "POST", body: { metadata: { name } } });
    const path = `/api/v1/namespaces/${name}/configmaps/kube-root-ca.crt`;
    await expect.poll(async () => (await admin(path)).status).toBe(200);
    expect(ownersOf((await admin(path)).object())).toEqual({
      "system:serviceaccount:kube-system:root-ca-cert-publisher Update": expect.stringContaining("f:ca.crt") as string,
    });
  });

  it("of a custom resource follow its schema, and those of its scale lie in the object", async () => {
    const scalable = version({
      subresources: { scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.replicas" } },
    });
    await establish(admin, definition({ plural: "scalables", kind: "Scalable", versions: [scalable] }));
    const name = fresh();
    const path = `/apis/example.com/v1/namespaces/default/scalables/${name}`;
    const kind = { apiVersion: "example.com/v1", kind: "Scalable" };
    await apply(name, { ...kind, spec: { size: 1, colour: "blue" } }, { path });
    const scale = { apiVersion: "autoscaling/v1", kind: "Scale", spec: { replicas: 2 } };
    const refused = await apply(name, scale, { as: "s", path: `${path}/scale` });
    expect(refused.json()).toMatchObject({
      code: 409,
      message: 'Apply failed with 1 conflict: conflict with "a": .spec.size',
    });
    const scaled = await apply(name, scale, { as: "s", force: true, path: `${path}/scale` });
    expect([scaled.status, scaled.object()]).toMatchObject([200, { kind: "Scale", spec: { replicas: 2 } }]);
    expect(ownersOf((await admin(path)).object())).toEqual({
      "a Apply": '{"f:spec":{"f:colour":{}}}',
      "s Apply scale": '{"f:spec":{"f:size":{}}}',
    });
    const updated = await merge(`${path}/scale`, { spec: { replicas: 3 } });
    expect(updated.status).toBe(200);
    expect(ownersOf((await admin(path)).object())).toEqual({
      "a Apply": '{"f:spec":{"f:colour":{}}}',
      "m Update scale": '{"f:spec":{"f:size":{}}}',
    });
    const wrong = await apply(name, { ...kind, spec: { nonsense: 1 } }, { path });
    expect(wrong.json()["message"]).toContain(".spec.nonsense: field not declared in schema");
  });

  it("are no fields of a write that changes nothing", async () => {
    const name = fresh();
    const first = (await apply(name, { data: { x: "1" } })).object();
    const same = await merge(`${maps}/${name}`, { data: { x: "1" } });
    expect([versionOf(same.object()), ownersOf(same.object())]).toEqual([versionOf(first), ownersOf(first)]);
  });
});
