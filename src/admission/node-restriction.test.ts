import { describe, expect, it } from "vitest";
import type { ApiObject } from "../apimachinery/object.ts";
import { StatusError } from "../apimachinery/status.ts";
import { certificateSigningRequests } from "../apis/certificate-signing-request.ts";
import { configMaps } from "../apis/config-map.ts";
import { csiNodes } from "../apis/csi-node.ts";
import { leases } from "../apis/lease.ts";
import { nodes } from "../apis/node.ts";
import { pods } from "../apis/pod.ts";
import type { Resource } from "../apis/resource.ts";
import { serviceAccounts } from "../apis/service-account.ts";
import type { AdmissionRequest } from "./admission.ts";
import { nodeRestriction } from "./node-restriction.ts";

const n1 = { username: "system:node:n1", groups: ["system:nodes"] };
const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n1", uid: "u1" } };
const owner = { apiVersion: "v1", kind: "Node", name: "n1", uid: "u1", controller: true };
const ownPod: ApiObject = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", namespace: "ns", uid: "pod-1" },
  spec: {
    nodeName: "n1",
    volumes: [
      { projected: { sources: [{ serviceAccountToken: { audience: "vault" } }, { serviceAccountToken: {} }] } },
    ],
  },
};
const otherPod: ApiObject = { ...ownPod, metadata: { ...ownPod.metadata, name: "q" }, spec: { nodeName: "n2" } };

interface Asked extends Partial<Omit<AdmissionRequest, "object" | "oldObject">> {
  readonly object?: object;
  readonly oldObject?: object;
}

/** Nothing when it is let pass, else what the client is told. */
async function reported(resource: Resource, asked: Asked): Promise<string> {
  const plugin = nodeRestriction({
    podOf: (_namespace, name) => [ownPod, otherPod].find(({ metadata }) => metadata.name === name),
    nodeOf: (name) => (name === "n1" ? node : undefined),
    may: async ({ resource: audience, verb }) => ({
      allowed: audience === "granted" && verb === "request-serviceaccounts-token-audience",
    }),
    commonNameOf: (pem) => {
      const text = Buffer.from(pem).toString();
      if (text === "") throw new TypeError("nothing there");
      return text;
    },
  });
  const request = {
    operation: "CREATE",
    resource,
    subresource: "",
    namespace: resource.scope === "Namespaced" ? "ns" : "",
    name: "n1",
    user: n1,
    dryRun: false,
    warn: () => undefined,
    annotate: () => undefined,
    ...asked,
    object: asked.object as ApiObject | undefined,
    oldObject: asked.oldObject as ApiObject | undefined,
  } as const;
  try {
    await plugin.mutate?.(request, { number: 0, request: {}, again: () => undefined });
    return "";
  } catch (error) {
    if (error instanceof StatusError) return error.message;
    throw error;
  }
}

describe("whoever is no node", () => {
  it.each([
    { username: "ann", groups: ["system:nodes"] },
    { username: "system:node:n1", groups: [] },
  ])("is not limited: %j", async (user) => {
    expect(await reported(nodes, { user, name: "n2", object: node })).toBe("");
  });

  it("but says so may write nothing without a name", async () => {
    const user = { username: "system:node:", groups: ["system:nodes"] };
    expect(await reported(configMaps, { user, object: {} })).toContain("could not determine node from user");
  });
});

