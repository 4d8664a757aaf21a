import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { bootstrapKubeconfig } from "../../src/client/build-kubeconfig.ts";
import { issueOwn } from "../../src/ca/hub-certificates.ts";
import { systemClock } from "../../src/host/system-clock.ts";
import { loadCa } from "../../src/pki/ca.ts";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { startTestHub, type TestHub, type TestHubOptions } from "../kits/hub.ts";
import { startJsonService, type JsonService, type ServiceReply } from "../kits/json-service.ts";

let dir: string;
let hub: TestHub;
let admin: ApiClient;
const clients: ApiClient[] = [];

async function start(options: TestHubOptions): Promise<void> {
  hub = await startTestHub(options);
  admin = client("admin");
}

function client(identity: Parameters<typeof apiClient>[1]): ApiClient {
  const made = apiClient(hub, identity);
  clients.push(made);
  return made;
}

function as(user: string): ApiClient {
  return client({ token: hub.token(user) });
}

function post(body: object): { readonly method: string; readonly body: object } {
  return { method: "POST", body };
}

async function made(path: string, body: object): Promise<void> {
  const reply = await admin(path, post(body));
  expect([reply.status, reply.status === 201 ? "" : reply.text]).toEqual([201, ""]);
}

function messageOf(reply: Reply): unknown {
  return reply.json()["message"];
}

async function review(spec: object): Promise<unknown> {
  const reply = await admin("/apis/authorization.k8s.io/v1/subjectaccessreviews", post({ spec }));
  return reply.status === 201 ? reply.json()["status"] : `${reply.status} ${String(messageOf(reply))}`;
}

async function metric(name: string): Promise<readonly string[]> {
  const { text } = await admin("/metrics");
  return text.split("\n").filter((line) => line.startsWith(`apiserver_authorization_${name}`));
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-authorization-"));
});

afterEach(async () => {
  for (const one of clients.splice(0)) one.close();
  await hub.close();
});

afterAll(() => rm(dir, { recursive: true, force: true }));

function pod(name: string, node: string, secret: string): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      nodeName: node,
      serviceAccountName: "runner",
      containers: [{ name: "c", image: "i" }],
      volumes: [
        { name: "s", secret: { secretName: secret } },
        { name: "t", projected: { sources: [{ serviceAccountToken: { path: "token", audience: "vault" } }] } },
      ],
    },
  };
}

