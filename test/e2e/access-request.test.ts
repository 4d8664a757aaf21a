import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sshPublicKeyOf, type SshKeyKind } from "../../src/pki/ssh-public-key.ts";
import { sealBinding, type AccessRequest } from "../../src/apis/access-request.ts";
import { openAnswer } from "../../src/trust/seal.ts";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { peerSuite } from "../kits/peers.ts";

const group = "/apis/access.pratique.dev/v1alpha1";
const requests = `${group}/accessrequests`;

let hub: TestHub;
let admin: ApiClient;
let nobody: ApiClient;
const clients: ApiClient[] = [];

const pairs = {
  rsa: generateKeyPairSync("rsa", { modulusLength: 2048 }),
  p256: generateKeyPairSync("ec", { namedCurve: "P-256" }),
  ed25519: generateKeyPairSync("ed25519"),
} as const;

function as(token: string): ApiClient {
  const client = apiClient(hub, { token });
  clients.push(client);
  return client;
}

const person = (name: string): ApiClient => as(hub.token(name));
const ask = (name: string, spec: object = {}, key: KeyObject = pairs.p256.publicKey): Promise<Reply> =>
  nobody(requests, {
    method: "POST",
    body: { metadata: { name }, spec: { pubKey: sshPublicKeyOf(key, name).text, ...spec } },
  });
const decide = (name: string, status: object, who: ApiClient = admin): Promise<Reply> =>
  who(`${requests}/${name}/status`, { method: "PATCH", type: "application/merge-patch+json", body: { status } });

async function until(name: string, holds: (request: AccessRequest) => boolean): Promise<AccessRequest> {
  const stream = await admin.stream(`${requests}?watch=true&fieldSelector=metadata.name=${name}`);
  for (;;) {
    const { object } = await stream.next();
    if (!holds(object as unknown as AccessRequest)) continue;
    stream.close();
    return object as unknown as AccessRequest;
  }
}

const isReady = ({ status }: AccessRequest): boolean => status?.ready === true;
const has =
  (type: string) =>
  ({ status }: AccessRequest): boolean =>
    status?.conditions?.some((one) => one.type === type && one.status === "True") === true;

async function open(
  request: AccessRequest,
  kind: SshKeyKind,
): Promise<{ readonly token: string; readonly ca: string }> {
  const { key = "", token = "", ca = "" } = request.status ?? {};
  return openAnswer({ kind, key: pairs[kind].privateKey }, { key, token, ca }, sealBinding(request));
}

async function profile(name: string, spec: object, annotations: object = {}): Promise<Reply> {
  return admin(`${group}/accessprofiles`, { method: "POST", body: { metadata: { name, annotations }, spec } });
}

beforeAll(async () => {
  hub = await startTestHub({ users: { ada: ["approvers"], ben: ["approvers"], eve: ["writers"] } });
  admin = apiClient(hub);
  nobody = apiClient(hub, "anonymous");
  clients.push(admin, nobody);
  const view = [{ apiGroups: [""], resources: ["pods", "configmaps"], verbs: ["get", "list"] }];
  const status = {
    apiGroups: ["access.pratique.dev"],
    resources: ["accessrequests", "accessrequests/status"],
    verbs: ["get", "patch"],
  };
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const made = await Promise.all([
    admin("/api/v1/namespaces", { method: "POST", body: { metadata: { name: "vms" } } }),
    admin(`${rbac}/clusterroles`, { method: "POST", body: { metadata: { name: "viewer" }, rules: view } }),
    admin(`${rbac}/clusterroles`, { method: "POST", body: { metadata: { name: "writer" }, rules: [status] } }),
  ]);
  if (made.some((reply) => reply.status !== 201)) throw new TypeError(made.map(({ text }) => text).join());
  for (const [name, who] of [
    ["pratique:access-approver", "approvers"],
    ["writer", "writers"],
  ]) {
    const subjects = [{ kind: "Group", name: who, apiGroup: "rbac.authorization.k8s.io" }];
    const roleRef = { kind: "ClusterRole", name, apiGroup: "rbac.authorization.k8s.io" };
    await admin(`${rbac}/clusterrolebindings`, { method: "POST", body: { metadata: { name }, subjects, roleRef } });
  }
  const roles = [{ kind: "ClusterRole", name: "viewer" }];
  await profile("pods", { namespace: "vms", roles }, { "access.pratique.dev/is-default-profile": "true" });
  await profile("two", { namespace: "vms", roles, approvers: 2 });
});

afterAll(async () => {
  for (const client of clients) client.close();
  await hub.close();
});

