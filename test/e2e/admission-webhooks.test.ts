import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Reply } from "../kits/api-client.ts";
import { hubForFile } from "../kits/hub-for-file.ts";
import { eventually } from "../kits/peers-process.ts";
import { peerSuite } from "../kits/peers.ts";
import { startWebhook, type ReviewReply, type ReviewRequest, type WebhookServer } from "../kits/webhook-server.ts";

const registration = "/apis/admissionregistration.k8s.io/v1";

const { hub, api, post } = await hubForFile();
let webhook: WebhookServer;
let maps: string;
let count = 0;

beforeEach(async () => {
  webhook = await startWebhook();
  count += 1;
  maps = `/api/v1/namespaces/hooks-${count}/configmaps`;
  await post("/api/v1/namespaces", { metadata: { name: `hooks-${count}`, labels: { hooked: "yes" } } });
  // What a controller makes there is there before any webhook is, which would be asked about it.
  await eventually("the CA", async () => (await api(`${maps}/kube-root-ca.crt`)).status === 200 || undefined);
});

afterEach(async () => {
  for (const plural of ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]) {
    await api(`${registration}/${plural}`, { method: "DELETE" });
  }
  await webhook.close();
});

const everything = { operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] };

/** Puts a webhook into force; `fields` replace what is usual. */
async function configure(stage: "Mutating" | "Validating", fields: object = {}, name = "test"): Promise<void> {
  const reply = await post(`${registration}/${stage.toLowerCase()}webhookconfigurations`, {
    metadata: { name },
    webhooks: [
      {
        name: `${name}.hooks.example`,
        clientConfig: { url: `${webhook.url}/ask`, caBundle: webhook.caBundle },
        rules: [everything],
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        ...fields,
      },
    ],
  });
  expect(reply.text).toContain('"uid"');
}

/** A second configuration with a webhook of its own; closed with the test. */
const others: WebhookServer[] = [];
async function another(): Promise<WebhookServer> {
  const server = await startWebhook();
  others.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(others.splice(0).map((server) => server.close()));
});

const clientOf = ({ url, caBundle }: WebhookServer): object => ({ clientConfig: { url, caBundle } });
const deny = (status: object): ReviewReply => ({ allowed: false, response: { status } });
const map = (name: string, more: object = {}): Promise<Reply> => post(maps, { metadata: { name }, ...more });