describe("modes Node and RBAC", () => {
  beforeEach(async () => {
    await start({});
    const ns = "/api/v1/namespaces/default";
    await made(`${ns}/serviceaccounts`, { metadata: { name: "runner" } });
    for (const name of ["one", "two"]) {
      await made(`${ns}/secrets`, { metadata: { name }, stringData: { a: "b" } });
      await made("/api/v1/nodes", { metadata: { name: `n-${name}` } });
      await made(`${ns}/pods`, pod(`p-${name}`, `n-${name}`, name));
    }
  });

  async function node(name: string): Promise<ApiClient> {
    const pem = async (file: string): Promise<string> => readFile(join(hub.dataDir, "pki", file), "utf8");
    const now = Date.now();
    const ca = loadCa({ certificatePem: await pem("ca.crt"), keyPem: await pem("ca.key"), now });
    const random = (size: number): Uint8Array => crypto.getRandomValues(new Uint8Array(size));
    const wanted = {
      commonName: `system:node:${name}`,
      organizations: ["system:nodes"],
      dnsNames: [],
      ipAddresses: [],
      usage: "client auth",
    } as const;
    return client(issueOwn(ca, wanted, { now, random }));
  }

  it("let a node read the secrets of its own pods alone, from the moment that they are bound to it", async () => {
    const one = await node("n-one");
    const secret = (name: string): string => `/api/v1/namespaces/default/secrets/${name}`;
    expect((await one(secret("one"))).status).toBe(200);
    const other = await one(secret("two"));
    expect([other.status, messageOf(other)]).toEqual([
      403,
      'secrets "two" is forbidden: User "system:node:n-one" cannot get resource "secrets" in API group "" in the namespace "default": no relationship found between node \'n-one\' and this object',
    ]);
    expect((await one("/api/v1/namespaces/default/secrets")).status).toBe(403);
    expect((await one("/api/v1/secrets")).status).toBe(403);
    expect((await one("/api/v1/namespaces/default/secrets?fieldSelector=metadata.name%3Done")).status).toBe(200);

    await made("/api/v1/namespaces/default/pods", pod("p-late", "n-one", "two"));
    expect((await one(secret("two"))).status).toBe(200);
    const removed = await admin("/api/v1/namespaces/default/pods/p-late?gracePeriodSeconds=0", { method: "DELETE" });
    expect(removed.status).toBe(200);
    expect((await one(secret("two"))).status).toBe(403);
  });

  it("let a node list its own pods, and read and write its own Node, lease and CSINode", async () => {
    const one = await node("n-one");
    expect((await one("/api/v1/pods?fieldSelector=spec.nodeName%3Dn-one")).items()).toHaveLength(1);
    for (const selector of ["", "?fieldSelector=spec.nodeName%3Dn-two", "?fieldSelector=spec.nodeName!%3Dn-one"]) {
      const refused = await one(`/api/v1/pods${selector}`);
      expect(messageOf(refused)).toMatch(/: can only list\/watch pods with spec.nodeName field selector$/);
    }
    expect((await one("/api/v1/nodes/n-one")).status).toBe(200);
    expect(messageOf(await one("/api/v1/nodes/n-two"))).toMatch(
      /'n-one' cannot read 'n-two', only its own Node object$/,
    );
    const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    expect((await one(leases, post({ metadata: { name: "n-one" }, spec: {} }))).status).toBe(201);
    expect(messageOf(await one(leases, post({ metadata: { name: "n-two" }, spec: {} })))).toBe(
      'leases.coordination.k8s.io "n-two" is forbidden: can only access node lease with the same name as the requesting node',
    );
    const csiNodes = "/apis/storage.k8s.io/v1/csinodes";
    expect((await one(csiNodes, post({ metadata: { name: "n-one" }, spec: { drivers: [] } }))).status).toBe(201);
    expect((await one(csiNodes, post({ metadata: { name: "n-two" }, spec: { drivers: [] } }))).status).toBe(403);
    expect((await one(`${csiNodes}/n-one`)).status).toBe(200);
  });

  it("refuse a node the objects of others, labels that steer pods, taints, and pods that are no mirrors", async () => {
    const one = await node("n-one");
    const patch = async (path: string, change: object): Promise<unknown> => {
      const reply = await one(path, { method: "PATCH", type: "application/merge-patch+json", body: change });
      return reply.status === 200 ? 200 : messageOf(reply);
    };
    const own = "/api/v1/nodes/n-one";
    expect(await patch(own, { metadata: { labels: { "kubernetes.io/os": "linux", mine: "x" } } })).toBe(200);
    expect(await patch(own, { metadata: { labels: { "node-restriction.kubernetes.io/a": "x" } } })).toBe(
      'nodes "n-one" is forbidden: is not allowed to modify labels: node-restriction.kubernetes.io/a',
    );
    expect(await patch(own, { spec: { taints: [{ key: "a", effect: "NoSchedule" }] } })).toBe(
      'nodes "n-one" is forbidden: node "n-one" is not allowed to modify taints',
    );
    expect(await patch("/api/v1/nodes/n-two", { metadata: { labels: { mine: "x" } } })).toBe(
      'nodes "n-two" is forbidden: node "n-one" is not allowed to modify node "n-two"',
    );
    expect(await patch("/api/v1/nodes/n-two/status", { status: { phase: "Running" } })).toBe(
      'nodes "n-two" is forbidden: node "n-one" is not allowed to modify node "n-two"',
    );
    expect(await patch("/api/v1/namespaces/default/pods/p-two/status", { status: { phase: "Failed" } })).toBe(
      'pods "p-two" is forbidden: node "n-one" can only update pod status for pods with spec.nodeName set to itself',
    );
    const forged = await one("/api/v1/namespaces/default/pods", post(pod("p-mine", "n-one", "two")));
    expect(messageOf(forged)).toBe(
      'pods "p-mine" is forbidden: pod does not have "kubernetes.io/config.mirror" annotation, node "n-one" can only create mirror pods',
    );
    expect((await one("/api/v1/namespaces/default/pods/p-two", { method: "DELETE" })).status).toBe(403);
    expect((await one("/api/v1/namespaces/default/secrets/two")).status).toBe(403);
  });

  it("give a node tokens for its own pods and for whom these ask alone", async () => {
    const one = await node("n-one");
    const uidOf = async (name: string): Promise<string> =>
      (await admin(`/api/v1/namespaces/default/pods/${name}`)).object().metadata.uid ?? "";
    const token = async (name: string, audiences: readonly string[], uid?: string): Promise<unknown> => {
      const boundObjectRef = { apiVersion: "v1", kind: "Pod", name, uid: uid ?? (await uidOf(name)) };
      const reply = await one(
        "/api/v1/namespaces/default/serviceaccounts/runner/token",
        post({ spec: { audiences, boundObjectRef } }),
      );
      return reply.status === 201 ? 201 : messageOf(reply);
    };
    expect(await token("p-one", ["vault"])).toBe(201);
    expect(await token("p-two", ["vault"])).toMatch(
      /node requested token bound to a pod scheduled on a different node$/,
    );
    expect(await token("p-one", ["bank"])).toMatch(
      /audience "bank" not found in pod spec volume, system:node:n-one is not/,
    );
    expect(await token("p-one", ["vault"], "x")).toMatch(/does not match the UID in record/);
    expect(await token("p-one", ["vault"], "")).toMatch(/without a uid$/);
  });

  it("say in reviews what the rules of a node are, and that they are not all", async () => {
    const one = await node("n-one");
    const reply = await one(
      "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
      post({ spec: { namespace: "default" } }),
    );
    expect(reply.json()["status"]).toMatchObject({
      incomplete: true,
      evaluationError: "node authorizer does not support user rule resolution",
    });
    expect(
      await review({
        user: "system:node:",
        groups: ["system:nodes"],
        resourceAttributes: { verb: "get", resource: "nodes", name: "x" },
      }),
    ).toEqual({ allowed: false, reason: 'unknown node for user "system:node:"' });
  });
});

