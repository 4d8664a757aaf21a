import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ApiObject } from "../apimachinery/object.ts";
import type { Attributes } from "./authorizer.ts";
import { nodeAuthorizer, nodeRules } from "./node.ts";
import { nodeGraph, type NodeGraph } from "./node-graph.ts";

const n1 = { username: "system:node:n1", groups: ["system:nodes", "system:authenticated"] };
const empty = { group: "", version: "v1", subresource: "", namespace: "", name: "", path: undefined };
const unrelated = "no relationship found between node 'n1' and this object";

function pod(name: string, spec: object, more: object = {}): ApiObject {
  return { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "ns", uid: name, ...more }, spec };
}

function graphOf(...pods: readonly ApiObject[]): NodeGraph {
  const graph = nodeGraph();
  pods.forEach((one) => graph.put(one));
  return graph;
}

const rich = pod("rich", {
  nodeName: "n1",
  serviceAccountName: "sa",
  imagePullSecrets: [{ name: "pull" }],
  initContainers: [{ envFrom: [{ secretRef: { name: "init-env" } }] }],
  containers: [
    { env: [{ valueFrom: { secretKeyRef: { name: "key" } } }, { valueFrom: { configMapKeyRef: { name: "cm-key" } } }] },
  ],
  ephemeralContainers: [{ envFrom: [{ configMapRef: { name: "cm-env" } }] }],
  volumes: [
    { name: "a", secret: { secretName: "volume" } },
    { name: "b", projected: { sources: [{ secret: { name: "projected" } }, { configMap: { name: "cm-projected" } }] } },
    { name: "c", persistentVolumeClaim: { claimName: "claim" } },
    { name: "d", ephemeral: {} },
    { name: "e", csi: { nodePublishSecretRef: { name: "csi" } } },
    { name: "f", configMap: { name: "cm" } },
  ],
});
const foreign = pod("foreign", { nodeName: "n2", volumes: [{ secret: { secretName: "theirs" } }] });
const waiting = pod("waiting", { volumes: [{ secret: { secretName: "unbound" } }] });
const mirror = pod(
  "mirror",
  { nodeName: "n1", serviceAccountName: "root", volumes: [{ secret: { secretName: "stolen" } }] },
  { annotations: { "kubernetes.io/config.mirror": "x" } },
);

/** `get secrets/name`, of `group`, in namespace ns unless told otherwise. */
function asked(text: string, change: Partial<Attributes> = {}): Attributes {
  const [verb = "", what = ""] = text.split(" ");
  const [resource = "", name = "", subresource = ""] = what.split("/");
  return { ...empty, user: n1, verb, resource, name, subresource, namespace: "ns", ...change };
}

async function decision(text: string, change: Partial<Attributes> = {}, graph?: NodeGraph): Promise<string> {
  const authorizer = nodeAuthorizer(graph ?? graphOf(rich, foreign, waiting, mirror));
  const { verdict, reason } = await authorizer.authorize(asked(text, change));
  return verdict === "allow" ? "allow" : reason;
}

const selecting = (key: string, value: string, operator: "In" | "NotIn" = "In"): Partial<Attributes> => ({
  fieldSelector: [{ key, operator, values: [value] }],
});

describe("a node reaches through its pods", () => {
  it.each([
    ...["pull", "init-env", "key", "volume", "projected", "csi"].map((name) => `get secrets/${name}`),
    ...["cm-key", "cm-env", "cm-projected", "cm"].map((name) => `watch configmaps/${name}`),
    "get persistentvolumeclaims/claim",
    "get persistentvolumeclaims/rich-d",
    "patch persistentvolumeclaims/claim/status",
    "get serviceaccounts/sa",
    "create serviceaccounts/sa/token",
    "get pods/rich",
    "get pods/mirror",
  ])("%s", async (text) => {
    expect(await decision(text)).toBe("allow");
  });

  it.each([
    "get secrets/theirs",
    "get secrets/unbound",
    "get secrets/stolen",
    "create serviceaccounts/root/token",
    "get secrets/nobody",
    "get configmaps/volume",
    "get pods/foreign",
    "get pods/waiting",
    "get persistentvolumeclaims/d",
  ])("and not %s", async (text) => {
    expect(await decision(text)).toBe(unrelated);
  });

  it("and not an object of the same name in another namespace, however that is written", async () => {
    expect(await decision("get secrets/volume", { namespace: "other" })).toBe(unrelated);
    const odd = pod("odd", { nodeName: "n1", volumes: [{ secret: { secretName: "b/c" } }] });
    expect(await decision("get secrets/c", { namespace: "ns/b", name: "c" }, graphOf(odd))).toBe(unrelated);
  });

  it("until the last of them is gone", async () => {
    const one = pod("one", { nodeName: "n1", volumes: [{ secret: { secretName: "s" } }] });
    const two = pod("two", { nodeName: "n1", volumes: [{ secret: { secretName: "s" } }] });
    const graph = graphOf(one, two, one);
    graph.remove(one);
    expect(await decision("get secrets/s", {}, graph)).toBe("allow");
    graph.remove(two);
    graph.remove(two);
    expect(await decision("get secrets/s", {}, graph)).toBe(unrelated);
  });

  it("and nothing more when a mirror pod loses its annotation", async () => {
    const { annotations: _, ...metadata } = mirror.metadata;
    expect(await decision("get secrets/stolen", {}, graphOf(mirror, { ...mirror, metadata }))).toBe(unrelated);
  });
});