describe("a validating webhook", () => {
  it("refuses what it does not like, with its words and the code 400", async () => {
    await configure("Validating");
    webhook.answer(() => deny({ message: "no" }));
    const reply = await map("a", { data: { key: "value" } });
    expect(reply.status).toBe(400);
    expect(reply.json()).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: 'admission webhook "test.hooks.example" denied the request: no',
      code: 400,
    });
    expect((await api(`${maps}/a`)).status).toBe(404);
  });

  it.each([
    [{}, 400, undefined, "the request without explanation"],
    [{ code: 200 }, 400, undefined, "the request without explanation"],
    [{ reason: "Forbidden" }, 400, "Forbidden", "the request: Forbidden"],
    [{ code: 418, reason: "Teapot", message: "short and stout" }, 418, "Teapot", "the request: short and stout"],
    [{ code: 99_999, message: "far out" }, 400, undefined, "the request: far out"],
  ])("that answers with the status %j makes %i, %s, %s", async (status, code, reason, message) => {
    await configure("Validating");
    webhook.answer(() => deny(status));
    const reply = await map("a");
    expect([reply.status, reply.json()["reason"]]).toEqual([code, reason]);
    expect(reply.json()["message"]).toBe(`admission webhook "test.hooks.example" denied ${message}`);
  });

  it("is told all about a create, an update and a delete", async () => {
    await configure("Validating");
    const created = (await map("a", { data: { k: "1" } })).object();
    await api(`${maps}/a?fieldManager=me&fieldValidation=Strict`, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: { data: { k: "2" } },
    });
    await api(`${maps}/a`, { method: "DELETE", body: { propagationPolicy: "Background" } });
    const kind = { group: "", version: "v1", kind: "ConfigMap" };
    const resource = { group: "", version: "v1", resource: "configmaps" };
    const same = {
      uid: expect.stringMatching(/^[\da-f-]{36}$/) as unknown,
      kind,
      resource,
      requestKind: kind,
      requestResource: resource,
      name: "a",
      namespace: `hooks-${count}`,
      userInfo: expect.objectContaining({ groups: ["system:masters", "system:authenticated"] }) as unknown,
      dryRun: false,
    };
    const [create, update, remove] = webhook.asked;
    expect(webhook.asked).toHaveLength(3);
    expect(create).toEqual({
      ...same,
      operation: "CREATE",
      object: expect.objectContaining({
        kind: "ConfigMap",
        apiVersion: "v1",
        data: { k: "1" },
        metadata: expect.objectContaining({ name: "a", uid: created.metadata.uid }) as unknown,
      }) as unknown,
      oldObject: null,
      options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1" },
    });
    expect(update).toMatchObject({
      ...same,
      operation: "UPDATE",
      object: { data: { k: "2" } },
      oldObject: { data: { k: "1" }, metadata: { resourceVersion: created.metadata.resourceVersion } },
      options: { kind: "UpdateOptions", apiVersion: "meta.k8s.io/v1", fieldManager: "me", fieldValidation: "Strict" },
    });
    expect(remove).toMatchObject({
      ...same,
      operation: "DELETE",
      object: null,
      oldObject: { data: { k: "2" } },
      options: { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1", propagationPolicy: "Background" },
    });
    expect(webhook.paths).toEqual(["/ask?timeout=10s", "/ask?timeout=10s", "/ask?timeout=10s"]);
    expect(webhook.connections()).toBe(1);
  });

  it("is asked about each object of a collection that is deleted, and about none after it refused one", async () => {
    await Promise.all([map("a"), map("b"), map("c")]);
    await configure("Validating", { rules: [{ ...everything, operations: ["DELETE"] }] });
    webhook.answer(({ name }) => (name === "b" ? deny({ message: "keep b" }) : {}));
    const reply = await api(maps, { method: "DELETE" });
    expect(reply.json()["message"]).toBe('admission webhook "test.hooks.example" denied the request: keep b');
    expect((await api(`${maps}/b`)).status).toBe(200);
  });

  it("is asked beside others, all of them, and the first in order of names is heard", async () => {
    const [first, second] = [await another(), await another()];
    await configure("Validating", clientOf(second), "b");
    await configure("Validating", clientOf(first), "a");
    first.answer(() => deny({ message: "first" }));
    second.answer(() => deny({ message: "second" }));
    const reply = await map("x");
    expect(reply.json()["message"]).toBe('admission webhook "a.hooks.example" denied the request: first');
    expect([first.asked.length, second.asked.length]).toEqual([1, 1]);
  });

  it("in v1beta1 needs no uid and no kind in its answer", async () => {
    await configure("Validating", { admissionReviewVersions: ["v2", "v1beta1", "v1"] });
    webhook.answer(() => ({
      raw: (response) => response.writeHead(200).end(JSON.stringify({ response: { allowed: false } })),
    }));
    expect((await map("a")).json()["message"]).toContain("denied the request without explanation");
  });

  it("is asked about a token, whose kind is not that of the account", async () => {
    await configure("Validating", {
      rules: [{ ...everything, resources: ["serviceaccounts/token"] }],
    });
    const account = `/api/v1/namespaces/hooks-${count}/serviceaccounts`;
    await post(account, { metadata: { name: "robot" } });
    const reply = await post(`${account}/robot/token`, { spec: { expirationSeconds: 600 } });
    expect(reply.status).toBe(201);
    expect(webhook.asked).toHaveLength(1);
    expect(webhook.asked[0]).toMatchObject({
      kind: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
      resource: { resource: "serviceaccounts" },
      subResource: "token",
      requestSubResource: "token",
      name: "robot",
      object: { kind: "TokenRequest", spec: { expirationSeconds: 600 } },
    });
    expect(JSON.stringify(webhook.asked)).not.toContain("eyJ");
  });
});