describe("reviews with selectors", () => {
  const list = { verb: "list", resource: "pods" };
  const node = { user: "system:node:n", groups: ["system:nodes"] };

  it("hand selectors to the authorizers, raw or as requirements", async () => {
    await start({});
    for (const fieldSelector of [
      { rawSelector: "spec.nodeName=n" },
      { requirements: [{ key: "spec.nodeName", operator: "In", values: ["n"] }] },
    ]) {
      expect(await review({ ...node, resourceAttributes: { ...list, fieldSelector } })).toEqual({ allowed: true });
    }
    expect(
      await review({ ...node, resourceAttributes: { ...list, fieldSelector: { rawSelector: "spec.nodeName=m" } } }),
    ).toEqual({ allowed: false, reason: "can only list/watch pods with spec.nodeName field selector" });
  });

  it("say what of a selector was not understood, and refuse both forms at once", async () => {
    await start({});
    const asked = (fieldSelector: object): Promise<unknown> =>
      review({ user: "u", resourceAttributes: { ...list, fieldSelector } });
    expect(await asked({ rawSelector: "a" })).toEqual({
      allowed: false,
      evaluationError: "spec.resourceAttributes.fieldSelector ignored due to parse error",
    });
    const requirements = [
      { key: "a", operator: "In", values: ["b"] },
      { key: "a", operator: "Later", values: ["b"] },
    ];
    expect(await asked({ requirements })).toEqual({
      allowed: false,
      evaluationError: "spec.resourceAttributes.fieldSelector partially ignored due to parse error",
    });
    expect(await asked({ rawSelector: "a=b", requirements })).toMatch(
      /^422 .*fieldSelector.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements$/,
    );
  });
});

