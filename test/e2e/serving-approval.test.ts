import { X509Certificate } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ApiObject, Condition } from "../../src/apimachinery/object.ts";
import { createCsr } from "../../src/pki/csr.ts";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { csrKey as key } from "../kits/csr-object.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { eventually } from "../kits/peers-process.ts";

const csrs = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const inventory = "/api/v1/namespaces/kube-system/configmaps";
const node = "system:node:node-1";
let hub: TestHub;
let admin: ApiClient;
let kubelet: ApiClient;

beforeAll(async () => {
  hub = await startTestHub({
    users: { [node]: ["system:nodes"] },
    servingApproval: { providers: ["inventory", "source-address"] },
  });
  admin = apiClient(hub);
  kubelet = apiClient(hub, { token: hub.token(node) });
  const apiGroup = "rbac.authorization.k8s.io";
  const metadata = { name: "nodes-ask" };
  await admin(`/apis/${apiGroup}/v1/clusterroles`, {
    method: "POST",
    body: {
      metadata,
      rules: [
        {
          apiGroups: ["certificates.k8s.io"],
          resources: ["certificatesigningrequests"],
          verbs: ["create", "get", "update", "patch"],
        },
      ],
    },
  });
  await admin(`/apis/${apiGroup}/v1/clusterrolebindings`, {
    method: "POST",
    body: {
      metadata,
      roleRef: { apiGroup, kind: "ClusterRole", name: "nodes-ask" },
      subjects: [{ apiGroup, kind: "Group", name: "system:nodes" }],
    },
  });
  await admin("/api/v1/nodes", { method: "POST", body: { metadata: { name: "node-1" } } });
  const data = { "node-1": "node-1.example,10.0.0.1", "node-10": "10.0.0.10" };
  const map = { metadata: { name: "pratique-node-inventory" }, data };
  await admin(inventory, { method: "POST", body: map });
});

afterAll(async () => {
  for (const client of [admin, kubelet]) client?.close();
  await hub?.close();
});

interface Asked {
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly metadata?: object;
}

async function ask(name: string, { metadata = {}, ...names }: Asked): Promise<ApiObject> {
  const pem = createCsr({ key, commonName: node, organizations: ["system:nodes"], ...names });
  const body = {
    metadata: { name, ...metadata },
    spec: {
      request: Buffer.from(pem).toString("base64"),
      signerName: "kubernetes.io/kubelet-serving",
      usages: ["digital signature", "server auth"],
    },
  };
  const reply = await kubelet(csrs, { method: "POST", body });
  expect(reply.status).toBe(201);
  return reply.object();
}

interface Status {
  readonly certificate?: string;
  readonly conditions?: readonly Condition[];
}

async function statusOf(name: string): Promise<Status> {
  return (await admin(`${csrs}/${name}`)).object()["status"] ?? {};
}

/** The Event about a request, once there is one. */
async function eventAbout({ metadata }: ApiObject): Promise<ApiObject> {
  const selector = `reason=ServingNotApproved,involvedObject.uid=${metadata.uid}`;
  return eventually("an Event", async () => {
    const reply = await admin(`/api/v1/namespaces/default/events?fieldSelector=${encodeURIComponent(selector)}`);
    return (reply.object()["items"] as readonly ApiObject[])[0];
  });
}

test("a node has a serving certificate for what the inventory says is its own, and the approval says by what", async () => {
  await ask("own", { dnsNames: ["node-1", "node-1.example"], ipAddresses: ["10.0.0.1"] });
  const { certificate = "", conditions } = await eventually("a certificate", async () => {
    const status = await statusOf("own");
    return status.certificate === undefined ? undefined : status;
  });
  expect(conditions).toEqual([
    expect.objectContaining({
      type: "Approved",
      reason: "AutoApproved",
      message:
        "Auto approving serving certificate of node node-1: node-1 by inventory, node-1.example by inventory, 10.0.0.1 by inventory.",
    }),
  ]);
  expect(new X509Certificate(Buffer.from(certificate, "base64")).subjectAltName).toBe(
    "DNS:node-1, DNS:node-1.example, IP Address:10.0.0.1",
  );
});

