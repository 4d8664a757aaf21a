import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT, type JWK } from "jose";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/host/system-clock.ts";
import { apiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub, type TestHubOptions } from "../kits/hub.ts";
import { startJsonService, type JsonService } from "../kits/json-service.ts";

type Claims = Readonly<Record<string, unknown>>;
type PrivateKey = Awaited<ReturnType<typeof generateKeyPair>>["privateKey"];

let issuer: JsonService;
let dir: string;
let hub: TestHub | undefined;
let jwks: { keys: JWK[] };
const keys = new Map<string, PrivateKey>();

async function addKey(kid: string, alg = "ES256"): Promise<void> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  keys.set(kid, privateKey);
  jwks.keys.push({ ...(await exportJWK(publicKey)), kid, alg, use: "sig" });
}

async function token(claims: Claims, kid = "one", expires: string | number = "10m"): Promise<string> {
  const key = keys.get(kid);
  if (key === undefined) throw new TypeError(`no key ${kid}`);
  return new SignJWT({ iss: issuer.url, aud: "fleet", sub: "ada", ...claims })
    .setProtectedHeader({ alg: "ES256", kid })
    .setExpirationTime(expires)
    .sign(key);
}

async function start(options: TestHubOptions): Promise<TestHub> {
  hub = await startTestHub(options);
  return hub;
}

async function whois(credential: string): Promise<unknown> {
  if (hub === undefined) throw new TypeError("no hub");
  const client = apiClient(hub, { token: credential });
  const reply = await client("/apis/authentication.k8s.io/v1/selfsubjectreviews", { method: "POST", body: {} });
  client.close();
  return reply.status === 201 ? (reply.json()["status"] as { readonly userInfo: unknown }).userInfo : reply.status;
}

async function configFile(jwt: object, more: object = {}): Promise<string> {
  const file = join(dir, "authentication.yaml");
  const issuerPart = { url: issuer.url, audiences: ["fleet"], certificateAuthority: issuer.caPem };
  const config = {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthenticationConfiguration",
    jwt: [{ issuer: issuerPart, ...jwt }],
    ...more,
  };
  await writeFile(file, JSON.stringify(config));
  return file;
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-oidc-"));
  jwks = { keys: [] };
  issuer = await startJsonService(({ path }) =>
    path === "/keys"
      ? { body: jwks }
      : { body: { issuer: issuer.url, jwks_uri: `${issuer.url}/keys`, authorization_endpoint: `${issuer.url}/a` } },
  );
  await addKey("one");
  await writeFile(join(dir, "issuer-ca.pem"), issuer.caPem);
});

afterEach(async () => {
  await hub?.close();
  hub = undefined;
});

afterAll(async () => {
  await issuer.close();
  await rm(dir, { recursive: true, force: true });
});

