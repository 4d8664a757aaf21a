import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { bootstrapKubeconfig } from "../../src/client/build-kubeconfig.ts";
import { startWebhook, type WebhookServer } from "../kits/webhook-server.ts";
import { openHttp2, sendHttp2 } from "../kits/wire.ts";
import { call, startAttackedHub, type AttackedHub } from "./attacked-hub.ts";

// A hub whose authorizers are attacked: the service that it asks, and nodes that want more than what is theirs.

let dir: string;
let service: WebhookServer;
let hub: AttackedHub;

async function authorizer(
  name: string,
  more: { readonly caPem?: string; readonly policy?: string } = {},
): Promise<object> {
  const kubeConfigFile = join(dir, `${name}.yaml`);
  const ca = { pem: more.caPem ?? Buffer.from(service.caBundle, "base64").toString() };
  await writeFile(kubeConfigFile, bootstrapKubeconfig({ server: `${service.url}/${name}`, ca, token: "t" }));
  return {
    type: "Webhook",
    name,
    webhook: {
      timeout: "300ms",
      // Nothing is kept, so that each case asks anew.
      cacheAuthorizedRequests: false,
      cacheUnauthorizedRequests: false,
      subjectAccessReviewVersion: "v1",
      matchConditionSubjectAccessReviewVersion: "v1",
      matchConditions: [{ expression: `request.user == '${name}'` }],
      failurePolicy: more.policy ?? "Deny",
      connectionInfo: { type: "KubeConfigFile", kubeConfigFile },
    },
  };
}

const ask = (user: string): Promise<{ readonly status: number; readonly text: string }> =>
  call(hub, hub.as(user), { path: "/api/v1/namespaces/default/configmaps" });

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-authorizers-"));
  service = await startWebhook();
  const other = await startWebhook();
  const authorizers = [
    await authorizer("deny"),
    await authorizer("open", { policy: "NoOpinion" }),
    await authorizer("stranger", { caPem: Buffer.from(other.caBundle, "base64").toString() }),
    { type: "Node", name: "node" },
    { type: "RBAC", name: "rbac" },
  ];
  await other.close();
  const file = join(dir, "authorization.yaml");
  const head = { apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthorizationConfiguration" };
  await writeFile(file, JSON.stringify({ ...head, authorizers }));
  hub = await startAttackedHub({ authorizationModes: [], authorizationConfigFile: file });
});

afterAll(async () => {
  await hub.close();
  await service.close();
  await rm(dir, { recursive: true, force: true });
});

const json = { "content-type": "application/json" };
const tricks: Readonly<Record<string, (response: ServerResponse) => void>> = {
  hangs: () => undefined,
  "sends a head and then nothing": (response) => void response.writeHead(200, json).write("{"),
  "never ends": (response) => {
    response.writeHead(200, json);
    // Node 26 calls back at once where a write is buffered: nothing else would run any more.
    const more = (): void => {
      if (!response.destroyed) response.write(" ".repeat(65_536), () => setImmediate(more));
    };
    more();
  },
  "closes the connection": (response) => void response.destroy(),
  "answers with two megabytes": (response) =>
    void response.end(JSON.stringify({ status: { allowed: true, reason: "x".repeat(2 << 20) } })),
  "answers with what is no JSON": (response) => void response.end("allowed: true"),
  "answers deep nonsense": (response) => void response.end("[".repeat(100_000)),
  "answers with a redirect": (response) => void response.writeHead(307, { location: "https://127.0.0.1/" }).end(),
  "answers 401": (response) => void response.writeHead(401, json).end('{"status":{"allowed":true}}'),
  "answers 204": (response) => void response.writeHead(204).end(),
  "answers with inherited fields": (response) => void response.end('{"__proto__":{"status":{"allowed":true}}}'),
  "answers with a status that inherits": (response) => void response.end('{"status":{"__proto__":{"allowed":true}}}'),
};

describe("a service that", () => {
  test.each(Object.keys(tricks))("%s lets nobody in, and holds up nobody else", async (trick) => {
    service.answer(() => ({ raw: (response) => tricks[trick]?.(response) }));
    const [refused, skipped, admin] = await Promise.all([
      ask("deny"),
      ask("open"),
      call(hub, hub.admin, { path: "/api/v1/namespaces" }),
    ]);
    expect([403, 500]).toContain(refused.status);
    expect([403, 500]).toContain(skipped.status);
    expect(refused.text).not.toContain("127.0.0.1:");
    expect(admin.status).toBe(200);
  });

  test("has a certificate of somebody else is not asked", async () => {
    const { length } = service.paths;
    expect((await ask("stranger")).status).toBe(500);
    expect(service.paths).toHaveLength(length);
  });

  test("hangs is asked once for many of the same question", async () => {
    service.answer(() => ({ raw: () => undefined }));
    const { length } = service.paths;
    // On one connection, so that they come at once.
    const session = await openHttp2(hub.target, hub.as("deny"));
    const path = "/api/v1/namespaces/default/configmaps";
    const replies = await Promise.all(Array.from({ length: 40 }, () => sendHttp2(session, { path })));
    session.destroy();
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([500]));
    expect(service.paths.length - length).toBeLessThan(20);
  });
});

describe("a node that", () => {
  beforeEach(() => service.answer(() => ({ raw: (response) => void response.end("{}") })));

  test.each([
    ["names itself with a slash", "system:node:a/b", "/api/v1/nodes/b"],
    ["names itself as nobody", "system:node:", "/api/v1/services"],
    ["names itself in capitals", "SYSTEM:NODE:a", "/api/v1/services"],
    ["asks for the secrets of all", "system:node:a", "/api/v1/secrets"],
    ["asks for one by a selector", "system:node:a", "/api/v1/secrets?fieldSelector=metadata.name%3Dx"],
    ["asks for all but one", "system:node:a", "/api/v1/pods?fieldSelector=spec.nodeName!%3Db"],
    ["selects itself by a label", "system:node:a", "/api/v1/pods?labelSelector=spec.nodeName%3Da"],
    ["selects itself in words that cannot be read", "system:node:a", "/api/v1/pods?fieldSelector=spec.nodeName%3Da,b"],
    ["gives two selectors", "system:node:a", "/api/v1/pods?fieldSelector=&fieldSelector=spec.nodeName%3Da"],
    ["asks for another node", "system:node:a", "/api/v1/nodes/b"],
  ])("%s reads nothing", async (_what, name, path) => {
    const { status } = await call(hub, hub.as(name, "system:nodes"), { path });
    expect(status).toBe(403);
  });
});