describe("mode ABAC", () => {
  it("allows what a line of the file says, in either form", async () => {
    const file = join(dir, "policy.jsonl");
    const policy = { apiVersion: "abac.authorization.kubernetes.io/v1beta1", kind: "Policy" };
    await writeFile(
      file,
      [
        "# who may do what",
        JSON.stringify({ ...policy, spec: { user: "ann", readonly: true, namespace: "*", resource: "pods" } }),
        JSON.stringify({ user: "bob", namespace: "default", resource: "configmaps" }),
        JSON.stringify({ ...policy, spec: { group: "system:authenticated", nonResourcePath: "/version*" } }),
      ].join("\n"),
    );
    await start({ authorizationModes: ["ABAC"], authorizationPolicyFile: file, users: { ann: [], bob: [] } });
    expect((await as("ann")("/api/v1/namespaces/default/pods")).status).toBe(200);
    const refused = await as("ann")("/api/v1/namespaces/default/configmaps");
    expect(messageOf(refused)).toMatch(/: No policy matched\.$/);
    const body = { metadata: { name: "c" } };
    expect((await as("bob")("/api/v1/namespaces/default/configmaps", post(body))).status).toBe(201);
    expect((await as("bob")("/version")).status).toBe(200);
    expect((await client("anonymous")("/version")).status).toBe(403);
  });
});

type Asked = { readonly spec: Readonly<Record<string, unknown>>; readonly apiVersion: string };