describe("a node", () => {
  it.each<[string, Partial<Attributes>, string]>([
    ["update secrets/volume", {}, "can only read resources of this type"],
    ["get secrets/volume/x", {}, "cannot read subresource"],
    ["get secrets/volume", { namespace: "" }, "can only read namespaced object of this type"],
    ["list secrets", {}, "No Object name found"],
    ["list persistentvolumeclaims/claim", {}, "can only get individual resources of this type"],
    ["get persistentvolumeclaims/claim/status", {}, "can only get/update/patch this type"],
    ["get persistentvolumes/v", { namespace: "" }, unrelated],
    ["get volumeattachments/v", { group: "storage.k8s.io" }, unrelated],
    ["create serviceaccounts", {}, "can only create tokens for individual service accounts"],
    ["create serviceaccounts/sa/x", {}, "can only create token subresource of serviceaccount"],
    ["list pods", {}, "can only list/watch pods with spec.nodeName field selector"],
    ["list pods", selecting("spec.nodeName", "n1"), "allow"],
    ["watch pods", selecting("spec.nodeName", "n2"), "can only list/watch pods with spec.nodeName field selector"],
    [
      "list pods",
      selecting("spec.nodeName", "n1", "NotIn"),
      "can only list/watch pods with spec.nodeName field selector",
    ],
    ["list pods", selecting("metadata.name", "n1"), "can only list/watch pods with spec.nodeName field selector"],
    ["list pods/rich", selecting("metadata.name", "rich"), "allow"],
    ["update pods/rich", {}, ""],
    ["create pods/rich/exec", {}, ""],
    ["deletecollection pods", {}, ""],
    ["get nodes/n1", { namespace: "" }, "allow"],
    ["list nodes/n1", { namespace: "" }, "allow"],
    ["get nodes/n2", { namespace: "" }, "node 'n1' cannot read 'n2', only its own Node object"],
    ["list nodes", { namespace: "" }, "node 'n1' cannot read all nodes, only its own Node object"],
    ["delete nodes/n1", { namespace: "" }, ""],
    ["get nodes/n1/proxy", { namespace: "" }, ""],
    ["list services", {}, "allow"],
    ["get deployments/d", { group: "apps" }, ""],
    ["get podcertificaterequests/p", { group: "certificates.k8s.io" }, ""],
    ["create certificatesigningrequests", { group: "certificates.k8s.io", namespace: "" }, "allow"],
    ["get ", { path: "/metrics" }, ""],
  ])("asks to %s with %j and hears %j", async (text, change, expected) => {
    expect(await decision(text, change)).toBe(expected);
  });

  const own = { group: "coordination.k8s.io", namespace: "kube-node-lease" };
  it.each<[string, Partial<Attributes>, string]>([
    ["get leases/n1", own, "allow"],
    ["create leases", own, "allow"],
    ["update leases/n2", own, "can only access node lease with the same name as the requesting node"],
    ["list leases", own, "can only get, create, update, patch, or delete a node lease"],
    [
      "get leases/n1",
      { ...own, namespace: "kube-system" },
      'can only access leases in the "kube-node-lease" system namespace',
    ],
    ["get csinodes/n1", { group: "storage.k8s.io" }, "allow"],
    [
      "get csinodes/n2",
      { group: "storage.k8s.io" },
      "can only access CSINode with the same name as the requesting node",
    ],
    ["get csinodes/n1/x", { group: "storage.k8s.io" }, "cannot authorize CSINode subresources"],
    ["list resourceslices", { group: "resource.k8s.io", ...selecting("spec.nodeName", "n1") }, "allow"],
  ])("asks of its own to %s with %j and hears %j", async (text, change, expected) => {
    expect(await decision(text, change)).toBe(expected);
  });

  it.each([
    ["a user of that name without the group", { username: "system:node:n1", groups: [] }],
    ["a member of the group of another name", { username: "n1", groups: ["system:nodes"] }],
    ["a prefix in capitals", { username: "System:node:n1", groups: ["system:nodes"] }],
    ["a group that begins so", { username: "system:node:n1", groups: ["system:nodes:x"] }],
  ])("is not %s", async (_what, user) => {
    expect(await decision("get secrets/volume", { user })).toBe("");
    expect(nodeRules(user, "ns").incomplete).toBe(false);
  });

  it("without a name is told so, and has no rights", async () => {
    const user = { username: "system:node:", groups: ["system:nodes"] };
    expect(await decision("list services", { user })).toBe('unknown node for user "system:node:"');
  });

  it("is never denied, so that others may allow", async () => {
    const authorizer = nodeAuthorizer(graphOf());
    expect((await authorizer.authorize(asked("get secrets/x"))).verdict).toBe("noOpinion");
  });
});

describe("the graph", () => {
  const name = fc.constantFrom("a", "b", "c");
  const node = fc.constantFrom("", "n1", "n2");
  const step = fc.record({ remove: fc.boolean(), name, node, secrets: fc.uniqueArray(name) });

  it("holds after any steps what one made anew of the pods that are left holds", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const graph = nodeGraph();
        const left = new Map<string, ApiObject>();
        for (const { remove, name: own, node: nodeName, secrets } of steps) {
          // A pod that is bound stays where it is.
          const bound = left.get(own)?.["spec"] as { nodeName: string } | undefined;
          const volumes = secrets.map((secretName) => ({ secret: { secretName } }));
          const next = pod(own, { nodeName: bound?.nodeName || nodeName, volumes });
          if (remove) {
            graph.remove(next);
            left.delete(own);
          } else {
            graph.put(next);
            left.set(own, next);
          }
        }
        const anew = graphOf(...left.values());
        for (const secret of ["a", "b", "c"]) {
          for (const one of ["n1", "n2"]) {
            for (const kind of ["secrets", "pods"] as const) {
              const object = { namespace: "ns", name: secret };
              expect(graph.reaches(kind, object, one)).toBe(anew.reaches(kind, object, one));
            }
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});
