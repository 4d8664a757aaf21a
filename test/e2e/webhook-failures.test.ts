import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { bootstrapKubeconfig } from "../../src/client/build-kubeconfig.ts";
import type { Clock } from "../../src/apimachinery/clock.ts";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { testCa } from "../kits/authorizer.ts";
import { startTestHub, type TestHub, type TestHubOptions } from "../kits/hub.ts";
import { ownMemory } from "../kits/own-memory.ts";
import { skippingClock } from "../kits/skipping-clock.ts";

// What a hub makes of an authorization webhook that fails: nobody is let in by it, nobody waits for long, and it can be seen.

const seconds = 1000;
const time = skippingClock();
/** The time of all hubs here: what they wait for a service ends when the time is set on, and their shorter pauses are shorter. */
const clock: Clock = { now: time.now, sleep: (ms, signal) => time.sleep(ms < 10_000 ? ms / 20 : ms, signal) };

const json = { "content-type": "application/json" };
const word = "hunter2";
type Failure = (response: ServerResponse) => unknown;
const keepsSilent: Failure = () => undefined;
/** Half a minute without a word. */
const hangs: Failure = () => void setImmediate(() => time.skip(30 * seconds));
const allow: Failure = (response) => response.writeHead(200, json).end('{"status":{"allowed":true}}');
const failures: Readonly<Record<string, Failure>> = {
  hangs,
  "answers garbage": (response) => response.end(`<html>${word}</html>`),
  "answers with something else": (response) =>
    response.writeHead(200, json).end(JSON.stringify({ kind: word, status: { allowed: true } })),
  "answers 500": (response) => response.writeHead(500, json).end(`{"status":{"allowed":true},"x":"${word}"}`),
  "closes the connection": (response) => response.destroy(),
};
const said: Readonly<Record<string, RegExp>> = {
  hangs: /did not answer/,
  "answers garbage": /answered with something that is not JSON/,
  "answers with something else": /answered with something else than a SubjectAccessReview/,
  "answers 500": /answered with status 500/,
  "closes the connection": /closed the connection/,
};
const stranger = /certificate of a CA that is not trusted/;

const maps = "/api/v1/namespaces/default/configmaps";
let dir: string;
let service: Service;
const strangersCa = testCa().pem;

/** The webhook, on a real socket; how many questions are open is counted. */
interface Service {
  readonly url: string;
  readonly caPem: string;
  /** Who was asked about, in order. */
  readonly asked: string[];
  answer: Failure;
  underWay: number;
  most: number;
  readonly close: () => Promise<void>;
}

