import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { apiClient } from "../kits/api-client.ts";
import { hubForFile } from "../kits/hub-for-file.ts";
import { startTestHub } from "../kits/hub.ts";
import { startWebhook, type ReviewReply, type ReviewRequest, type WebhookServer } from "../kits/webhook-server.ts";

const registration = "/apis/admissionregistration.k8s.io/v1";
const maps = "/api/v1/namespaces/default/configmaps";

const { hub, api, post } = await hubForFile();
let webhook: WebhookServer;

beforeEach(async () => {
  webhook = await startWebhook();
});
afterEach(async () => {
  for (const stage of ["mutating", "validating"]) {
    await api(`${registration}/${stage}webhookconfigurations`, { method: "DELETE" });
  }
  await webhook.close();
  await unharmed();
});

/** Whatever was answered, the hub goes on, has kept nothing, and has found no fault of its own. */
async function unharmed(): Promise<void> {
  const left = (await api(maps)).items().filter(({ metadata }) => metadata.name !== "kube-root-ca.crt");
  expect(left).toEqual([]);
  expect(hub.log.filter(({ level }) => level === "error")).toEqual([]);
}

async function configure(stage: "mutating" | "validating", fields: object = {}): Promise<void> {
  const reply = await post(`${registration}/${stage}webhookconfigurations`, {
    metadata: { name: "hostile" },
    webhooks: [
      {
        name: "hostile.hooks.example",
        clientConfig: { url: webhook.url, caBundle: webhook.caBundle },
        rules: [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] }],
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "default" } },
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        ...fields,
      },
    ],
  });
  expect(reply.status).toBe(201);
}

/** Asks for a ConfigMap under the eyes of a webhook that answers so, and says what came of it. */
async function outcome(
  stage: "mutating" | "validating",
  answer: ReviewReply | ((request: ReviewRequest) => ReviewReply),
  fields: object = {},
): Promise<string> {
  webhook.answer(typeof answer === "function" ? answer : () => answer);
  await configure(stage, fields);
  const reply = await post(maps, { metadata: { name: "victim" }, data: { secret: "hunter2" } });
  return `${reply.status} ${String(reply.json()["message"])}`;
}

const failed = 'Internal error occurred: failed calling webhook "hostile.hooks.example": ';