describe("a machine with nothing", () => {
  it.each(["rsa", "p256", "ed25519"] as const)(
    "with a %s key asks, is approved, and works where its profile lets it",
    async (kind) => {
      const name = `vm-${kind}`;
      expect((await ask(name, {}, pairs[kind].publicKey)).status).toBe(201);
      const seen = await nobody(`${requests}/${name}`);
      expect(seen.object()).toMatchObject({
        status: { fingerprint: sshPublicKeyOf(pairs[kind].publicKey).fingerprint },
      });
      expect((await decide(name, { accepted: true })).status).toBe(200);
      const request = await until(name, isReady);
      expect(request.status?.decisions).toMatchObject([
        { user: "kubernetes-admin", verdict: "Approved", words: "NotCompared" },
      ]);
      const { token, ca } = await open(request, kind);
      expect(ca).toBe(hub.ca);
      const machine = as(token);
      expect((await machine("/api/v1/namespaces/vms/pods")).status).toBe(200);
      expect((await machine("/api/v1/namespaces/default/pods")).status).toBe(403);
      expect((await machine("/api/v1/namespaces/vms/secrets")).status).toBe(403);
    },
  );

  it("renews its own token with the token, and nobody else's", async () => {
    await ask("vm-renews");
    await decide("vm-renews", { accepted: true });
    const { token } = await open(await until("vm-renews", isReady), "p256");
    const machine = as(token);
    const accounts = "/api/v1/namespaces/vms/serviceaccounts";
    expect((await machine(`${accounts}/vm-renews/token`, { method: "POST", body: { spec: {} } })).status).toBe(201);
    expect((await machine(`${accounts}/vm-p256/token`, { method: "POST", body: { spec: {} } })).status).toBe(403);
  });

  it("sees its own request by name, and no list of others", async () => {
    expect((await nobody(requests)).status).toBe(403);
    expect((await nobody(`${requests}?watch=true`)).status).toBe(403);
    expect((await nobody(`${requests}/vm-p256`, { method: "DELETE" })).status).toBe(403);
  });

  it("is told why it gets nothing when its profile does not exist", async () => {
    await ask("vm-lost", { profile: "missing" });
    const reply = await decide("vm-lost", { accepted: true });
    expect(reply.status).toBe(422);
    expect(reply.text).toContain("it names none that exists");
  });
});

describe("a decision", () => {
  it("is stamped with who made it and when; what a client says of that is refused", async () => {
    await ask("vm-stamp");
    const forged = [{ user: "ben", time: "2020-01-01T00:00:00Z", verdict: "Approved" }];
    const reply = await decide("vm-stamp", { accepted: true, decisions: forged }, person("ada"));
    expect(reply.status).toBe(403);
    expect(reply.text).toContain("may decide, and not write status.decisions");
    expect(
      (await decide("vm-stamp", { accepted: true, reason: "known", wordsCompared: true }, person("ada"))).status,
    ).toBe(200);
    const { status } = await until("vm-stamp", isReady);
    expect(status).toMatchObject({
      decisions: [{ user: "ada", verdict: "Approved", reason: "known", words: "Compared" }],
    });
    expect(status?.reason).toBeUndefined();
  });

  it("takes the verb approve on the profile, besides writing the status", async () => {
    await ask("vm-eve");
    const reply = await decide("vm-eve", { accepted: true }, person("eve"));
    expect(reply.status).toBe(403);
    expect(reply.text).toContain('verb \\"approve\\" on accessprofiles.access.pratique.dev is needed');
  });

  it("cannot write what only the controller writes", async () => {
    await ask("vm-sealed");
    for (const status of [
      { ready: true },
      { token: "AAAA" },
      { key: "AAAA" },
      { evidence: { sourceAddress: "::1" } },
      { fingerprint: "x" },
    ]) {
      expect((await decide("vm-sealed", status, person("ada"))).status).toBe(403);
    }
  });

  it("by two different people is needed where the profile says so", async () => {
    await ask("vm-two", { profile: "two" });
    const first = await decide("vm-two", { accepted: true }, person("ada"));
    expect(first.object()).not.toHaveProperty("status.accepted");
    const again = await decide("vm-two", { accepted: true }, person("ada"));
    expect(again.status).toBe(422);
    expect(again.text).toContain("ada approved it already; 2 different approvers must");
    expect((await decide("vm-two", { accepted: true }, person("ben"))).object()).toMatchObject({
      status: { accepted: true },
    });
    await until("vm-two", isReady);
  });

  it("to deny ends the request, and nothing was granted", async () => {
    await ask("vm-denied");
    expect((await decide("vm-denied", { denied: true, reason: "not ours" })).status).toBe(200);
    await until("vm-denied", has("Denied"));
    expect((await decide("vm-denied", { accepted: true })).status).toBe(422);
    expect((await admin("/api/v1/namespaces/vms/serviceaccounts/vm-denied")).status).toBe(404);
  });

  it("to revoke cuts the machine off at once, and takes everything back", async () => {
    await ask("vm-revoked");
    await decide("vm-revoked", { accepted: true });
    const request = await until("vm-revoked", isReady);
    const machine = as((await open(request, "p256")).token);
    expect((await machine("/api/v1/namespaces/vms/pods")).status).toBe(200);
    expect((await decide("vm-revoked", { revoked: true, reason: "stolen" })).status).toBe(200);
    const after = await until("vm-revoked", has("Revoked"));
    expect((await machine("/api/v1/namespaces/vms/pods")).status).toBe(401);
    expect(after.status).not.toHaveProperty("token");
    const bindings = await admin("/apis/rbac.authorization.k8s.io/v1/namespaces/vms/rolebindings");
    expect(bindings.text).not.toContain(request.metadata.uid ?? "?");
  });
});