describe("mode Webhook", () => {
  let service: JsonService;
  let answer: (asked: Asked) => ServiceReply | Promise<ServiceReply>;
  const said = (status: object): ServiceReply => ({ body: { status } });

  beforeAll(async () => {
    service = await startJsonService(({ body }) => answer(body as Asked));
  });
  afterAll(() => service.close());

  async function target(): Promise<string> {
    const file = join(dir, "webhook.yaml");
    const server = `${service.url}/authorize`;
    await writeFile(file, bootstrapKubeconfig({ server, ca: { pem: service.caPem }, token: "t" }));
    return file;
  }

  async function startWebhook(more: object = {}): Promise<void> {
    const authorizationWebhook = {
      configFile: await target(),
      version: "v1",
      authorizedMs: 300_000,
      unauthorizedMs: 30_000,
      ...more,
    } as const;
    await start({
      authorizationModes: ["RBAC", "Webhook"],
      authorizationWebhook,
      users: { admin: ["admin"], conf: ["conf"], other: [] },
    });
  }

  const pods = "/api/v1/namespaces/default/pods";

  it("asks the service what RBAC does not allow, and keeps the answer", async () => {
    answer = ({ spec }) => said({ allowed: (spec["groups"] as string[]).includes("admin"), reason: "as I say" });
    await startWebhook();
    const before = service.seen.length;
    for (let turn = 0; turn < 3; turn += 1) expect((await as("admin")(pods)).status).toBe(200);
    expect(service.seen.length - before).toBe(1);
    const { path, body, headers } = service.seen.at(-1) ?? {};
    expect([path, headers?.authorization]).toEqual(["/authorize", "Bearer t"]);
    expect(body).toMatchObject({
      kind: "SubjectAccessReview",
      apiVersion: "authorization.k8s.io/v1",
      spec: {
        user: "admin",
        uid: "uid-admin",
        groups: ["admin", "system:authenticated"],
        resourceAttributes: { namespace: "default", verb: "list", version: "v1", resource: "pods" },
      },
    });
    const refused = await as("conf")(pods);
    expect([refused.status, messageOf(refused)]).toEqual([
      403,
      'pods is forbidden: User "conf" cannot list resource "pods" in API group "" in the namespace "default": as I say',
    ]);
    expect(await metric("decisions_total")).toContainEqual(
      expect.stringMatching(/\{type="Webhook",name="Webhook",decision="allowed"\} 3$/),
    );
    expect(await metric("webhook_evaluations_total")).toEqual([expect.stringMatching(/result="success"\} 2$/)]);
  });

  it("speaks v1beta1 with its own name for groups, and sends selectors along", async () => {
    answer = () => said({ allowed: true });
    await startWebhook({ version: "v1beta1" });
    expect((await as("conf")(`${pods}?labelSelector=a%3Db&fieldSelector=metadata.name!%3Dx`)).status).toBe(200);
    const body = service.seen.at(-1)?.body as Asked;
    expect(body.apiVersion).toBe("authorization.k8s.io/v1beta1");
    expect(body.spec["group"]).toEqual(["conf", "system:authenticated"]);
    expect(body.spec["groups"]).toBeUndefined();
    expect(body.spec["resourceAttributes"]).toMatchObject({
      fieldSelector: { requirements: [{ key: "metadata.name", operator: "NotIn", values: ["x"] }] },
      labelSelector: { requirements: [{ key: "a", operator: "In", values: ["b"] }] },
    });
  });

  it.each([
    ["another kind", { body: { kind: "Status" } }],
    ["a text for a boolean", { body: { status: { allowed: "true" } } }],
    ["a list", { body: [true] }],
    ["null", { body: null }],
    ["status 403", { status: 403, body: {} }],
    ["both allowed and denied", { body: { status: { allowed: true, denied: true } } }],
  ])("lets nobody in when the service answers %s, and says that it failed", async (_what, reply: ServiceReply) => {
    answer = () => reply;
    await startWebhook();
    const refused = await as("conf")(pods);
    expect(refused.status).toBe(500);
    expect(refused.headers["content-type"]).toMatch(/^text\/plain/);
    expect(refused.text).toMatch(/^Internal Server Error: "\/api\/v1\/namespaces\/default\/pods": /);
    expect((await admin(pods)).status).toBe(200);
  });

  it("refuses what the service denies, without asking anybody after it", async () => {
    answer = () => said({ denied: true, reason: "never" });
    await startWebhook();
    const refused = await as("conf")(pods);
    expect([refused.status, String(messageOf(refused)).endsWith(": never")]).toEqual([403, true]);
  });

  it("will not start without the file that it needs", async () => {
    await start({});
    await expect(startTestHub({ authorizationModes: ["Webhook"] })).rejects.toThrow(
      "--authorization-mode Webhook needs --authorization-webhook-config-file",
    );
    await expect(startTestHub({ authorizationModes: ["ABAC"] })).rejects.toThrow("--authorization-policy-file");
    await expect(startTestHub({ authorizationModes: ["Node", "node"] })).rejects.toThrow('"node" is not known');
  });

  describe("of a configuration file", () => {
    const file = (): string => join(dir, "authorization.yaml");

    async function write(authorizers: readonly object[]): Promise<void> {
      const head = { apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthorizationConfiguration" };
      await writeFile(file(), JSON.stringify({ ...head, authorizers }));
    }

    async function webhook(name: string, more: object = {}): Promise<object> {
      return {
        type: "Webhook",
        name,
        webhook: {
          timeout: "30s",
          subjectAccessReviewVersion: "v1",
          matchConditionSubjectAccessReviewVersion: "v1",
          failurePolicy: "Deny",
          connectionInfo: { type: "KubeConfigFile", kubeConfigFile: await target() },
          ...more,
        },
      };
    }

    const startFile = (more: TestHubOptions = {}): Promise<void> =>
      start({ authorizationModes: [], authorizationConfigFile: file(), users: { conf: [], other: [] }, ...more });

    it("is asked only where its conditions hold", async () => {
      answer = () => said({ allowed: true });
      const matchConditions = [{ expression: "request.user == 'conf' && has(request.resourceAttributes)" }];
      await write([await webhook("pods", { matchConditions }), { type: "RBAC", name: "rbac" }]);
      await startFile();
      expect((await as("conf")(pods)).status).toBe(200);
      expect((await as("other")(pods)).status).toBe(403);
      expect((await as("conf")("/metrics")).status).toBe(403);
      expect(await metric("match_condition_exclusions_total")).toEqual([expect.stringMatching(/name="pods".*\} \d+$/)]);
    });

    it("refuses in bounded time where the service hangs, and lets others decide where it may", async () => {
      answer = () => new Promise(() => undefined);
      const brief = { timeout: "200ms" };
      await write([
        await webhook("open", { ...brief, failurePolicy: "NoOpinion" }),
        { type: "AlwaysAllow", name: "all" },
      ]);
      await startFile();
      expect((await as("conf")(pods)).status).toBe(200);
      expect(await metric("webhook_evaluations_fail_open_total")).toEqual([
        expect.stringMatching(/name="open".*\} [1-9]\d*$/),
      ]);
      expect(await metric("webhook_evaluations_total")).toEqual([
        expect.stringMatching(/result="timeout"\} [1-9]\d*$/),
      ]);
      await hub.close();
      await write([await webhook("closed", brief), { type: "AlwaysAllow", name: "all" }]);
      await startFile();
      const refused = await as("conf")(pods);
      expect([refused.status, refused.text]).toEqual([500, expect.stringContaining("did not answer within 200 ms")]);
    });

    it("is read again when the file changes, and stays as it was while the file is broken", async () => {
      const wakes: (() => void)[] = [];
      const clock = {
        now: systemClock.now,
        // Looks at files wait for this test, nothing else does.
        sleep: (ms: number, signal?: AbortSignal): Promise<void> =>
          ms === 5_000
            ? new Promise((resolve) => {
                if (signal?.aborted) return resolve();
                wakes.push(resolve);
                signal?.addEventListener("abort", () => resolve(), { once: true });
              })
            : systemClock.sleep(ms, signal),
      };
      const looked = async (): Promise<void> => {
        // Others look at their files as often.
        const woken = wakes.splice(0);
        for (const wake of woken) wake();
        await expect.poll(() => wakes.length, { interval: 5 }).toBe(woken.length);
      };
      await write([{ type: "AlwaysDeny", name: "none" }]);
      await startFile({ clock });
      expect((await as("conf")(pods)).status).toBe(403);
      await write([{ type: "AlwaysAllow", name: "all" }]);
      await looked();
      expect((await as("conf")(pods)).status).toBe(200);
      await write([{ type: "AlwaysDeny", name: "No Name" }]);
      await looked();
      await looked();
      expect((await as("conf")(pods)).status).toBe(200);
      const told = hub.log.filter(({ message }) => message.includes("authorization configuration"));
      expect(told.map(({ level }) => level)).toEqual(["info", "error"]);
      expect(told[1]?.["error"]).toContain("authorizers[0].name: Invalid value");
      expect(await metric("config_controller_automatic_reloads_total")).toEqual([
        expect.stringMatching(/status="success"\} 1$/),
        expect.stringMatching(/status="failure"\} 1$/),
      ]);
    });

    it("excludes modes, and names each wrong field", async () => {
      await start({});
      await write([{ type: "RBAC", name: "a" }]);
      await expect(startTestHub({ authorizationConfigFile: file() })).rejects.toThrow("exclude each other");
      await write([await webhook("a", { timeout: "1m", matchConditions: [{ expression: "request.nobody" }] })]);
      await expect(startTestHub({ authorizationModes: [], authorizationConfigFile: file() })).rejects.toThrow(
        /authorizers\[0\]\.webhook\.timeout: Invalid value.*authorizers\[0\]\.webhook\.matchConditions\[0\]\.expression/s,
      );
    });
  });
});