describe("a Node", () => {
  const withLabels = (...keys: readonly string[]): object => ({
    ...node,
    metadata: { ...node.metadata, labels: Object.fromEntries(keys.map((key) => [key, "x"])) },
  });

  it.each([
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "a.kubelet.kubernetes.io/b",
    "node.kubernetes.io/b",
    "example.com/b",
    "plain",
    "xkubernetes.io/b",
  ])("may have the label %s", async (key) => {
    expect(await reported(nodes, { object: withLabels(key) })).toBe("");
  });

  it.each([
    "node-restriction.kubernetes.io/a",
    "x.node-restriction.kubernetes.io/a",
    "node-role.kubernetes.io/control-plane",
    "kubernetes.io/other",
    "k8s.io/a",
    "a.k8s.io/b",
    "xkubelet.kubernetes.io/b",
  ])("may not have the label %s", async (key) => {
    const list = `nodes "n1" is forbidden: node "n1" is not allowed to set the following labels: ${key}`;
    expect(await reported(nodes, { object: withLabels(key) })).toBe(list);
    const change = `nodes "n1" is forbidden: is not allowed to modify labels: ${key}`;
    expect(await reported(nodes, { operation: "UPDATE", object: withLabels(key), oldObject: node })).toBe(change);
    expect(await reported(nodes, { operation: "UPDATE", object: node, oldObject: withLabels(key) })).toBe(change);
    expect(await reported(nodes, { operation: "UPDATE", object: withLabels(key), oldObject: withLabels(key) })).toBe(
      "",
    );
  });

  it("is not changed by another, nor in its taints and owners", async () => {
    expect(await reported(nodes, { name: "n2", object: node })).toContain('not allowed to modify node "n2"');
    expect(await reported(nodes, { name: "n2", operation: "DELETE" })).toContain('not allowed to modify node "n2"');
    const changed = (change: object): Promise<string> =>
      reported(nodes, { operation: "UPDATE", object: { ...node, ...change }, oldObject: node });
    expect(await changed({ spec: { taints: [{ key: "a", effect: "NoSchedule" }] } })).toContain("modify taints");
    expect(await changed({ metadata: { ...node.metadata, ownerReferences: [owner] } })).toContain("ownerReferences");
    expect(await changed({ spec: { configSource: { configMap: { name: "c" } } } })).toContain("configSource");
    expect(await changed({ spec: { taints: [] } })).toBe("");
  });
});

describe("a pod", () => {
  const mirror = (change: object = {}, spec: object = {}): object => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "m", annotations: { "kubernetes.io/config.mirror": "" }, ownerReferences: [owner], ...change },
    spec: { nodeName: "n1", containers: [{ name: "c" }], ...spec },
  });

  it.each<[object, string]>([
    [mirror(), ""],
    [mirror({}, { volumes: [{ hostPath: {} }, { projected: { sources: [{ downwardAPI: {} }] } }] }), ""],
    [mirror({ annotations: {} }), "can only create mirror pods"],
    [mirror({}, { nodeName: "n2" }), "spec.nodeName set to itself"],
    [mirror({ ownerReferences: [] }), "with an owner reference set to itself"],
    [mirror({ ownerReferences: [owner, owner] }), "with a single owner reference"],
    [mirror({ ownerReferences: [{ ...owner, name: "n2" }] }), "with an owner reference set to itself"],
    [mirror({ ownerReferences: [{ ...owner, controller: false }] }), "with a controller owner reference"],
    [mirror({ ownerReferences: [{ ...owner, blockOwnerDeletion: true }] }), "must not set blockOwnerDeletion"],
    [mirror({ ownerReferences: [{ ...owner, uid: "u2" }] }), "node n1 UID mismatch: expected u2 got u1"],
    [mirror({}, { serviceAccountName: "root" }), "reference serviceaccounts"],
    [mirror({}, { volumes: [{ secret: { secretName: "s" } }] }), "reference secrets"],
    [mirror({}, { volumes: [{ secret: {} }] }), "reference secrets (via secret volumes)"],
    [mirror({}, { containers: [{ envFrom: [{ configMapRef: { name: "c" } }] }] }), "reference configmaps"],
    [mirror({}, { volumes: [{ persistentVolumeClaim: { claimName: "c" } }] }), "reference persistentvolumeclaims"],
    [
      mirror({}, { volumes: [{ projected: { sources: [{ serviceAccountToken: {} }] } }] }),
      "reference serviceaccounts (via projected volumes)",
    ],
    [mirror({}, { volumes: [{ projected: { sources: [{ later: {} }] } }] }), "reference something unknown"],
    [mirror({}, { resourceClaims: [{ name: "r" }] }), "reference resourceclaims"],
  ])("%j is created, or not: %s", async (object, expected) => {
    const text = await reported(pods, { name: "m", object });
    expect(expected === "" ? [text] : text).toContain(expected);
  });

  it("of another node is not changed, evicted or deleted", async () => {
    expect(await reported(pods, { name: "q", operation: "DELETE", oldObject: otherPod })).toContain(
      "can only delete pods",
    );
    expect(await reported(pods, { name: "p", operation: "DELETE", oldObject: ownPod })).toBe("");
    expect(await reported(pods, { name: "q", subresource: "eviction", object: {} })).toContain("can only evict pods");
    const status = { operation: "UPDATE", subresource: "status" } as const;
    expect(await reported(pods, { ...status, object: ownPod, oldObject: otherPod })).toContain(
      "can only update pod status",
    );
    expect(await reported(pods, { ...status, object: ownPod, oldObject: ownPod })).toBe("");
    const labelled = { ...ownPod, metadata: { ...ownPod.metadata, labels: { a: "b" } } };
    expect(await reported(pods, { ...status, object: labelled, oldObject: ownPod })).toContain("cannot update labels");
    expect(await reported(pods, { operation: "UPDATE", object: ownPod, oldObject: ownPod })).toContain(
      "unexpected operation",
    );
    expect(await reported(pods, { subresource: "binding", object: {} })).toContain(
      'unexpected pod subresource "binding"',
    );
  });
});