describe("what a request cannot do", () => {
  it("change its key once it is made", async () => {
    await ask("vm-swap");
    const body = { spec: { pubKey: sshPublicKeyOf(pairs.ed25519.publicKey).text } };
    const reply = await admin(`${requests}/vm-swap`, { method: "PATCH", type: "application/merge-patch+json", body });
    expect(reply.status).toBe(422);
    expect(reply.text).toContain("a request cannot change");
  });

  it("come with a status", async () => {
    const spec = { pubKey: sshPublicKeyOf(pairs.p256.publicKey).text };
    const status = {
      accepted: true,
      ready: true,
      fingerprint: "x",
      decisions: [{ user: "ada", verdict: "Approved", time: "2020-01-01T00:00:00Z" }],
    };
    await nobody(requests, { method: "POST", body: { metadata: { name: "vm-status" }, spec, status } });
    const { status: stored } = (await admin(`${requests}/vm-status`)).object() as unknown as AccessRequest;
    expect(stored?.accepted).toBeUndefined();
    expect(stored?.decisions).toBeUndefined();
    expect(stored?.fingerprint).toMatch(/^SHA256:/);
  });

  it("take over an account that somebody else made", async () => {
    await admin("/api/v1/namespaces/vms/serviceaccounts", { method: "POST", body: { metadata: { name: "precious" } } });
    await ask("precious");
    await decide("precious", { accepted: true });
    const { status } = await until(
      "precious",
      ({ status: seen }) => seen?.conditions?.some(({ reason }) => reason === "AccountTaken") === true,
    );
    expect(status?.ready).toBeUndefined();
    expect(status?.token).toBeUndefined();
  });

  it("ask with a weak key, a key that is none, finalizers, or more than it needs", async () => {
    const weak = generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey.export({ format: "jwk" });
    const mpint = (text = ""): Buffer => Buffer.concat([Buffer.from([0]), Buffer.from(text, "base64url")]);
    const field = (bytes: Buffer): Buffer =>
      Buffer.concat([Buffer.from([0, 0, bytes.length >> 8, bytes.length & 255]), bytes]);
    const wire = Buffer.concat([
      field(Buffer.from("ssh-rsa")),
      field(Buffer.from(weak.e ?? "", "base64url")),
      field(mpint(weak.n)),
    ]);
    const post = (body: object): Promise<Reply> => nobody(requests, { method: "POST", body });
    const good = sshPublicKeyOf(pairs.p256.publicKey).text;
    const weakReply = await post({
      metadata: { name: "weak" },
      spec: { pubKey: `ssh-rsa ${wire.toString("base64")}` },
    });
    expect(weakReply.text).toContain("an RSA key of 1024 bits; at least 2048 are needed");
    for (const body of [
      { metadata: { name: "none" }, spec: {} },
      { metadata: { name: "junk" }, spec: { pubKey: "ssh-rsa AAAA" } },
      { metadata: { name: "held", finalizers: ["a.example/b"] }, spec: { pubKey: good } },
    ]) {
      expect((await post(body)).status).toBe(422);
    }
    const large = { metadata: { name: "large", annotations: { a: "x".repeat(40_000) } }, spec: { pubKey: good } };
    expect((await post(large)).status).toBe(413);
  });

  it("prove its key with a proof for another name or CA", async () => {
    const reply = await ask("vm-proof", { proof: "AAAA" });
    expect(reply.status).toBe(403);
    expect(reply.text).toContain("its connection to this API was intercepted");
  });
});

