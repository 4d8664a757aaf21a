import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { startJsonService, type JsonService, type ServiceRequest } from "../kits/json-service.ts";
import { startConnectProxy, type TestProxy } from "../kits/proxies.ts";

const issuerUrl = "https://issuer.example";
const keyPair = generateKeyPair("ES256", { extractable: true });

let dir: string;
/** All services of others; only the proxy leads to it under their names. */
let service: JsonService;
let proxy: TestProxy;
let hub: TestHub;
let admin: ApiClient;

const pathOf = (target: string): string => target.replace(/\?.*/, "");

async function answer({ path, body }: ServiceRequest): Promise<{ readonly body: unknown }> {
  const { apiVersion, kind, request } = (body ?? {}) as {
    readonly apiVersion?: string;
    readonly kind?: string;
    readonly request?: { readonly uid: string };
  };
  switch (pathOf(path)) {
    case "/.well-known/openid-configuration":
      return { body: { issuer: issuerUrl, jwks_uri: `${issuerUrl}/keys` } };
    case "/keys":
      return {
        body: { keys: [{ ...(await exportJWK((await keyPair).publicKey)), kid: "one", alg: "ES256", use: "sig" }] },
      };
    case "/tokens":
      return { body: { apiVersion, kind, status: { authenticated: true, user: { username: "olaf" } } } };
    case "/rights":
      return { body: { apiVersion, kind, status: { allowed: true } } };
    case "/admission":
      return { body: { apiVersion, kind, response: { uid: request?.uid, allowed: true } } };
    default:
      return { body: {} };
  }
}

async function kubeconfig(host: string, path: string): Promise<string> {
  const file = join(dir, host);
  const ca = Buffer.from(service.caPem).toString("base64");
  const cluster = { server: `https://${host}/${path}`, "certificate-authority-data": ca };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user: {} }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  };
  await writeFile(file, JSON.stringify(config));
  return file;
}

async function whois(token: string): Promise<unknown> {
  const client = apiClient(hub, { token });
  const reply = await client("/apis/authentication.k8s.io/v1/selfsubjectreviews", { method: "POST", body: {} });
  client.close();
  return reply.status === 201
    ? (reply.json()["status"] as { readonly userInfo: { readonly username: string } }).userInfo.username
    : reply.status;
}

async function configure(clientConfig: object): Promise<void> {
  await admin("/api/v1/namespaces", {
    method: "POST",
    body: { metadata: { name: "hooked", labels: { hooked: "yes" } } },
  });
  // What a controller makes there is there before the webhook is, which would be asked about it.
  const status = async (): Promise<number> =>
    (await admin("/api/v1/namespaces/hooked/configmaps/kube-root-ca.crt")).status;
  await expect.poll(status).toBe(200);
  const rule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] };
  const webhook = {
    name: "test.hooks.example",
    clientConfig: { ...clientConfig, caBundle: Buffer.from(service.caPem).toString("base64") },
    rules: [rule],
    namespaceSelector: { matchLabels: { hooked: "yes" } },
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
  };
  const body = { metadata: { name: "test" }, webhooks: [webhook] };
  const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  expect((await admin(path, { method: "POST", body })).status).toBe(201);
}

const createMap = async (): Promise<number> =>
  (await admin("/api/v1/namespaces/hooked/configmaps", { method: "POST", body: { metadata: { name: "a" } } })).status;

async function startHubOf(options: Parameters<typeof startTestHub>[0]): Promise<void> {
  hub = await startTestHub(options);
  admin = apiClient(hub);
}

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-proxy-"));
  service = await startJsonService(answer, [
    "issuer.example",
    "tokens.example",
    "rights.example",
    "audit.example",
    "hooks.example",
    "hook.tools.svc",
  ]);
  proxy = await startConnectProxy({ to: Number(new URL(service.url).port), wants: "hub:secret" });
  vi.stubEnv("HTTPS_PROXY", `http://hub:secret@127.0.0.1:${proxy.port}`);
  vi.stubEnv("NO_PROXY", "");
});

afterEach(async () => {
  vi.unstubAllEnvs();
  admin.close();
  await hub.close();
  await proxy.close();
  await service.close();
  await rm(dir, { recursive: true, force: true });
});