describe("a mutating webhook", () => {
  it("changes what is stored, and what it adds beyond the kind is dropped", async () => {
    await configure("Mutating");
    webhook.answer(({ object }) => ({
      patch: [
        { op: "add", path: "/data", value: { k: String(object?.["data"] === undefined) } },
        { op: "add", path: "/metadata/labels", value: { seen: "yes" } },
        { op: "add", path: "/nonsense", value: 1 },
      ],
    }));
    const reply = await map("a");
    expect(reply.object()).toMatchObject({ data: { k: "true" }, metadata: { labels: { seen: "yes" } } });
    expect(reply.object()).not.toHaveProperty("nonsense");
    expect((await api(`${maps}/a`)).object()).toEqual(reply.object());
  });

  it("does not see what only the server may say, and no name where one is to be made", async () => {
    await configure("Mutating");
    const reply = await post(maps, { metadata: { generateName: "gen-" } });
    const { object, ...request } = webhook.asked[0] ?? {};
    expect(request).not.toHaveProperty("name");
    expect((object as ReviewRequest["object"])?.metadata).toEqual(
      expect.not.objectContaining({ name: expect.anything() as unknown, uid: expect.anything() as unknown }),
    );
    expect(reply.object().metadata.name).toMatch(/^gen-/);
  });

  it("runs before validation, which sees what it made", async () => {
    await configure("Mutating");
    webhook.answer(() => ({ patch: [{ op: "add", path: "/data", value: { "bad key": "v" } }] }));
    const reply = await map("a");
    expect(reply.status).toBe(422);
    expect(reply.json()["message"]).toContain('ConfigMap "a" is invalid: data[bad key]: Invalid value: "bad key"');
  });

  it("comes before those with a later name, and one with IfNeeded is asked again once another has changed something", async () => {
    const [first, second] = [await another(), await another()];
    await configure("Mutating", { ...clientOf(first), reinvocationPolicy: "IfNeeded" }, "a");
    await configure("Mutating", clientOf(second), "b");
    first.answer(({ object }) => ({ patch: [{ op: "add", path: "/data", value: { ...dataOf(object), first: "1" } }] }));
    second.answer(({ object }) => ({
      patch: [{ op: "add", path: "/data", value: { ...dataOf(object), second: "2" } }],
    }));
    const reply = await map("x");
    expect(reply.object()["data"]).toEqual({ first: "1", second: "2" });
    expect(first.asked.map(({ object }) => object?.["data"])).toEqual([undefined, { first: "1", second: "2" }]);
    expect(second.asked.map(({ object }) => object?.["data"])).toEqual([{ first: "1" }]);
  });

  it("is not asked again where nothing was changed after it", async () => {
    await configure("Mutating", { reinvocationPolicy: "IfNeeded" });
    webhook.answer(() => ({ patch: [{ op: "add", path: "/data", value: { k: "v" } }] }));
    await map("x");
    expect(webhook.asked).toHaveLength(1);
  });

  it("that changes something in answer to a deletion is an error", async () => {
    await map("x");
    await configure("Mutating", { rules: [{ ...everything, operations: ["DELETE"] }] });
    webhook.answer(() => ({ patch: [{ op: "add", path: "/data", value: {} }] }));
    const reply = await api(`${maps}/x`, { method: "DELETE" });
    expect([reply.status, reply.json()["message"]]).toEqual([
      500,
      'Internal error occurred: admission webhook "test.hooks.example" attempted to modify the object, which is not supported for this operation',
    ]);
  });

  it("changes the status of a node where the status is written, and its spec then does not move", async () => {
    await post("/api/v1/nodes", { metadata: { name: `node-${count}` } });
    await configure("Mutating", { rules: [{ ...everything, resources: ["nodes/status"] }] });
    webhook.answer(() => ({
      patch: [
        { op: "add", path: "/spec", value: { podCIDR: "10.0.0.0/24" } },
        { op: "add", path: "/metadata/annotations", value: { seen: "yes" } },
      ],
    }));
    const reply = await api(`/api/v1/nodes/node-${count}/status`, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: { status: { phase: "Running" } },
    });
    expect(reply.status).toBe(200);
    expect(reply.object()["spec"] ?? {}).not.toHaveProperty("podCIDR");
    expect(reply.object()["status"]).toMatchObject({ phase: "Running" });
    expect(webhook.asked[0]).toMatchObject({ subResource: "status", kind: { kind: "Node" } });
  });
});

function dataOf(object: ReviewRequest["object"]): object {
  return object?.["data"] ?? {};
}