describe("tokens of an OpenID Connect issuer", () => {
  const oidc = (): NonNullable<TestHubOptions["oidc"]> => ({
    issuerUrl: issuer.url,
    clientId: "fleet",
    caFile: join(dir, "issuer-ca.pem"),
    groupsClaim: "groups",
    groupsPrefix: "oidc:",
    signingAlgorithms: ["ES256"],
  });

  it("become a user with prefixes, so that nobody outside is one of ours", async () => {
    await start({ oidc: oidc() });
    expect(await whois(await token({ groups: ["system:masters", "ops"] }))).toEqual({
      username: `${issuer.url}#ada`,
      groups: ["oidc:system:masters", "oidc:ops", "system:authenticated"],
    });
  });

  it("are 401 when expired, meant for others, of another key, unsigned or of a shared secret", async () => {
    await start({ oidc: oidc() });
    const good = await token({});
    const [head = "", body = "", signature = ""] = good.split(".");
    const none = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${body}.`;
    const shared = await new SignJWT({ iss: issuer.url, aud: "fleet", sub: "ada" })
      .setProtectedHeader({ alg: "HS256", kid: "one" })
      .setExpirationTime("10m")
      .sign(Buffer.from(JSON.stringify(jwks.keys[0])));
    const other = Buffer.from(JSON.stringify({ iss: issuer.url, aud: "fleet", sub: "eve", exp: 4e9 })).toString(
      "base64url",
    );
    const bad = [
      await token({}, "one", Math.floor(Date.now() / 1000) - 1),
      await token({ aud: "others" }),
      await token({ nbf: Math.floor(Date.now() / 1000) + 3600 }),
      await token({ sub: "" }),
      `${head}.${other}.${signature}`,
      none,
      `${none}${signature}`,
      shared,
    ];
    expect(await Promise.all(bad.map(whois))).toEqual(bad.map(() => 401));
    expect(await whois(good)).toMatchObject({ username: `${issuer.url}#ada` });
  });

  it("of a key that the issuer has added since are believed, and made-up key names do not drive the issuer", async () => {
    let now = Date.now();
    await start({ oidc: oidc(), clock: { ...systemClock, now: () => now } });
    expect(await whois(await token({}))).toMatchObject({ username: `${issuer.url}#ada` });
    await addKey("two");
    const before = issuer.seen.length;
    expect(await whois(await token({}, "two"))).toBe(401);
    expect(issuer.seen.length).toBe(before);
    now += 11_000;
    expect(await whois(await token({}, "two"))).toMatchObject({ username: `${issuer.url}#ada` });
    const after = issuer.seen.length;
    const key = keys.get("one");
    if (key === undefined) throw new TypeError("no key");
    for (const kid of ["x", "y", "z"]) {
      const forged = new SignJWT({ iss: issuer.url, aud: "fleet", sub: "ada" }).setProtectedHeader({
        alg: "ES256",
        kid,
      });
      expect(await whois(await forged.setExpirationTime("10m").sign(key))).toBe(401);
    }
    expect(issuer.seen.length).toBe(after);
  });

  it("are refused while the issuer is down, and nobody else is", async () => {
    await start({ oidc: { ...oidc(), issuerUrl: "https://127.0.0.1:1" }, users: { root: ["system:masters"] } });
    const key = keys.get("one");
    if (key === undefined) throw new TypeError("no key");
    const lost = await new SignJWT({ iss: "https://127.0.0.1:1", aud: "fleet", sub: "ada" })
      .setProtectedHeader({ alg: "ES256", kid: "one" })
      .setExpirationTime("10m")
      .sign(key);
    expect(await whois(lost)).toBe(401);
    expect(await whois(hub?.token("root") ?? "")).toMatchObject({ username: "root" });
  });
});