describe("a token", () => {
  const bound = { apiVersion: "v1", kind: "Pod", name: "p", uid: "pod-1" };
  it.each<[object, string]>([
    [{ audiences: ["vault"], boundObjectRef: bound }, ""],
    [{ boundObjectRef: bound }, ""],
    [{ audiences: ["granted"], boundObjectRef: bound }, ""],
    [{ audiences: ["bank"], boundObjectRef: bound }, 'audience "bank" not found in pod spec volume'],
    [{ audiences: ["vault", ""], boundObjectRef: bound }, "node may only request 0 or 1 audiences"],
    [{}, "not bound to a pod"],
    [{ boundObjectRef: { ...bound, kind: "Secret" } }, "not bound to a pod"],
    [{ boundObjectRef: { ...bound, uid: "" } }, "without a uid"],
    [{ boundObjectRef: { ...bound, uid: "pod-2" } }, "does not match the UID in record"],
    [{ boundObjectRef: { ...bound, name: "q" } }, "scheduled on a different node"],
    [{ boundObjectRef: { ...bound, name: "nobody" } }, 'pods "nobody" not found'],
  ])("of %j is given, or not: %s", async (spec, expected) => {
    const text = await reported(serviceAccounts, { name: "sa", subresource: "token", object: { spec } });
    expect(expected === "" ? [text] : text).toContain(expected);
  });
});

describe("what else a node writes", () => {
  it("is its own lease and CSINode", async () => {
    expect(await reported(leases, { namespace: "kube-node-lease" })).toBe("");
    expect(await reported(leases, { namespace: "kube-node-lease", name: "n2" })).toContain("same name");
    expect(await reported(leases, {})).toContain('in the "kube-node-lease" system namespace');
    expect(await reported(csiNodes, {})).toBe("");
    expect(await reported(csiNodes, { name: "n2", operation: "DELETE" })).toContain("same name");
  });

  it("are requests for certificates of its own name", async () => {
    const csr = (signerName: string, commonName: string): object => ({
      spec: { signerName, request: Buffer.from(commonName).toString("base64") },
    });
    const client = "kubernetes.io/kube-apiserver-client-kubelet";
    const ask = (object: object): Promise<string> => reported(certificateSigningRequests, { name: "r", object });
    expect(await ask(csr(client, "system:node:n1"))).toBe("");
    expect(await ask(csr(client, "system:node:n2"))).toContain("CN=system:node:n1");
    expect(await ask(csr("kubernetes.io/kubelet-serving", "system:node:n"))).toContain("CN=system:node:n1");
    expect(await ask(csr(client, ""))).toContain("unable to parse csr");
    expect(await ask(csr("example.com/any", "anything"))).toBe("");
  });
});