describe("a webhook", () => {
  it("that never answers costs its timeout and no more", async () => {
    const text = await outcome("validating", { raw: () => undefined }, { timeoutSeconds: 1 });
    expect(text).toBe(
      `500 ${failed}failed to call webhook: Post "${webhook.url}/?timeout=1s": context deadline exceeded`,
    );
  });

  it("that answers a byte at a time costs its timeout and no more", async () => {
    const drips: ReviewReply = {
      raw: (response) => {
        response.writeHead(200, { "content-type": "application/json" });
        const drip = setInterval(() => response.write(" "), 20);
        response.on("close", () => clearInterval(drip));
      },
    };
    const text = await outcome("validating", drips, { timeoutSeconds: 1 });
    expect(text).toContain("context deadline exceeded");
  });

  it("that answers without end is cut off", async () => {
    const chunk = Buffer.alloc(1 << 20, " ");
    const text = await outcome("validating", {
      raw: (response) => {
        response.writeHead(200, { "content-type": "application/json" });
        const more = (): void => {
          while (!response.destroyed && response.write(chunk));
          if (!response.destroyed) response.once("drain", more);
        };
        more();
      },
    });
    expect(text).toMatch(/the answer is longer than \d+ bytes|context deadline exceeded/);
  });

  it("that redirects is not followed, wherever it points", async () => {
    const text = await outcome("validating", {
      raw: (response) => response.writeHead(307, { location: `${hub.url}/api/v1/secrets` }).end(),
    });
    expect(text).toBe(
      `500 ${failed}failed to call webhook: the webhook answered with a redirect (307), which is not followed`,
    );
  });

  it("that hangs up is an error, each time anew", async () => {
    const reply = { raw: (response: { destroy(): unknown }) => void response.destroy() };
    expect(await outcome("validating", reply)).toContain("failed to call webhook: Post");
  });

  it.each([
    ["no JSON", "<html>hunter3</html>", "failed to call webhook: the answer is not JSON"],
    ["null", "null", "received invalid webhook response: webhook response was absent"],
    ["a list", "[]", "received invalid webhook response: webhook response was absent"],
    ["nothing", "", "failed to call webhook: the answer is not JSON"],
    [
      "a prototype",
      '{"__proto__":{"response":{"allowed":true}}}',
      "received invalid webhook response: webhook response was absent",
    ],
    ["a very deep answer", "[".repeat(100_000), "failed to call webhook: the answer is not JSON"],
  ])("that answers %s has not allowed anything", async (_what, body, why) => {
    const text = await outcome("validating", {
      raw: (response) => response.writeHead(200, { "content-type": "application/json" }).end(body),
    });
    expect(text).toBe(`500 ${failed}${why}`);
  });

  it.each<[string, Readonly<Record<string, unknown>>]>([
    ["no uid", { uid: undefined }],
    ["another uid", { uid: "00000000-0000-4000-8000-000000000000" }],
    ["a uid that is no text", { uid: ["x"] }],
    ["an allowed that is a text", { allowed: "true" }],
    ["an allowed that is a number", { allowed: 1 }],
    ["a patch, though it only validates", { patchType: "JSONPatch", patch: "W10=" }],
  ])("that answers with %s has not allowed anything", async (_what, response) => {
    expect(await outcome("validating", { response })).toMatch(/^500 .*received invalid webhook response: /);
  });

  it("that says nothing of allowed has refused", async () => {
    expect(await outcome("validating", { response: { allowed: undefined } })).toContain("denied the request");
  });

  it("of another CA than the configured one is not told anything", async () => {
    const other = await startWebhook();
    await configure("validating", { clientConfig: { url: webhook.url, caBundle: other.caBundle } });
    const reply = await post(maps, { metadata: { name: "victim" }, data: { secret: "hunter2" } });
    await other.close();
    expect(reply.json()["message"]).toContain("tls: failed to verify certificate: x509: certificate signed by unknown");
    expect(webhook.asked).toEqual([]);
  });

  it("with a bundle that holds no certificate is trusted by nobody", async () => {
    const nonsense = Buffer.from("not a certificate").toString("base64");
    await configure("validating", { clientConfig: { url: webhook.url, caBundle: nonsense } });
    const reply = await post(maps, { metadata: { name: "victim" } });
    expect(reply.json()["message"]).toContain("unable to load root certificates");
    expect(webhook.asked).toEqual([]);
  });

  it("with a thousand warnings fills no more than the headers may hold", async () => {
    await configure("validating");
    const warnings = Array.from({ length: 1000 }, (_, index) => `warning ${index}\r\nset-cookie: x=${"y".repeat(100)}`);
    webhook.answer(() => ({ allowed: false, response: { warnings } }));
    const reply = await post(maps, { metadata: { name: "victim" } });
    const header = String(reply.headers["warning"]);
    expect(reply.headers["set-cookie"]).toBeUndefined();
    expect(header.length).toBeGreaterThan(100);
    expect(header.length).toBeLessThan(8192);
  });

  it("with a refusal of megabytes cannot make the hub repeat it", async () => {
    const text = await outcome("validating", {
      allowed: false,
      response: {
        status: {
          message: "x".repeat(1 << 20),
          reason: "y".repeat(1 << 20),
          details: { causes: Array.from({ length: 10_000 }, () => ({ message: "z".repeat(100) })), uid: 7, group: {} },
        },
      },
    });
    expect(text.length).toBeLessThan(20_000);
  });
});