describe("an AuthenticationConfiguration", () => {
  const mapped = {
    claimValidationRules: [
      { expression: "claims.email_verified == true", message: "the address must be proven" },
      { claim: "tenant", requiredValue: "north" },
    ],
    claimMappings: {
      username: { expression: "'fleet:' + claims.email" },
      groups: { expression: "claims.roles.map(r, 'fleet:' + r)" },
      uid: { claim: "sub" },
      extra: [{ key: "fleet.example/level", valueExpression: "string(claims.level)" }],
    },
    userValidationRules: [{ expression: "!user.username.startsWith('system:')", message: "no system users" }],
  };
  const claims = { email: "ada@example.org", email_verified: true, tenant: "north", roles: ["ops"], level: 3 };

  it("maps claims by expressions", async () => {
    await start({ authenticationConfigFile: await configFile(mapped) });
    expect(await whois(await token(claims))).toEqual({
      username: "fleet:ada@example.org",
      uid: "ada",
      groups: ["fleet:ops", "system:authenticated"],
      extra: { "fleet.example/level": ["3"] },
    });
    expect(await whois(await token({ ...claims, email_verified: false }))).toBe(401);
    expect(await whois(await token({ ...claims, tenant: "south" }))).toBe(401);
    expect(await whois(await token({ ...claims, roles: undefined }))).toBe(401);
  });

  it("may allow requests without credentials on named paths alone", async () => {
    const anonymous = { enabled: true, conditions: [{ path: "/livez" }] };
    const { url } = await start({ authenticationConfigFile: await configFile(mapped, { anonymous }) });
    expect(url).toContain("https://");
    if (hub === undefined) throw new TypeError("no hub");
    const nobody = apiClient(hub, "anonymous");
    expect((await nobody("/livez")).status).toBe(200);
    expect((await nobody("/readyz")).status).toBe(401);
    expect((await nobody("/livez/ping")).status).toBe(401);
    nobody.close();
  });

  it.each([
    ["an unknown field", { claimMapping: {} }, "claimMapping"],
    [
      "a rule that is no expression",
      { ...mapped, claimValidationRules: [{ expression: "claims." }] },
      "compilation failed",
    ],
    [
      "an address that nobody has proven as a name",
      { claimMappings: { username: { expression: "claims.email" } } },
      "claims.email_verified must be used",
    ],
    ["a claim without a word on its prefix", { claimMappings: { username: { claim: "sub" } } }, "prefix is required"],
    [
      "a key of extra in the domain of Kubernetes",
      { claimMappings: { ...mapped.claimMappings, extra: [{ key: "a.k8s.io/b", valueExpression: "'x'" }] } },
      "reserved",
    ],
  ])("with %s stops the start, and says where", async (_what, jwt, words) => {
    const file = await configFile(jwt);
    await expect(start({ authenticationConfigFile: file })).rejects.toThrow(words);
    await expect(start({ authenticationConfigFile: file })).rejects.toThrow(`--authentication-config ${file}`);
  });
});

describe("a token webhook", () => {
  it("is asked about tokens that nobody else knows, and what it says is kept for a while", async () => {
    const service = await startJsonService(({ body }) => {
      const { spec } = body as { spec: { token: string } };
      const user = { username: "bob", uid: "7", groups: ["ops"], extra: { "a.example/b": ["c"] } };
      const authenticated = spec.token === "bobs-token";
      return {
        body: {
          kind: "TokenReview",
          apiVersion: "authentication.k8s.io/v1",
          status: authenticated ? { authenticated, user } : { authenticated },
        },
      };
    });
    const file = join(dir, "webhook.yaml");
    const ca = Buffer.from(service.caPem).toString("base64");
    await writeFile(
      file,
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "w", cluster: { server: `${service.url}/review`, "certificate-authority-data": ca } }],
        users: [{ name: "w", user: { token: "hub-token" } }],
        contexts: [{ name: "w", context: { cluster: "w", user: "w" } }],
        "current-context": "w",
      }),
    );
    await start({ tokenWebhook: { configFile: file, version: "v1", cacheMs: 60_000 } });
    const bob = {
      username: "bob",
      uid: "7",
      groups: ["ops", "system:authenticated"],
      extra: { "a.example/b": ["c"] },
    };
    expect(await whois("bobs-token")).toEqual(bob);
    expect(await whois("bobs-token")).toEqual(bob);
    expect(service.seen).toHaveLength(1);
    expect(service.seen[0]).toMatchObject({
      method: "POST",
      path: "/review",
      body: { kind: "TokenReview", spec: { token: "bobs-token", audiences: ["https://kubernetes.default.svc"] } },
    });
    expect(service.seen[0]?.headers.authorization).toBe("Bearer hub-token");
    expect(await whois("someone-elses")).toBe(401);
    await service.close();
  });

  it("without a file that can be read stops the start", async () => {
    const tokenWebhook = { configFile: join(dir, "missing"), version: "v1", cacheMs: 1 } as const;
    await expect(start({ tokenWebhook })).rejects.toThrow("--authentication-token-webhook-config-file");
  });
});
