import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { createCsr } from "../../src/pki/csr.ts";
import { exportPkcs8Pem, generatePrivateKey } from "../../src/pki/keys.ts";
import { certificateSigningRequests } from "../../src/apis/certificate-signing-request.ts";
import { encodeProtobuf } from "../../src/serializer/protobuf/protobuf.ts";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const csrs = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const clientSigner = "kubernetes.io/kube-apiserver-client";
const key = generatePrivateKey();

let hub: TestHub;
let admin: ApiClient;
let approver: ApiClient;
let clerk: ApiClient;
let joiner: ApiClient;
let count = 0;
let name: string;

beforeAll(async () => {
  hub = await startTestHub({
    users: { approver: [], clerk: [], joiner: ["system:bootstrappers:kubeadm:default-node-token"] },
  });
  admin = apiClient(hub);
  [approver, clerk, joiner] = ["approver", "clerk", "joiner"].map((user) =>
    apiClient(hub, { token: hub.token(user) }),
  ) as [ApiClient, ApiClient, ApiClient];
  const group = "certificates.k8s.io";
  const work = {
    apiGroups: [group],
    resources: [
      "certificatesigningrequests",
      "certificatesigningrequests/approval",
      "certificatesigningrequests/status",
    ],
    verbs: ["get", "list", "update", "patch"],
  };
  await grant("clerk", [work]);
  await grant("approver", [
    work,
    { apiGroups: [group], resources: ["signers"], resourceNames: [clientSigner], verbs: ["approve"] },
  ]);
});

afterAll(async () => {
  for (const client of [admin, approver, clerk, joiner]) client.close();
  await hub.close();
});

beforeEach(() => {
  count += 1;
  name = `csr-${count}`;
});

async function grant(user: string, rules: readonly object[]): Promise<void> {
  const metadata = { name: `of-${user}` };
  const apiGroup = "rbac.authorization.k8s.io";
  await admin(`${rbac}/clusterroles`, { method: "POST", body: { metadata, rules } });
  await admin(`${rbac}/clusterrolebindings`, {
    method: "POST",
    body: {
      metadata,
      roleRef: { apiGroup, kind: "ClusterRole", name: `of-${user}` },
      subjects: [{ apiGroup, kind: "User", name: user }],
    },
  });
}

interface Wanted {
  readonly commonName?: string;
  readonly organizations?: readonly string[];
  readonly spec?: object;
}

function request(
  client: ApiClient,
  { commonName = "joe", organizations = [], spec = {} }: Wanted = {},
): Promise<Reply> {
  const pem = createCsr({ key, commonName, organizations });
  const body = {
    metadata: { name },
    spec: { request: Buffer.from(pem).toString("base64"), signerName: clientSigner, usages: ["client auth"], ...spec },
  };
  return client(csrs, { method: "POST", body });
}

function withCondition(object: ApiObject, type: string): ApiObject {
  return { ...object, status: { conditions: [{ type, status: "True", reason: "Test", message: "by a test" }] } };
}

function decide(client: ApiClient, object: ApiObject, type: string, path = "approval"): Promise<Reply> {
  return client(`${csrs}/${name}/${path}`, { method: "PUT", body: withCondition(object, type) });
}

/** The certificate, once it is there. */
async function issued(): Promise<X509Certificate> {
  const query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
  const stream = await admin.stream(`${csrs}?${query}&fieldSelector=metadata.name%3D${name}`);
  for (;;) {
    const { object } = await stream.next();
    const { certificate } = (object["status"] ?? {}) as { readonly certificate?: string };
    if (certificate === undefined) continue;
    stream.close();
    return new X509Certificate(Buffer.from(certificate, "base64"));
  }
}

