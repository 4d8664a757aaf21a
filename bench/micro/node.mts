// The graph of mode Node with many nodes and pods: how long it takes to build, what it holds, and decisions a second of processor time.
import type { Attributes } from "../../src/authorization/authorizer.ts";
import { nodeAuthorizer } from "../../src/authorization/node.ts";
import { nodeGraph } from "../../src/authorization/node-graph.ts";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { isQuick, perCpuSecond, print, rounded } from "./measure.mts";

const nodes = isQuick() ? 500 : 5000;
const podsPerNode = 30;
const pods = nodes * podsPerNode;
const namespaces = 200;

/** Each pod speaks of an account, a secret and a configmap that others of its kind share, and of a claim of its own. */
function pod(index: number): ApiObject {
  const kind = index % (pods / podsPerNode);
  const text = JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `pod-${index}`, namespace: `ns-${kind % namespaces}`, uid: `uid-${index}` },
    spec: {
      nodeName: `node-${(index * 7919) % nodes}`,
      serviceAccountName: `account-${kind}`,
      containers: [{ name: "c", image: "i", envFrom: [{ configMapRef: { name: `settings-${kind}` } }] }],
      volumes: [
        { name: "secret", secret: { secretName: `secret-${kind}` } },
        { name: "claim", persistentVolumeClaim: { claimName: `claim-${index}` } },
        {
          name: "token",
          projected: {
            sources: [{ serviceAccountToken: { path: "token" } }, { configMap: { name: "kube-root-ca.crt" } }],
          },
        },
      ],
    },
  });
  return JSON.parse(text) as ApiObject;
}

function heapMiB(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

/** The time of making the pods is not that of the graph. */
function build(put: (pod: ApiObject) => void): number {
  let micros = 0;
  for (let first = 0; first < pods; first += 1000) {
    const some = Array.from({ length: Math.min(1000, pods - first) }, (_, index) => pod(first + index));
    const start = process.cpuUsage();
    for (const one of some) put(one);
    const { user, system } = process.cpuUsage(start);
    micros += user + system;
  }
  return micros / 1e6;
}

/** Half of the questions are about what a pod of the node speaks of. */
function requests(): readonly Attributes[] {
  return Array.from({ length: 8192 }, (_, at): Attributes => {
    const index = (at * 104_729) % pods;
    const { metadata, spec } = pod(index) as ApiObject & { readonly spec: { readonly nodeName: string } };
    const node = at % 2 === 0 ? spec.nodeName : `node-${(at * 31) % nodes}`;
    const text = JSON.stringify({
      user: { username: `system:node:${node}`, groups: ["system:nodes", "system:authenticated"] },
      verb: "get",
      group: "",
      version: "v1",
      resource: at % 3 === 0 ? "configmaps" : "secrets",
      subresource: "",
      namespace: metadata.namespace,
      name: at % 3 === 0 ? `settings-${index % (pods / podsPerNode)}` : `secret-${index % (pods / podsPerNode)}`,
    });
    return { ...(JSON.parse(text) as Attributes), path: undefined };
  });
}

const before = heapMiB();
const graph = nodeGraph();
const cpuSeconds = build((one) => graph.put(one));
const heap = heapMiB() - before;
print({ bench: "node", name: "build", nodes, pods, cpuSeconds: rounded(cpuSeconds), heapMiB: rounded(heap) });

const { authorize } = nodeAuthorizer(graph);
const load = requests();
let allowed = 0;
let asked = 0;
const rate = await perCpuSecond(
  async (index) => {
    const { verdict } = await authorize(load[index % load.length] as Attributes);
    asked += 1;
    if (verdict === "allow") allowed += 1;
  },
  isQuick() ? 50 : 300,
);
print({
  bench: "node",
  name: "decide",
  nodes,
  pods,
  allowedShare: rounded(allowed / asked),
  perCpuSecond: rounded(rate),
});

const again = Array.from({ length: 4096 }, (_, at) => pod((at * 104_729) % pods));
const updates = await perCpuSecond(
  (index) => {
    const one = again[index % again.length] as ApiObject;
    graph.remove(one);
    graph.put(one);
  },
  isQuick() ? 50 : 300,
);
print({ bench: "node", name: "replace a pod", nodes, pods, perCpuSecond: rounded(updates) });