describe("whether a webhook is asked", () => {
  it.each([
    ["the labels of the namespace", { namespaceSelector: { matchLabels: { hooked: "yes" } } }, 1],
    ["other labels of the namespace", { namespaceSelector: { matchLabels: { hooked: "no" } } }, 0],
    ["the labels of the object", { objectSelector: { matchExpressions: [{ key: "a", operator: "Exists" }] } }, 1],
    ["other labels of the object", { objectSelector: { matchLabels: { a: "2" } } }, 0],
    ["a condition that holds", { matchConditions: [{ name: "c", expression: "object.metadata.name == 'x'" }] }, 1],
    ["a condition that does not", { matchConditions: [{ name: "c", expression: "request.operation == 'DELETE'" }] }, 0],
    [
      "a condition that fails beside one that does not hold",
      {
        matchConditions: [
          { name: "c", expression: "object.data.missing == 'x'" },
          { name: "d", expression: "request.userInfo.username == 'nobody'" },
        ],
      },
      0,
    ],
    ["another version", { rules: [{ ...everything, apiVersions: ["v2"] }] }, 0],
    ["the other scope", { rules: [{ ...everything, scope: "Cluster" }] }, 0],
    ["its own scope", { rules: [{ ...everything, scope: "Namespaced" }] }, 1],
    ["every resource", { rules: [{ ...everything, apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] }] }, 1],
    ["parts of resources only", { rules: [{ ...everything, resources: ["*/status"] }] }, 0],
  ])("depends on %s", async (_what, fields, times) => {
    await configure("Validating", fields);
    await post(maps, { metadata: { name: "x", labels: { a: "1" } } });
    expect(webhook.asked).toHaveLength(times);
  });

  it("follows failurePolicy where a condition fails", async () => {
    const matchConditions = [{ name: "c", expression: "object.data.missing == 'x'" }];
    await configure("Validating", { matchConditions });
    const reply = await map("a");
    expect([reply.status, reply.json()["message"]]).toEqual([
      403,
      `configmaps "a" is forbidden: expression 'object.data.missing == 'x'' resulted in error: no such key: data`,
    ]);
    await api(`${registration}/validatingwebhookconfigurations/test`, { method: "DELETE" });
    await configure("Validating", { matchConditions, failurePolicy: "Ignore" });
    expect((await map("a")).status).toBe(201);
    expect(webhook.asked).toEqual([]);
  });

  it("of a namespace depends on the labels it is to have", async () => {
    await configure("Validating", {
      rules: [{ ...everything, resources: ["namespaces"] }],
      namespaceSelector: { matchLabels: { watched: "yes" } },
    });
    webhook.answer(() => deny({ message: "no" }));
    const one = await post("/api/v1/namespaces", { metadata: { name: "unwatched" } });
    const other = await post("/api/v1/namespaces", { metadata: { name: "watched", labels: { watched: "yes" } } });
    expect([one.status, other.status]).toEqual([201, 400]);
    expect(webhook.asked[0]).toMatchObject({ name: "watched", namespace: "watched" });
  });

  it("is never so for configurations of webhooks and policies, so that nobody is locked out", async () => {
    const all = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] };
    await configure("Validating", { rules: [all] });
    await configure("Mutating", { rules: [all] });
    webhook.answer(() => deny({ message: "never" }));
    expect((await map("a")).status).toBe(400);
    const removed = await api(`${registration}/validatingwebhookconfigurations/test`, { method: "DELETE" });
    expect(removed.status).toBe(200);
  });
});

describe("a webhook that cannot be asked", () => {
  // Before it is in force: what the hub writes by itself may open a connection, and on one that is cut the answer is EOF.
  beforeEach(() => webhook.close());

  it("refuses, with 500 and the reason", async () => {
    await configure("Validating");
    const reply = await map("a");
    expect(reply.status).toBe(500);
    expect(reply.json()).toMatchObject({
      reason: "InternalError",
      message: `Internal error occurred: failed calling webhook "test.hooks.example": failed to call webhook: Post "${webhook.url}/ask?timeout=10s": dial tcp: connect: connection refused`,
    });
  });

  it("is passed over with failurePolicy Ignore, and the hub's log says so", async () => {
    await configure("Validating", { failurePolicy: "Ignore" });
    const logged = hub.log.length;
    expect((await map("a")).status).toBe(201);
    expect(hub.log.slice(logged)).toContainEqual(
      expect.objectContaining({ level: "warn", reason: "WebhookCallFailed", webhook: "test.hooks.example" }),
    );
  });

  it("of a service says that this hub has none", async () => {
    await configure("Validating", { clientConfig: { service: { name: "svc", namespace: "ns", path: "/x" } } });
    expect((await map("a")).json()["message"]).toMatch(
      /failed to call webhook: Post "https:\/\/svc\.ns\.svc(?::443)?\/x\?timeout=10s": dial tcp: no such host svc\.ns\.svc: this hub runs no Services; name the webhook by clientConfig\.url$/,
    );
  });
});