describe("a patch", () => {
  const patched = (...patch: readonly object[]): Promise<string> => outcome("mutating", { patch });

  it.each<[string, object, RegExp]>([
    ["reaches for the prototype", { op: "add", path: "/__proto__/polluted", value: 1 }, /^500 .*__proto__/],
    [
      "carries the prototype",
      { op: "add", path: "/data", value: JSON.parse('{"__proto__":{"x":"y"}}') as object },
      /^500 .*__proto__/,
    ],
    [
      "makes another kind of it",
      { op: "replace", path: "/kind", value: "Secret" },
      /^500 .*makes no object of kind ConfigMap/,
    ],
    [
      "makes another version of it",
      { op: "replace", path: "/apiVersion", value: "v2" },
      /^500 .*makes no object of kind ConfigMap/,
    ],
    ["makes no object of it", { op: "replace", path: "", value: "gone" }, /^500 .*makes no object of kind ConfigMap/],
    [
      "moves it to another namespace",
      { op: "replace", path: "/metadata/namespace", value: "kube-system" },
      /^400 the namespace of the provided object/,
    ],
    [
      "names it with a slash",
      { op: "replace", path: "/metadata/name", value: "../secrets/x" },
      /^422 .*metadata\.name: Invalid value/,
    ],
    ["gives it a field of a wrong type", { op: "add", path: "/data", value: ["x"] }, /^500 .*cannot unmarshal array/],
    ["has an operation that nobody knows", { op: "explode", path: "/data" }, /^500 .*Unexpected kind/],
    [
      "tests for what is not so",
      { op: "test", path: "/data/secret", value: "guess" },
      /^500 .*testing value "\/data\/secret" failed/,
    ],
  ])("that %s is refused", async (_what, operation, message) => {
    expect(await patched(operation)).toMatch(message);
  });

  it("of ten thousand operations and more is refused", async () => {
    const operation = { op: "add", path: "/data/k", value: "v" };
    const text = await patched(...Array.from({ length: 10_001 }, () => operation));
    expect(text).toMatch(/^500 .*maximum operations/);
  });

  it("that is not base64, or no patch, is refused", async () => {
    for (const patch of ["%%%", "bnVsbA==", "e30="]) {
      const text = await outcome("mutating", { response: { patchType: "JSONPatch", patch } });
      expect(text).toBe(`500 ${failed}received undecodable patch in webhook response`);
      await api(`${registration}/mutatingwebhookconfigurations`, { method: "DELETE" });
    }
  });

  it("cannot say what only the server says", async () => {
    webhook.answer(({ operation }) => ({
      patch:
        operation === "CREATE"
          ? [
              { op: "add", path: "/metadata/uid", value: "mine" },
              { op: "add", path: "/metadata/creationTimestamp", value: "2001-01-01T00:00:00Z" },
              { op: "add", path: "/metadata/deletionTimestamp", value: "2001-01-01T00:00:00Z" },
              { op: "add", path: "/metadata/resourceVersion", value: "7" },
            ]
          : [],
    }));
    await configure("mutating");
    const reply = await post(`${maps}?dryRun=All`, { metadata: { name: "victim" } });
    const { metadata } = reply.object();
    expect(metadata.uid).not.toBe("mine");
    expect(metadata.creationTimestamp).not.toMatch(/^2001/);
    expect(metadata).not.toHaveProperty("deletionTimestamp");
  });

  it("of an update cannot make another object of it", async () => {
    await post(maps, { metadata: { name: "victim" } });
    for (const [field, value] of Object.entries({
      name: "other",
      uid: "mine",
      creationTimestamp: "2001-01-01T00:00:00Z",
    })) {
      webhook.answer(() => ({ patch: [{ op: "replace", path: `/metadata/${field}`, value }] }));
      await configure("mutating");
      const reply = await api(`${maps}/victim`, {
        method: "PATCH",
        type: "application/merge-patch+json",
        body: { data: { a: "b" } },
      });
      expect(reply.json()["message"]).toContain(`metadata.${field}: Invalid value: `);
      await api(`${registration}/mutatingwebhookconfigurations`, { method: "DELETE" });
    }
    await api(`${maps}/victim`, { method: "DELETE" });
  });
});