describe("a hub with HTTPS_PROXY in its environment goes through that proxy", () => {
  it("for the keys of an OpenID Connect issuer", async () => {
    const caFile = join(dir, "ca.pem");
    await writeFile(caFile, service.caPem);
    await startHubOf({ oidc: { issuerUrl, clientId: "fleet", caFile, signingAlgorithms: ["ES256"] } });
    const { privateKey } = await keyPair;
    const token = await new SignJWT({ iss: issuerUrl, aud: "fleet", sub: "ada" })
      .setProtectedHeader({ alg: "ES256", kid: "one" })
      .setExpirationTime("10m")
      .sign(privateKey);
    expect(await whois(token)).toBe(`${issuerUrl}#ada`);
    expect(new Set(proxy.asked)).toEqual(new Set(["hub:secret@issuer.example:443"]));
  });

  it("for a service that is asked about tokens", async () => {
    const configFile = await kubeconfig("tokens.example:6443", "tokens");
    await startHubOf({ tokenWebhook: { configFile, version: "v1", cacheMs: 0 } });
    expect(await whois("a-token-of-others")).toBe("olaf");
    expect(proxy.asked).toEqual(["hub:secret@tokens.example:6443"]);
  });

  it("for a service that is asked about rights", async () => {
    const configFile = await kubeconfig("rights.example", "rights");
    await startHubOf({
      users: { olaf: [] },
      authorizationModes: ["RBAC", "Webhook"],
      authorizationWebhook: { configFile, version: "v1", authorizedMs: 0, unauthorizedMs: 0 },
    });
    const olaf = apiClient(hub, { token: hub.token("olaf") });
    expect((await olaf("/api/v1/namespaces/default/secrets")).status).toBe(200);
    olaf.close();
    expect(proxy.asked).toEqual(["hub:secret@rights.example:443"]);
  });

  it("for the service that audit events are sent to", async () => {
    const auditWebhookConfigFile = await kubeconfig("audit.example", "events");
    await startHubOf({ auditWebhookConfigFile, auditWebhookBatchMaxWaitMs: 1 });
    await admin("/api/v1/namespaces/default/configmaps");
    await expect.poll(() => service.seen.map(({ path }) => path)).toContain("/events");
    expect(new Set(proxy.asked)).toEqual(new Set(["hub:secret@audit.example:443"]));
  });

  it("for an admission webhook that is named by URL, on one connection for many calls", async () => {
    await startHubOf({});
    await configure({ url: "https://hooks.example:8443/admission" });
    expect([await createMap(), await createMap()]).toEqual([201, 409]);
    expect(service.seen.map(({ path }) => pathOf(path))).toEqual(["/admission", "/admission"]);
    expect(proxy.asked).toEqual(["hub:secret@hooks.example:8443"]);
  });

  it("for an admission webhook that is named by Service, whose name the proxy resolves", async () => {
    await startHubOf({});
    await configure({ service: { namespace: "tools", name: "hook", path: "/admission" } });
    expect(await createMap()).toBe(201);
    expect(proxy.asked).toEqual(["hub:secret@hook.tools.svc:443"]);
  });

  it("and never for a server on a loopback address", async () => {
    await startHubOf({});
    await configure({ url: `${service.url}/admission` });
    expect(await createMap()).toBe(201);
    expect(proxy.asked).toEqual([]);
  });

  it("but not for what NO_PROXY lists", async () => {
    vi.stubEnv("NO_PROXY", "10.0.0.0/8,.tools.svc");
    await startHubOf({});
    await configure({ service: { namespace: "tools", name: "hook", path: "/admission" } });
    expect(await createMap()).toBe(500);
    expect(proxy.asked).toEqual([]);
  });
});

it("an admission webhook behind a proxy that refuses fails, and the proxy's password is in no answer", async () => {
  vi.stubEnv("HTTPS_PROXY", `http://hub:wrong-word@127.0.0.1:${proxy.port}`);
  await startHubOf({});
  await configure({ url: "https://hooks.example/admission" });
  const path = "/api/v1/namespaces/hooked/configmaps";
  const { status, text } = await admin(path, { method: "POST", body: { metadata: { name: "a" } } });
  expect(status).toBe(500);
  expect(text).toContain("refuses to connect to hooks.example:443");
  expect(text).not.toContain("wrong-word");
});