test("what is another node's waits for a person, and one Event says why; it goes with the request", async () => {
  const asked = await ask("foreign", { dnsNames: ["node-1"], ipAddresses: ["10.0.0.10"] });
  const event = await eventAbout(asked);
  expect(event).toMatchObject({
    type: "Warning",
    reason: "ServingNotApproved",
    message: 'not approved automatically: address 10.0.0.10 is that of node "node-10" in the inventory',
    involvedObject: { kind: "CertificateSigningRequest", name: "foreign" },
  });
  expect(await statusOf("foreign")).toMatchObject({
    conditions: [{ type: "NotApprovedAutomatically", reason: "ServingNotApproved" }],
  });
  await admin(`${csrs}/foreign`, { method: "DELETE" });
  await eventually("the end of the Event", async () => {
    const reply = await admin(`/api/v1/namespaces/default/events/${event.metadata.name}`);
    return reply.status === 404 ? "gone" : undefined;
  });
});

test("an address that is added to the inventory lets a waiting request through", async () => {
  const asked = await ask("early", { ipAddresses: ["10.0.0.2"] });
  await eventAbout(asked);
  await admin(`${inventory}/pratique-node-inventory`, {
    method: "PATCH",
    type: "application/merge-patch+json",
    body: { data: { "node-1": "node-1.example,10.0.0.1\n10.0.0.2" } },
  });
  const { conditions } = await eventually("a certificate", async () => {
    const status = await statusOf("early");
    return status.certificate === undefined ? undefined : status;
  });
  expect(conditions).toEqual([expect.objectContaining({ type: "Approved" })]);
});

test("where a request came from is the server's word, when it is made and ever after", async () => {
  const annotation = "pratique.dev/source-address";
  const forged = { annotations: { [annotation]: "10.9.9.9", mine: "kept" } };
  const asked = await ask("forged", { ipAddresses: ["10.9.9.9"], metadata: forged });
  expect(asked.metadata.annotations).toEqual({ [annotation]: "127.0.0.1", mine: "kept" });
  const bodies: readonly [string, string][] = [
    ["PATCH", ""],
    ["PATCH", "/status"],
    ["PATCH", "/approval"],
  ];
  for (const [method, part] of bodies) {
    for (const value of ["10.9.9.9", null]) {
      const reply = await admin(`${csrs}/forged${part}`, {
        method,
        type: "application/merge-patch+json",
        body: { metadata: { annotations: { [annotation]: value } } },
      });
      expect(reply.object().metadata.annotations).toMatchObject({ [annotation]: "127.0.0.1" });
    }
  }
  const event = await eventAbout(asked);
  expect(event["message"]).toContain("address 10.9.9.9 is not proven by inventory, source-address");
  expect(await statusOf("forged")).toMatchObject({ conditions: [{ type: "NotApprovedAutomatically" }] });
});

test("the hub's own addresses are nobody's because a request came from them", async () => {
  const own = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal)?.address;
  const asked = await ask("api", { ipAddresses: [own ?? "127.0.0.1"] });
  const event = await eventAbout(asked);
  expect(event["message"]).toMatch(/is one of the API itself|is not an address of one machine/);
});

test("a node without Node object waits for it", async () => {
  await admin("/api/v1/nodes/node-1", { method: "DELETE" });
  const asked = await ask("deleted", { ipAddresses: ["10.0.0.1"] });
  const event = await eventAbout(asked);
  expect(event["message"]).toContain('there is no Node "node-1"');
  await admin("/api/v1/nodes", { method: "POST", body: { metadata: { name: "node-1" } } });
  await eventually("a certificate", async () => (await statusOf("deleted")).certificate);
});

test("a hub does not start with providers that prove nothing, or a file with a mistake", async () => {
  await expect(startTestHub({ servingApproval: { providers: ["dns"] } })).rejects.toThrow(
    "--serving-approval: dns proves nothing by itself; name inventory or source-address too",
  );
  const configFile = join(hub.dir, "approval.yaml");
  await writeFile(
    configFile,
    "apiVersion: pratique.dev/v1alpha1\nkind: ServingApproval\nnetworks: [{ nodes: ['a*b'], cidrs: [10.0.0.0/8] }]\n",
  );
  await expect(startTestHub({ servingApproval: { providers: ["networks"], configFile } })).rejects.toThrow(
    'networks[0].nodes[0]: "a*b": must hold * only at its beginning or its end',
  );
});
