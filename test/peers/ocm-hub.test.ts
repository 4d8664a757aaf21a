import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { folderStore } from "../../src/credentials/storage/folder-store.ts";
import { privateFiles } from "../../src/host/private-files.ts";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { clustersPath, csrsPath, isLetIn, says } from "../kits/cluster-stage.ts";
import { startKlusterlet, type KlusterletWish, type RunningKlusterlet } from "../kits/klusterlet.ts";
import { freePort, kubePrograms, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";
import { accountKubeconfig } from "../kits/peers-manifests.ts";
import { ocmSuite } from "../kits/peers-ocm.ts";
import { eventually, goFlags, spawnProcess, type PeerProcess } from "../kits/peers-process.ts";
import { keepSkipping, skippingClock } from "../kits/skipping-clock.ts";

const limitMs = 180_000;
const available = "ManagedClusterConditionAvailable";
/** The kinds that the controller follows. */
const kinds =
  /^(?:cluster\/v1|cluster\/v1beta2|addon\/v1alpha1|work\/v1)\/[^/]*_(?:managedclusters|managedclustersets|managedclustersetbindings|managedclusteraddons|manifestworks)\.crd\.yaml$/;
const hubNamespace = "open-cluster-management-hub";

/** What the original's installer gives to those who bootstrap. */
const bootstrapRights = `
apiVersion: v1
kind: ServiceAccount
metadata: { name: agent-registration-bootstrap, namespace: ${hubNamespace} }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: bootstrap }
rules:
  - apiGroups: [certificates.k8s.io]
    resources: [certificatesigningrequests]
    verbs: [create, get, list, watch]
  - apiGroups: [cluster.open-cluster-management.io]
    resources: [managedclusters]
    verbs: [create, get, list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: bootstrap }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: bootstrap }
subjects: [{ kind: ServiceAccount, name: agent-registration-bootstrap, namespace: ${hubNamespace} }]
`;

/** Kubernetes 1.20 reads an empty default as null, which it refuses; without a default it takes no field as the key of a list. */
function asKubernetes120Takes(definition: string): string {
  return definition
    .replaceAll(/^ +default: ""\n/gm, "")
    .replaceAll(/^ +x-kubernetes-list-map-keys:\n +- group\n +- resource\n +x-kubernetes-list-type: map\n/gm, "");
}

await ocmSuite("our klusterlet, with the registration controller of Open Cluster Management", kubePrograms, (ocm) => {
  let kube: Kubernetes;
  let admin: ApiClient;
  let controller: PeerProcess;
  let bootstrap: string;
  const running: RunningKlusterlet[] = [];

  beforeAll(async () => {
    kube = await startKubernetes();
    admin = apiClient(kube);
    for (const definition of await ocm.definitions(kinds)) {
      await kube.kubectl.with({ input: asKubernetes120Takes(definition) }).ok("apply", "--validate=false", "-f", "-");
    }
    await kube.kubectl.ok("create", "namespace", hubNamespace);
    await kube.kubectl.with({ input: bootstrapRights }).ok("apply", "-f", "-");
    bootstrap = await accountKubeconfig(kube, "agent-registration-bootstrap", hubNamespace);
    const flags = goFlags({
      kubeconfig: kube.kubeconfig,
      namespace: hubNamespace,
      listen: `127.0.0.1:${await freePort()}`,
      "disable-leader-election": true,
    });
    controller = spawnProcess(ocm.registration, ["controller", ...flags], { home: kube.dir, deadlineMs: 600_000 });
  }, limitMs);

  afterEach(async () => {
    for (const one of running.splice(0)) await one.stop();
  });
  afterAll(async () => {
    admin?.close();
    await controller?.stop();
    await kube?.stop();
  });

  function start(clusterName: string, wish: Partial<KlusterletWish> = {}): RunningKlusterlet {
    const one = startKlusterlet({
      bootstrapKubeconfigs: [bootstrap],
      clusterName,
      store: folderStore(join(kube.dir, `klusterlet-${clusterName}`), privateFiles),
      ...wish,
    });
    running.push(one);
    return one;
  }

  const accept = (name: string, accepts: boolean): Promise<unknown> => {
    const patch = JSON.stringify({ spec: { hubAcceptsClient: accepts } });
    return kube.kubectl.ok("patch", "managedcluster", name, "--type=merge", "-p", patch);
  };

  async function letIn(name: string, agent: RunningKlusterlet): Promise<void> {
    const { request } = await agent.told("requested");
    await kube.kubectl.ok("certificate", "approve", request);
    await accept(name, true);
    await agent.told("available");
  }

  const cluster = (name: string, holds: (object: ApiObject) => boolean): Promise<ApiObject> =>
    eventually(`cluster ${name}; the controller wrote ${controller.printed().slice(-2000)}`, async () => {
      const reply = await admin(`${clustersPath}/${name}`);
      return reply.status === 200 && holds(reply.object()) ? reply.object() : undefined;
    });

  test(
    "joins, is accepted, becomes available and updates its lease",
    async () => {
      const agent = start("east");
      await letIn("east", agent);
      await cluster("east", isLetIn);
      await cluster("east", says("ManagedClusterJoined", "True", "ManagedClusterJoined"));
      await cluster("east", says(available, "True", "ManagedClusterAvailable"));
      await cluster("east", says("ManagedClusterConditionClockSynced", "True", "ManagedClusterClockSynced"));
      const untainted = await cluster("east", ({ spec }) => !Object.hasOwn(spec as object, "taints"));
      expect(untainted.metadata.finalizers).toContain("cluster.open-cluster-management.io/api-resource-cleanup");
    },
    limitMs,
  );

  test(
    "renews its certificate, which the original approves",
    async () => {
      const clock = skippingClock();
      const agent = start("west", { clock, expirationSeconds: 3600 });
      await letIn("west", agent);
      const { at } = await agent.told("planned");
      clock.skip(at - clock.now());
      const { request } = await agent.told("renewed");
      expect((await admin(`${csrsPath}/${request}`)).object()).toMatchObject({
        spec: { username: expect.stringMatching(/^system:open-cluster-management:west:/) as unknown },
        status: { conditions: [{ type: "Approved", reason: "AutoApprovedByHubCSRApprovingController" }] },
      });
    },
    limitMs,
  );

  test(
    "learns of its denial, and continues once it is accepted again",
    async () => {
      const clock = skippingClock();
      const agent = start("south", { clock });
      await letIn("south", agent);
      await accept("south", false);
      await cluster("south", says("HubAcceptedManagedCluster", "False", "HubClusterAdminDenied"));
      expect(await agent.told("denied")).toMatchObject({ kind: "denied" });
      agent.forget();
      await accept("south", true);
      await cluster("south", isLetIn);
      const stopSkipping = keepSkipping(clock, 10_000, 500);
      await agent.told("accepted").finally(stopSkipping);
    },
    limitMs,
  );
});