describe("a custom kind of two versions", () => {
  const widgets = (version: string): string => `/apis/hooks.example/${version}/namespaces/hooks-${count}/widgets`;
  const schema = {
    openAPIV3Schema: {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: { size: { type: "integer", maximum: 5 }, colour: { type: "string", default: "red" } },
        },
      },
    },
  };
  const version = (name: string): object => ({
    name,
    served: true,
    storage: name === "v1",
    schema,
    subresources: { scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" } },
  });
  const rules = (resources: string): object => ({
    rules: [{ operations: ["*"], apiGroups: ["hooks.example"], apiVersions: ["v1"], resources: [resources] }],
  });

  beforeAll(async () => {
    await post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      metadata: { name: "widgets.hooks.example" },
      spec: {
        group: "hooks.example",
        scope: "Namespaced",
        names: { plural: "widgets", kind: "Widget" },
        versions: [version("v1"), version("v2")],
      },
    });
  });

  it("is shown in the version that the rule names, and written in the one that was asked for", async () => {
    await configure("Mutating", rules("widgets"));
    webhook.answer(() => ({
      patch: [
        { op: "add", path: "/spec/size", value: 3 },
        { op: "add", path: "/spec/unknown", value: true },
      ],
    }));
    const reply = await post(widgets("v2"), {
      apiVersion: "hooks.example/v2",
      kind: "Widget",
      metadata: { name: "w" },
      spec: {},
    });
    expect(reply.object()).toMatchObject({ apiVersion: "hooks.example/v2", spec: { size: 3, colour: "red" } });
    expect(reply.object()["spec"]).not.toHaveProperty("unknown");
    expect(webhook.asked[0]).toMatchObject({
      kind: { version: "v1", kind: "Widget" },
      resource: { version: "v1" },
      requestKind: { version: "v2" },
      requestResource: { version: "v2" },
      object: { apiVersion: "hooks.example/v1", spec: { colour: "red" } },
    });
  });

  it("is not shown in another version with matchPolicy Exact", async () => {
    await configure("Validating", { ...rules("widgets"), matchPolicy: "Exact" });
    await post(widgets("v2"), { apiVersion: "hooks.example/v2", kind: "Widget", metadata: { name: "w" }, spec: {} });
    expect(webhook.asked).toEqual([]);
  });

  it("is validated after it was changed", async () => {
    await configure("Mutating", rules("widgets"));
    webhook.answer(() => ({ patch: [{ op: "add", path: "/spec/size", value: 9 }] }));
    const body = { apiVersion: "hooks.example/v1", kind: "Widget", metadata: { name: "w" }, spec: {} };
    const reply = await post(widgets("v1"), body);
    expect([reply.status, reply.json()["message"]]).toEqual([
      422,
      'Widget.hooks.example "w" is invalid: spec.size: Invalid value: 9: spec.size in body should be less than or equal to 5',
    ]);
  });

  it("is shown and changed as a Scale where its scale is written", async () => {
    const body = { apiVersion: "hooks.example/v1", kind: "Widget", metadata: { name: "w" }, spec: { size: 1 } };
    await post(widgets("v1"), body);
    await configure("Mutating", rules("*/scale"));
    webhook.answer(() => ({ patch: [{ op: "replace", path: "/spec/replicas", value: 4 }] }));
    const reply = await api(`${widgets("v1")}/w/scale`, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: { spec: { replicas: 2 } },
    });
    expect(reply.object()).toMatchObject({ kind: "Scale", spec: { replicas: 4 } });
    expect(webhook.asked[0]).toMatchObject({
      kind: { group: "autoscaling", version: "v1", kind: "Scale" },
      resource: { group: "hooks.example", resource: "widgets" },
      subResource: "scale",
      object: { kind: "Scale", spec: { replicas: 2 } },
      oldObject: { kind: "Scale", spec: { replicas: 1 } },
    });
  });
});

describe("warnings and dry runs", () => {
  it("hands the webhook's warnings to the client", async () => {
    await configure("Validating");
    webhook.answer(() => ({ response: { warnings: ["mind the gap"] } }));
    expect((await map("a")).headers["warning"]).toBe('299 - "mind the gap"');
  });

  it("tells the webhook of a dry run, and stores nothing", async () => {
    await configure("Mutating", { sideEffects: "NoneOnDryRun" });
    webhook.answer(() => ({ patch: [{ op: "add", path: "/data", value: { k: "v" } }] }));
    const reply = await post(`${maps}?dryRun=All`, { metadata: { name: "a" } });
    expect(reply.object()["data"]).toEqual({ k: "v" });
    expect(webhook.asked[0]).toMatchObject({ dryRun: true, options: { dryRun: ["All"] } });
    expect((await api(`${maps}/a`)).status).toBe(404);
  });
});

peerSuite("kubectl", "kubectl and admission webhooks", () => {
  it("shows a refusal and a list", async () => {
    await configure("Validating");
    webhook.answer(() => deny({ message: "no" }));
    const { code, err } = await hub.kubectl("create", "configmap", "x", "-n", `hooks-${count}`);
    expect([code, err]).toEqual([
      1,
      'error: failed to create configmap: admission webhook "test.hooks.example" denied the request: no\n',
    ]);
    const list = await hub.kubectl.ok("get", "validatingwebhookconfigurations");
    expect(list).toMatch(/^NAME +WEBHOOKS +AGE\ntest +1 +\d+s\n$/);
  });
});