async function startService(): Promise<Service> {
  const ca = testCa();
  const { certPem, keyPem } = ca.issue("server auth");
  const server = createServer({ cert: certPem, key: keyPem }, (request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      const review = JSON.parse(Buffer.concat(chunks).toString()) as { readonly spec: { readonly user: string } };
      started.asked.push(review.spec.user);
      started.underWay += 1;
      started.most = Math.max(started.most, started.underWay);
      response.on("close", () => (started.underWay -= 1));
      return started.answer(response);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const started: Service = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caPem: ca.pem,
    asked: [],
    answer: hangs,
    underWay: 0,
    most: 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return started;
}

async function kubeconfig(caPem: string): Promise<string> {
  const file = join(await mkdtemp(join(dir, "hub-")), "webhook.yaml");
  await writeFile(file, bootstrapKubeconfig({ server: `${service.url}/authorize`, ca: { pem: caPem }, token: "t" }));
  return file;
}

/** A hub that has nothing but the webhook to go by, and whoever may ask it why. */
interface Asked {
  readonly hub: TestHub;
  readonly ann: ApiClient;
  readonly admin: ApiClient;
  readonly close: () => Promise<void>;
}

async function startAsked(options: TestHubOptions): Promise<Asked> {
  const hub = await startTestHub({ users: { ann: [] }, clock, ...options });
  const [ann, admin] = [apiClient(hub, { token: hub.token("ann") }), apiClient(hub)];
  const close = async (): Promise<void> => {
    ann.close();
    admin.close();
    await hub.close();
  };
  return { hub, ann, admin, close };
}

async function byFlags(caPem: string): Promise<Asked> {
  const configFile = await kubeconfig(caPem);
  return startAsked({
    authorizationModes: ["Webhook"],
    authorizationWebhook: { configFile, version: "v1", authorizedMs: 0, unauthorizedMs: 0 },
  });
}

async function byFile(caPem: string): Promise<Asked> {
  const kubeConfigFile = await kubeconfig(caPem);
  const file = `${kubeConfigFile}.authorization`;
  const webhook = {
    timeout: "30s",
    cacheAuthorizedRequests: false,
    cacheUnauthorizedRequests: false,
    subjectAccessReviewVersion: "v1",
    failurePolicy: "Deny",
    connectionInfo: { type: "KubeConfigFile", kubeConfigFile },
  };
  const head = { apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthorizationConfiguration" };
  const authorizers = [
    { type: "Webhook", name: "rules", webhook },
    { type: "AlwaysAllow", name: "others" },
  ];
  await writeFile(file, JSON.stringify({ ...head, authorizers }));
  return startAsked({ authorizationModes: [], authorizationConfigFile: file });
}

/** How often the webhook failed, by the hub's metrics. */
async function failed({ admin }: Asked): Promise<number> {
  const { text } = await admin("/metrics");
  const lines = [...text.matchAll(/^apiserver_authorization_webhook_evaluations_total\{([^}]*)\} (\d+)$/gm)];
  return lines.filter(([, labels = ""]) => !labels.includes("success")).reduce((sum, [, , n]) => sum + Number(n), 0);
}

/** What the chain says of it: the text of the members that failed. */
async function why({ admin }: Asked, user: string): Promise<string> {
  const spec = { user, resourceAttributes: { verb: "list", resource: "configmaps", namespace: "default" } };
  const body = { apiVersion: "access.pratique.dev/v1alpha1", kind: "AccessExplanation", metadata: {}, spec };
  const reply = await admin("/apis/access.pratique.dev/v1alpha1/accessexplanations", { method: "POST", body });
  const { allowed, authorizers = [] } = reply.json()["status"] as {
    readonly allowed: boolean;
    readonly authorizers?: readonly { readonly verdict: string; readonly error?: string; readonly note?: string }[];
  };
  return [`allowed: ${allowed}`, ...authorizers.map(({ verdict, error }) => `${verdict}: ${error ?? ""}`)].join("\n");
}

/** Sees to it that nobody is let in, and resolves to what the chain says of that. */
async function refusedTrace(asked: Asked): Promise<string> {
  const before = await failed(asked);
  const begun = clock.now();
  const [refused, admin] = await Promise.all([asked.ann(maps), asked.admin(maps)]);
  expect(admin.status).toBe(200);
  expect([403, 500]).toContain(refused.status);
  expect(refused.text).not.toContain(word);
  // One time-out of at most 30 seconds, or five tries with their pauses, with room for a slow machine.
  expect(clock.now() - begun).toBeLessThan(120 * seconds);
  expect(await failed(asked)).toBeGreaterThan(before);
  const trace = await why(asked, "ann");
  expect(trace).toMatch(/^allowed: false\n/);
  expect(trace).not.toContain(word);
  return trace;
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-failures-"));
  service = await startService();
});

afterAll(async () => {
  await service.close();
  await rm(dir, { recursive: true, force: true });
});

describe.each([
  ["named by flags", byFlags],
  ["of an AuthorizationConfiguration", byFile],
])("a webhook %s", (_what, start) => {
  let asked: Asked;

  beforeAll(async () => {
    asked = await start(service.caPem);
  });

  afterAll(() => asked.close());

  it.each(Object.keys(failures))(
    "that %s lets nobody in, in bounded time, which metrics and a trace show",
    async (name) => {
      service.answer = failures[name] as Failure;
      expect(await refusedTrace(asked)).toMatch(said[name] as RegExp);
    },
  );

  it("with a certificate of somebody else lets nobody in, and is told nothing", async () => {
    service.answer = allow;
    const { length } = service.asked;
    const fooled = await start(strangersCa);
    expect(await refusedTrace(fooled)).toMatch(stranger);
    expect(service.asked).toHaveLength(length);
    await fooled.close();
  });
});

describe("a webhook that hangs", () => {
  it("is not asked about the controllers of the hub, even where RBAC is off", async () => {
    const { length } = service.asked;
    service.answer = hangs;
    const { admin, close } = await byFlags(service.caPem);
    const rules = { metadata: { name: "more", labels: { "rbac.authorization.k8s.io/aggregate-to-view": "true" } } };
    const more = [{ apiGroups: ["more.example"], resources: ["things"], verbs: ["get"] }];
    const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    expect((await admin(roles, { method: "POST", body: { ...rules, rules: more } })).status).toBe(201);
    await vi.waitFor(async () => expect((await admin(`${roles}/view`)).text).toContain("more.example"), 45_000);
    expect(service.asked.slice(length)).toEqual([]);
    await close();
  });

  it("is not asked without bound, costs no memory, and all is well when it answers", async () => {
    const asked = await byFlags(service.caPem);
    service.answer = keepsSilent;
    service.most = 0;
    const passing = setInterval(() => service.underWay > 1 && time.skip(30 * seconds), 500);
    const memory = ownMemory();
    // To take on another name is authorized before a request waits for its turn.
    const requests = Array.from({ length: 600 }, (_, index): Promise<Reply> =>
      asked.ann(maps, { headers: { "impersonate-user": `u${index}` } }),
    );
    const replies = await Promise.all(requests).finally(() => clearInterval(passing));
    const statuses = new Set(replies.map(({ status }) => status));
    for (const status of statuses) expect([403, 429, 500]).toContain(status);
    expect(service.most).toBeGreaterThan(1);
    expect(service.most).toBeLessThanOrEqual(512);
    expect(ownMemory() - memory).toBeLessThan(512 * 1024 * 1024);
    service.answer = allow;
    expect((await asked.ann(maps)).status).toBe(200);
    await vi.waitFor(() => expect(service.underWay).toBe(0), 45_000);
    await asked.close();
    // Five hundred handshakes, on both sides, in this one process.
  }, 120_000);
});
