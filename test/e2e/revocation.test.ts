import { X509Certificate } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bootstrapKubeconfig } from "../../src/client/build-kubeconfig.ts";
import { authorityIn, clientOf } from "../attack/attacked-hub.ts";
import { apiClient, type ApiClient, type Identity, type KeyPair } from "../kits/api-client.ts";
import { fakeClock } from "../kits/fake-clock.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { peerSuite } from "../kits/peers.ts";

const revocations = "/apis/access.pratique.dev/v1alpha1/credentialrevocations";
const maps = "/api/v1/namespaces/default/configmaps";
const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

let hub: TestHub;
let admin: ApiClient;
let clients: ApiClient[] = [];

beforeAll(async () => {
  // Its clock stands still, so that nothing is cut off that a look after some time would have to find.
  hub = await startTestHub({ users: { paul: ["watchers"] }, clock: fakeClock(Date.now()) });
  admin = apiClient(hub);
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };
  const subjects = ["watchers", "system:serviceaccounts"].map((name) => ({
    kind: "Group",
    apiGroup: "rbac.authorization.k8s.io",
    name,
  }));
  await made(`${rbac}/clusterrolebindings`, { metadata: { name: "watchers" }, roleRef, subjects });
  for (const name of ["bound", "other", "legacy", "secretive", "whole"])
    await made("/api/v1/namespaces/default/serviceaccounts", { metadata: { name } });
});
afterAll(async () => {
  for (const client of [admin, ...clients]) client.close();
  await hub.close();
});

async function made(path: string, body: object): Promise<Record<string, unknown>> {
  const reply = await admin(path, { method: "POST", body });
  expect(reply.text).toContain("creationTimestamp");
  expect(reply.status).toBe(201);
  return reply.json();
}

function connect(identity: Identity, protocol: "http1" | "http2" = "http1"): ApiClient {
  const client = apiClient(hub, identity, protocol);
  clients = [...clients, client];
  return client;
}

async function certificateOf(commonName: string): Promise<KeyPair> {
  const { cert = "", key = "" } = clientOf(await authorityIn(hub.dataDir), {
    commonName,
    organizations: ["watchers"],
  });
  return { certPem: cert, keyPem: key };
}

async function credentialIdOf(client: ApiClient): Promise<string> {
  const { status } = (
    await client("/apis/authentication.k8s.io/v1/selfsubjectreviews", { method: "POST", body: {} })
  ).json() as { readonly status: { readonly userInfo: { readonly extra: Record<string, readonly string[]> } } };
  return status.userInfo.extra["authentication.kubernetes.io/credential-id"]?.[0] ?? "";
}

let count = 0;

/** Revokes, sees the watch of the client end, and gives the status of its next request, while no time passes for the hub. */
async function cutOff(client: ApiClient, spec: object, path = maps): Promise<number> {
  const watch = await client.stream(`${path}?watch=true`);
  expect(watch.status).toBe(200);
  expect((await client(path)).status).toBe(200);
  const ended = watch.rest();
  await made(revocations, { metadata: { name: `test-${(count += 1)}` }, spec });
  await ended;
  return (await client(path)).status;
}

