import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bootstrapKubeconfig } from "../../src/client/build-kubeconfig.ts";
import { apiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { startJsonService, type JsonService } from "../kits/json-service.ts";

/** More than the second from which on a stall is logged. */
const heldMs = 1_300;
const path = "/api/v1/namespaces/default/secrets";

let dir: string;
let webhook: JsonService;
let hub: TestHub;

/** Authorizes all, and holds the event loop that it shares with the hub, while the request that it is asked about is under way. */
function hold(): { readonly body: unknown } {
  const end = performance.now() + heldMs;
  while (performance.now() < end);
  return { body: { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", status: { allowed: true } } };
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-stalls-"));
  webhook = await startJsonService(hold);
  const configFile = join(dir, "webhook.kubeconfig");
  const target = { server: webhook.url, ca: { pem: webhook.caPem }, token: "t" };
  await writeFile(configFile, bootstrapKubeconfig(target), { mode: 0o600 });
  hub = await startTestHub({
    users: { olaf: [] },
    authorizationModes: ["RBAC", "Webhook"],
    authorizationWebhook: { configFile, version: "v1", authorizedMs: 0, unauthorizedMs: 0 },
  });
});

afterAll(async () => {
  await hub.close();
  await webhook.close();
  await rm(dir, { recursive: true, force: true });
});

describe("an event loop that is held for more than a second", () => {
  it("is logged with the request that was under way, who made it and its audit id, and is a metric", async () => {
    const olaf = apiClient(hub, { token: hub.token("olaf") });
    const admin = apiClient(hub);
    expect((await olaf(path, { headers: { "audit-id": "held-1" } })).status).toBe(200);
    olaf.close();
    const requests = [`list ${path} by "olaf" (audit id held-1)`];
    const line = expect.objectContaining({ level: "warn", reason: "EventLoopStalled", requests });
    await expect.poll(() => hub.log).toContainEqual(line);
    const { text } = await admin("/metrics");
    admin.close();
    const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
    expect(value("pratique_event_loop_longest_stall_seconds")).toBeGreaterThan(heldMs / 1000 - 0.1);
    expect(value("pratique_event_loop_stalls_logged_total")).toBeGreaterThan(0);
  });
});
