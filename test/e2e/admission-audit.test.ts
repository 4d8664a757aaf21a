import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { startWebhook, type WebhookServer } from "../kits/webhook-server.ts";

const registration = "/apis/admissionregistration.k8s.io/v1";
const maps = "/api/v1/namespaces/default/configmaps";
const rule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] };

let folder: string;
let hub: TestHub;
let api: ApiClient;
let webhook: WebhookServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pratique-admission-audit-"));
  hub = await startTestHub({ auditLogPath: join(folder, "audit.log") });
  api = apiClient(hub);
  webhook = await startWebhook();
});

afterAll(async () => {
  api.close();
  await hub.close();
  await webhook.close();
  await rm(folder, { recursive: true, force: true });
});

const post = (path: string, body: object): Promise<Reply> => api(path, { method: "POST", body });

/** The annotations of the event of a request; a line is written just after its reply. */
async function annotationsOf(reply: Reply): Promise<Readonly<Record<string, string>>> {
  const id = String(reply.headers["audit-id"]);
  for (let attempt = 0; attempt < 5000; attempt += 1) {
    const lines = (await readFile(join(folder, "audit.log"), "utf8")).split("\n").slice(0, -1);
    const events = lines.map((line) => JSON.parse(line) as { readonly auditID: string; readonly annotations: object });
    const event = events.find(({ auditID }) => auditID === id);
    if (event !== undefined) return event.annotations as Readonly<Record<string, string>>;
  }
  throw new Error(`no audit event ${id}`);
}

it("the audit event of a write tells what webhooks and policies had to say, and no values of what was written", async () => {
  const hook = {
    name: "audit.hooks.example",
    clientConfig: { url: webhook.url, caBundle: webhook.caBundle },
    rules: [rule],
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
  };
  await post(`${registration}/mutatingwebhookconfigurations`, { metadata: { name: "m" }, webhooks: [hook] });
  await post(`${registration}/validatingadmissionpolicies`, {
    metadata: { name: "rules" },
    spec: {
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: "true" }, { expression: "false", message: "not so" }],
      auditAnnotations: [
        { key: "size", valueExpression: "'has ' + string(object.data.size())" },
        { key: "none", valueExpression: "null" },
      ],
    },
  });
  await post(`${registration}/validatingadmissionpolicybindings`, {
    metadata: { name: "bound" },
    spec: { policyName: "rules", validationActions: ["Audit"] },
  });
  webhook.answer(() => ({
    patch: [{ op: "add", path: "/data", value: { a: "hunter2", b: "hunter2" } }],
    response: { auditAnnotations: { note: "seen" } },
  }));
  const reply = await post(maps, { metadata: { name: "a" } });
  expect(reply.status).toBe(201);
  const annotations = await annotationsOf(reply);
  expect(annotations).toMatchObject({
    "audit.hooks.example/note": "seen",
    "mutation.webhook.admission.k8s.io/round_0_index_0": JSON.stringify({
      configuration: "m",
      webhook: "audit.hooks.example",
      mutated: true,
    }),
    "rules/size": "has 2",
    "validation.policy.admission.k8s.io/validation_failure": JSON.stringify([
      { message: "not so", policy: "rules", binding: "bound", expressionIndex: 1, validationActions: ["Audit"] },
    ]),
  });
  expect(annotations).not.toHaveProperty("rules/none");
  expect(JSON.stringify(annotations)).not.toContain("hunter2");
});