peerSuite("kubectl", "a revocation cuts off requests, open connections and watches at once", () => {
  it.each(["http1", "http2"] as const)("of a certificate by its fingerprint, over %s", async (protocol) => {
    const pair = await certificateOf(`ann-${protocol}`);
    const client = connect(pair, protocol);
    const fingerprint = (await credentialIdOf(client)).replace("X509SHA256=", "");
    expect(await cutOff(client, { fingerprint })).toBe(401);
    // Another certificate of the same user is another credential.
    expect((await connect(await certificateOf(`ann-${protocol}`), protocol)(maps)).status).toBe(200);
  });

  it("of a certificate by its serial number", async () => {
    const pair = await certificateOf("serial");
    const serialNumber = serialOf(pair.certPem);
    expect(await cutOff(connect(pair), { certificate: { serialNumber } })).toBe(401);
  });

  it("of a user, whatever the credential, later ones too", async () => {
    const client = connect({ token: hub.token("paul") });
    const certified = connect(await certificateOf("paul"), "http2");
    expect((await certified(maps)).status).toBe(200);
    expect(await cutOff(client, { user: "paul" })).toBe(401);
    expect((await certified(maps)).status).toBe(401);
    expect((await connect(await certificateOf("paul"))(maps)).status).toBe(401);
    expect((await connect(await certificateOf("pau"))(maps)).status).toBe(200);
  });

  it("of a bound token by its id, and of no other token of the account", async () => {
    const token = async (): Promise<string> => {
      const reply = await admin("/api/v1/namespaces/default/serviceaccounts/bound/token", { method: "POST", body: {} });
      return (reply.json()["status"] as { readonly token: string }).token;
    };
    const [client, other] = [connect({ token: await token() }), connect({ token: await token() })];
    const credentialID = await credentialIdOf(client);
    expect(credentialID).toMatch(/^JTI=/);
    expect(await cutOff(client, { credentialID })).toBe(401);
    expect((await other(maps)).status).toBe(200);
  });

  it("of a whole account", async () => {
    const reply = await admin("/api/v1/namespaces/default/serviceaccounts/whole/token", { method: "POST", body: {} });
    const { token } = reply.json()["status"] as { readonly token: string };
    expect(await cutOff(connect({ token }), { user: "system:serviceaccount:default:whole" })).toBe(401);
  });

  it("of a legacy token by the Secret that it lies in", async () => {
    await made("/api/v1/namespaces/default/secrets", {
      metadata: { name: "legacy", annotations: { "kubernetes.io/service-account.name": "legacy" } },
      type: "kubernetes.io/service-account-token",
    });
    const token = await legacyToken();
    expect(await cutOff(connect({ token }), { secret: { namespace: "default", name: "legacy" } })).toBe(401);
  });

  it("of a bootstrap token by its id", async () => {
    const expiration = new Date(Date.now() + 3_600_000).toISOString();
    const stringData = {
      "token-id": "abcdef",
      "token-secret": "0123456789abcdef",
      expiration,
      "usage-bootstrap-authentication": "true",
      "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
    };
    const metadata = { name: "bootstrap-token-abcdef" };
    const type = "bootstrap.kubernetes.io/token";
    await made("/api/v1/namespaces/kube-system/secrets", { metadata, type, stringData });
    const client = connect({ token: "abcdef.0123456789abcdef" });
    expect(await cutOff(client, { bootstrapTokenID: "abcdef" }, requests)).toBe(401);
  });

  it("of what kubectl watches with", async () => {
    const pair = await certificateOf("kubectl");
    const kubeconfig = join(hub.dir, "revoked.kubeconfig");
    await writeFile(
      kubeconfig,
      bootstrapKubeconfig({ server: hub.url, ca: { pem: hub.ca }, token: "x" }).replace(
        /token: .*/,
        `{client-certificate-data: ${base64(pair.certPem)}, client-key-data: ${base64(pair.keyPem)}}`,
      ),
    );
    const kubectl = hub.kubectl.with({ kubeconfig });
    const watching = kubectl.start("get", "configmaps", "--watch", "-o", "name");
    await made(maps, { metadata: { name: "seen" } });
    await watching.until(/configmap\/seen/);
    await made(revocations, { metadata: { name: "kubectl" }, spec: { user: "kubectl" } });
    await watching.done;
    const again = await kubectl("get", "configmaps");
    expect(again.err).toContain("You must be logged in to the server");
    // Once, however often it is tried.
    const told = hub.log.filter(({ reason }) => reason === "RevokedCredentialUsed");
    expect(told.filter(({ revocation }) => revocation === "kubectl")).toMatchObject([
      { user: "kubectl", address: "127.0.0.1", userAgent: expect.stringMatching(/^kubectl/) as string },
    ]);
    expect((await admin("/metrics")).text).toMatch(/^pratique_revoked_requests_total [1-9]/m);
  });
});

describe("revocations", () => {
  it("survive a restart, end at their time, and end what they did when they are deleted", async () => {
    const pair = await certificateOf("restart");
    await made(revocations, { metadata: { name: "restart" }, spec: { user: "restart" } });
    const { dir } = hub;
    for (const client of [admin, ...clients]) client.close();
    clients = [];
    await hub.close("keep");
    hub = await startTestHub({ dir, users: { paul: ["watchers"] } });
    admin = apiClient(hub);
    const client = connect(pair);
    expect((await client(maps)).status).toBe(401);
    expect((await admin(`${revocations}/restart`, { method: "DELETE" })).status).toBe(200);
    expect((await client(maps)).status).toBe(200);
    const past = { user: "restart", expiresAt: "2020-01-01T00:00:00Z" };
    await made(revocations, { metadata: { name: "past" }, spec: past });
    expect((await client(maps)).status).toBe(200);
  });

  it("say who revoked, and cannot be made to speak of something else", async () => {
    const { status } = await made(revocations, {
      metadata: { name: "told" },
      spec: { user: "nobody-there", reason: "left" },
      status: { revokedBy: "somebody else", enforced: false },
    });
    expect(status).toEqual({ revokedBy: "kubernetes-admin", enforced: true });
    const type = "application/merge-patch+json";
    const moved = await admin(`${revocations}/told`, { method: "PATCH", type, body: { spec: { user: "other" } } });
    expect(moved.status).toBe(422);
    expect(moved.text).toContain("what is revoked cannot change");
    const longer = { spec: { reason: "left in May", expiresAt: "2099-01-01T00:00:00Z" }, status: { revokedBy: "x" } };
    const changed = await admin(`${revocations}/told`, { method: "PATCH", type, body: longer });
    expect(changed.json()["status"]).toEqual(status);
  });

  it("are a right of their own, which neither edit nor the approver of access has", async () => {
    const attributes = { group: "access.pratique.dev", resource: "credentialrevocations", verb: "create" };
    for (const role of ["edit", "admin", "pratique:access-approver"]) {
      const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role };
      const name = role.replace(":", "-");
      const subjects = [{ kind: "User", apiGroup: roleRef.apiGroup, name }];
      await made(`${rbac}/clusterrolebindings`, { metadata: { name }, roleRef, subjects });
      const review = await admin("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
        method: "POST",
        body: { spec: { user: name, resourceAttributes: attributes } },
      });
      expect(review.json()["status"]).toMatchObject({ allowed: false });
    }
  });
});

async function legacyToken(): Promise<string> {
  for (;;) {
    const reply = await admin("/api/v1/namespaces/default/secrets/legacy");
    const { token } = (reply.json()["data"] ?? {}) as { readonly token?: string };
    if (token !== undefined) return Buffer.from(token, "base64").toString();
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

function serialOf(pem: string): string {
  return new X509Certificate(pem).serialNumber.toLowerCase();
}