describe("expressions", () => {
  it("of one policy or configuration are bounded, as compiling them holds up everybody", async () => {
    const rules = { resourceRules: [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] }] };
    const validations = Array.from({ length: 1001 }, () => ({ expression: "object.a.b == 'x' && has(object.c)" }));
    const policy = await post(`${registration}/validatingadmissionpolicies`, {
      metadata: { name: "many" },
      spec: { matchConstraints: rules, validations },
    });
    expect(policy.json()["message"]).toContain("spec.validations: Too many: 1001: must have at most 1000 items");
    const matchConditions = Array.from({ length: 60 }, (_, index) => ({ name: `c${index}`, expression: "true" }));
    const webhooks = Array.from({ length: 20 }, (_, index) => ({
      name: `w${index}.hooks.example`,
      clientConfig: { url: "https://h" },
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
      matchConditions,
    }));
    const body = { metadata: { name: "many" }, webhooks };
    const configuration = await post(`${registration}/validatingwebhookconfigurations`, body);
    expect(configuration.json()["message"]).toContain("webhooks: Too many: 1220: must have at most 1000 items");
  });

  it("that run away cost a moment and refuse", async () => {
    const everything = { operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] };
    const list = "[1,2,3,4,5,6,7,8,9,10]";
    const loops = "abcdefgh".split("").reduce((body, name) => `${list}.all(${name}, ${body})`, "true");
    await post(`${registration}/validatingadmissionpolicies`, {
      metadata: { name: "loops" },
      spec: { matchConstraints: { resourceRules: [everything] }, validations: [{ expression: loops }] },
    });
    await post(`${registration}/validatingadmissionpolicybindings`, {
      metadata: { name: "loops" },
      spec: { policyName: "loops", validationActions: ["Deny"] },
    });
    const reply = await post(maps, { metadata: { name: "victim" } });
    await api(`${registration}/validatingadmissionpolicybindings/loops`, { method: "DELETE" });
    await api(`${registration}/validatingadmissionpolicies/loops`, { method: "DELETE" });
    expect(reply.json()["message"]).toContain("actual cost limit exceeded");
  });
});

describe("somebody who is locked out", () => {
  it("can always take the configuration away, and the hub starts with it in force", async () => {
    await configure("validating", { namespaceSelector: {} });
    await configure("mutating", { namespaceSelector: {} });
    await webhook.close();
    expect((await post(maps, { metadata: { name: "victim" } })).status).toBe(500);
    const all = { paramKind: { apiVersion: "v1", kind: "Missing" }, validations: [{ expression: "false" }] };
    const everything = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] };
    await post(`${registration}/validatingadmissionpolicies`, {
      metadata: { name: "never" },
      spec: { ...all, matchConstraints: { resourceRules: [everything] } },
    });
    await post(`${registration}/validatingadmissionpolicybindings`, {
      metadata: { name: "never" },
      spec: { policyName: "never", validationActions: ["Deny"] },
    });
    for (const plural of [
      "validatingwebhookconfigurations/hostile",
      "mutatingwebhookconfigurations/hostile",
      "validatingadmissionpolicybindings/never",
      "validatingadmissionpolicies/never",
    ]) {
      expect((await api(`${registration}/${plural}`, { method: "DELETE" })).status).toBe(200);
    }
    expect((await post(`${maps}?dryRun=All`, { metadata: { name: "victim" } })).status).toBe(201);
  });

  it("finds a hub that starts again with webhooks that are down", async () => {
    const first = await startTestHub();
    const admin = apiClient(first);
    const view = "/apis/rbac.authorization.k8s.io/v1/clusterroles/view";
    await admin(view, { method: "DELETE" });
    for (const stage of ["mutating", "validating"]) {
      const made = await admin(`${registration}/${stage}webhookconfigurations`, {
        method: "POST",
        body: {
          metadata: { name: "down" },
          webhooks: [
            {
              name: "down.hooks.example",
              clientConfig: { url: "https://127.0.0.1:1" },
              rules: [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] }],
              sideEffects: "None",
              admissionReviewVersions: ["v1"],
            },
          ],
        },
      });
      expect(made.status).toBe(201);
    }
    admin.close();
    await first.close("keep");
    // The hub puts back what it began with, which it could not while those webhooks were asked.
    const again = await startTestHub({ dir: first.dir });
    const reader = apiClient(again);
    expect((await reader(view)).status).toBe(200);
    reader.close();
    await again.close();
  });
});