describe("a profile", () => {
  it("hands out only what its writer holds", async () => {
    const writer = person("eve");
    const rbac = "/apis/rbac.authorization.k8s.io/v1";
    const rules = [{ apiGroups: ["access.pratique.dev"], resources: ["accessprofiles"], verbs: ["create"] }];
    await admin(`${rbac}/clusterroles`, { method: "POST", body: { metadata: { name: "profiles" }, rules } });
    const subjects = [{ kind: "User", name: "eve", apiGroup: "rbac.authorization.k8s.io" }];
    const roleRef = { kind: "ClusterRole", name: "profiles", apiGroup: "rbac.authorization.k8s.io" };
    await admin(`${rbac}/clusterrolebindings`, {
      method: "POST",
      body: { metadata: { name: "profiles" }, subjects, roleRef },
    });
    const spec = { namespace: "vms", roles: [{ kind: "ClusterRole", name: "cluster-admin", clusterWide: true }] };
    const reply = await writer(`${group}/accessprofiles`, {
      method: "POST",
      body: { metadata: { name: "all" }, spec },
    });
    expect(reply.status).toBe(403);
    expect(reply.text).toContain(
      'verb \\"bind\\" on clusterroles.rbac.authorization.k8s.io \\"cluster-admin\\" at the cluster scope',
    );
  });

  it("takes requests from its networks only", async () => {
    await profile("far", { namespace: "vms", sourceNetworks: ["10.0.0.0/8"] });
    await profile("near", { namespace: "vms", sourceNetworks: ["127.0.0.0/8"] });
    const reply = await ask("vm-far", { profile: "far" });
    expect(reply.status).toBe(403);
    expect(reply.text).toContain("this one came from 127.0.0.1");
    expect((await ask("vm-near", { profile: "near" })).status).toBe(201);
  });

  it("may decide by rules", async () => {
    const rules = [
      { expression: "object.spec.hostname.startsWith('bad')", effect: "Refuse", message: "bad hosts stay out" },
      { expression: "ip(evidence.sourceAddress).isLoopback()", effect: "Approve" },
    ];
    expect((await profile("ruled", { namespace: "vms", rules })).status).toBe(201);
    await ask("vm-good", { profile: "ruled", hostname: "good-1" });
    expect((await until("vm-good", isReady)).status?.decisions).toMatchObject([
      { user: "system:serviceaccount:kube-system:access-request-controller", verdict: "Approved" },
    ]);
    await ask("vm-bad", { profile: "ruled", hostname: "bad-1" });
    expect((await until("vm-bad", has("Denied"))).status?.decisions).toMatchObject([
      { verdict: "Denied", reason: "bad hosts stay out" },
    ]);
  });

  it("may hand over a bootstrap token as well, which goes when it is revoked", async () => {
    await profile("node", { namespace: "vms", bootstrapToken: { ttlSeconds: 600 } });
    await ask("vm-node", { profile: "node" });
    await decide("vm-node", { accepted: true });
    const request = await until("vm-node", isReady);
    const { key = "", token = "", ca = "", bootstrapToken = "" } = request.status ?? {};
    const sealed = { key, token, ca, bootstrapToken };
    const answer = await openAnswer({ kind: "p256", key: pairs.p256.privateKey }, sealed, sealBinding(request));
    const joiner = as(answer.bootstrapToken ?? "");
    expect((await joiner("/api/v1/nodes/none")).status).toBe(404);
    await decide("vm-node", { revoked: true });
    await until("vm-node", has("Revoked"));
    expect((await joiner("/api/v1/nodes/none")).status).toBe(401);
  });
});

describe("a request that is deleted", () => {
  it("takes everything along that was made for it", async () => {
    await ask("vm-gone");
    await decide("vm-gone", { accepted: true });
    const request = await until("vm-gone", isReady);
    const machine = as((await open(request, "p256")).token);
    expect((await machine("/api/v1/namespaces/vms/pods")).status).toBe(200);
    const accounts = await admin.stream(
      "/api/v1/namespaces/vms/serviceaccounts?watch=true&fieldSelector=metadata.name=vm-gone",
    );
    await admin(`${requests}/vm-gone`, { method: "DELETE" });
    while ((await accounts.next()).type !== "DELETED");
    accounts.close();
    expect((await machine("/api/v1/namespaces/vms/pods")).status).toBe(401);
  });
});

peerSuite("kubectl", "kubectl and access requests", () => {
  it("shows where each stands, and approves through the subresource", async () => {
    await ask("vm-kubectl");
    const pending = await hub.kubectl("get", "accessrequest", "vm-kubectl", "-o", "wide");
    expect(pending.out).toMatch(/NAME +READY +PROFILE +CONDITION +SOURCE +FINGERPRINT +EXPIRES +AGE/);
    expect(pending.out).toMatch(/vm-kubectl +false +<default> +Pending +127\.0\.0\.1 +SHA256:/);
    await hub.kubectl(
      "patch",
      "areq",
      "vm-kubectl",
      "--subresource=status",
      "--type=merge",
      "-p",
      '{"status":{"accepted":true}}',
    );
    await until("vm-kubectl", isReady);
    expect((await hub.kubectl("get", "areq", "vm-kubectl")).out).toMatch(
      /vm-kubectl +true +<default> +Approved,Issued/,
    );
    expect((await hub.kubectl("explain", "accessprofile.spec.sourceNetworks")).out).toContain("CIDRs");
  });
});
