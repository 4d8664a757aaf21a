import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { startWebhook, type WebhookServer } from "../kits/webhook-server.ts";

const registration = "/apis/admissionregistration.k8s.io/v1";

let hub: TestHub;
let api: ApiClient;
let webhook: WebhookServer;
let maps: string;
let count = 0;

beforeAll(async () => {
  hub = await startTestHub();
  api = apiClient(hub);
});

afterAll(async () => {
  api.close();
  await hub.close();
});

beforeEach(async () => {
  webhook = await startWebhook();
  count += 1;
  maps = `/api/v1/namespaces/hooks-${count}/configmaps`;
  await post("/api/v1/namespaces", { metadata: { name: `hooks-${count}`, labels: { hooked: "yes" } } });
});

afterEach(async () => {
  for (const plural of ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]) {
    await api(`${registration}/${plural}`, { method: "DELETE" });
  }
  await webhook.close();
});

const post = (path: string, body: object): Promise<Reply> => api(path, { method: "POST", body });
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

describe("a validating webhook", () => {
  it("refuses what it does not like, with its words and the code 400", async () => {
    await configure("Validating");
    webhook.answer(() => ({ allowed: false, response: { status: { message: "no" } } }));
    const reply = await post(maps, { metadata: { name: "a" }, data: { key: "value" } });
    expect(reply.status).toBe(400);
    expect(reply.json()).toMatchObject({
      kind: "Status",
      message: 'admission webhook "test.hooks.example" denied the request: no',
      code: 400,
    });
    expect((await api(`${maps}/a`)).status).toBe(404);
  });
});