describe("a request for a certificate", () => {
  it("says who asks, whatever the client wrote", async () => {
    const spec = { username: "kubernetes-admin", groups: ["system:masters"], uid: "x", extra: { a: ["b"] } };
    const made = (await request(joiner, { spec })).object();
    expect(made["spec"]).toMatchObject({
      username: "joiner",
      uid: "uid-joiner",
      groups: ["system:bootstrappers:kubeadm:default-node-token", "system:authenticated"],
    });
    expect(made["spec"]).not.toHaveProperty("extra");
    expect(made["status"]).toEqual({});
  });

  it("keeps its spec and its decision on PUT and PATCH of the object itself", async () => {
    const made = (await request(admin)).object();
    const body = {
      ...withCondition(made, "Approved"),
      spec: { ...(made["spec"] as object), username: "x", usages: ["server auth"] },
    };
    const put = await admin(`${csrs}/${name}`, { method: "PUT", body });
    expect(put.object()).toEqual(made);
    const patched = await admin(`${csrs}/${name}`, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: { status: withCondition(made, "Approved")["status"] },
    });
    expect(patched.object()).toEqual(made);
  });

  it("is approved through its approval and by who may approve for that signer, and then signed", async () => {
    const made = (await request(admin, { commonName: "joe", organizations: ["devs"] })).object();
    const refused = await decide(clerk, made, "Approved");
    expect(refused.json()).toMatchObject({
      reason: "Forbidden",
      code: 403,
      message: `certificatesigningrequests.certificates.k8s.io "${name}" is forbidden: user not permitted to approve requests with signerName "${clientSigner}"`,
    });
    expect((await decide(admin, made, "Approved", "status")).status).toBe(422);
    expect((await decide(approver, made, "Approved")).status).toBe(200);
    const certificate = await issued();
    expect(certificate.subject).toBe("O=devs\nCN=joe");
    const pair = { certPem: certificate.toString(), keyPem: exportPkcs8Pem(key) };
    const joe = apiClient(hub, pair);
    const self = await joe("/apis/authentication.k8s.io/v1/selfsubjectreviews", { method: "POST", body: {} });
    expect(self.json()["status"]).toMatchObject({
      userInfo: { username: "joe", groups: ["devs", "system:authenticated"] },
    });
    joe.close();
  });

  it("is approved in protobuf, as kubectl sends it", async () => {
    const made = (await request(admin)).object();
    const approved = withCondition(made, "Approved");
    const reply = await approver(`${csrs}/${name}/approval`, {
      method: "PUT",
      type: "application/vnd.kubernetes.protobuf",
      accept: "application/vnd.kubernetes.protobuf,application/json",
      body: Buffer.from(encodeProtobuf(approved, certificateSigningRequests.schema)),
    });
    expect([reply.status, reply.headers["content-type"]]).toEqual([200, "application/vnd.kubernetes.protobuf"]);
    expect((await issued()).subject).toBe("CN=joe");
  });

  it("cannot be both approved and denied, nor lose its decision", async () => {
    const made = (await request(admin)).object();
    const denied = (await decide(admin, made, "Denied")).object();
    const conditions = (denied["status"] as { conditions: object[] }).conditions;
    const both = { ...denied, status: { conditions: [...conditions, { type: "Approved", status: "True" }] } };
    expect((await admin(`${csrs}/${name}/approval`, { method: "PUT", body: both })).status).toBe(422);
    const none = { ...denied, status: { conditions: [] } };
    expect((await admin(`${csrs}/${name}/approval`, { method: "PUT", body: none })).json()).toMatchObject({
      reason: "Invalid",
      message: expect.stringContaining("updates may not remove a condition of type") as unknown,
    });
  });

  it("sets a certificate only for who may sign", async () => {
    const made = (await request(admin)).object();
    const body = { ...made, status: { certificate: Buffer.from(hub.ca).toString("base64") } };
    expect((await clerk(`${csrs}/${name}/status`, { method: "PUT", body })).json()).toMatchObject({
      reason: "Forbidden",
      message: expect.stringContaining(
        `user not permitted to sign requests with signerName "${clientSigner}"`,
      ) as unknown,
    });
  });

  it("for system:masters is refused", async () => {
    expect((await request(admin, { organizations: ["devs", "system:masters"] })).json()).toMatchObject({
      reason: "Forbidden",
      message: expect.stringContaining(
        "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed",
      ) as unknown,
    });
  });

  it.each<[string, object]>([
    ["no request", { request: "" }],
    ["something else than PEM", { request: Buffer.from("hello").toString("base64") }],
    ["no base64", { request: "%%%" }],
    ["no usages", { usages: [] }],
    ["unknown usages", { usages: ["world domination"] }],
    ["usages twice", { usages: ["client auth", "client auth"] }],
    ["no signer", { signerName: "" }],
    ["a signer without a domain", { signerName: "me" }],
    ["the legacy signer", { signerName: "kubernetes.io/legacy-unknown" }],
    ["too short a life", { expirationSeconds: 599 }],
  ])("with %s is 4xx and not stored", async (_title, spec) => {
    const reply = await request(admin, { spec });
    expect(Math.floor(reply.status / 100)).toBe(4);
    expect((await admin(`${csrs}/${name}`)).status).toBe(404);
  });

  it("of a node that comes with a bootstrap token is approved by nobody's hand", async () => {
    const made = await request(joiner, {
      commonName: "system:node:m1",
      organizations: ["system:nodes"],
      spec: { signerName: "kubernetes.io/kube-apiserver-client-kubelet", usages: ["digital signature", "client auth"] },
    });
    expect(made.status).toBe(201);
    expect((await issued()).subject).toBe("O=system:nodes\nCN=system:node:m1");
    const conditions = ((await admin(`${csrs}/${name}`)).object()["status"] as { conditions: object[] }).conditions;
    expect(conditions).toMatchObject([{ type: "Approved", status: "True", reason: "AutoApproved" }]);
  });

  it("may have any name that is one path segment", async () => {
    name = "node-csr-Ab_9-X";
    expect((await request(admin)).status).toBe(201);
    expect((await admin(`${csrs}/${name}`)).status).toBe(200);
  });
});
