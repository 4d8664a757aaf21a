import { X509Certificate } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { certificateOf, clustersPath, csrsPath, isLetIn, says, startClusterStage } from "../kits/cluster-stage.ts";
import type { ClusterStage } from "../kits/cluster-stage.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { freePort } from "../kits/peers-kube.ts";
import { ocmSuite } from "../kits/peers-ocm.ts";
import { eventually, goFlags, ofThisTest, spawnProcess, type PeerProcess } from "../kits/peers-process.ts";

const merge = "application/merge-patch+json";
const agentNamespace = "open-cluster-management-agent";
const claimVersion = "cluster.open-cluster-management.io/v1alpha1";
const available = "ManagedClusterConditionAvailable";
const limitMs = 180_000;
const touchMs = 2000;
/** With the five minutes by which the signer backdates, an agent renews once few seconds of this have passed. */
const signingSeconds = 104;

await ocmSuite("the registration agent of Open Cluster Management", ["kubectl"], (ocm) => {
  let stage: ClusterStage;
  /** The cluster that the agents are of; another hub of ours serves its API. */
  let spoke: TestHub;
  let onSpoke: ApiClient;
  const secrets = `/api/v1/namespaces/${agentNamespace}/secrets`;

  beforeAll(async () => {
    stage = await startClusterStage({ clusterSigningDurationSeconds: signingSeconds });
    spoke = await startTestHub();
    onSpoke = apiClient(spoke);
    await spoke.kubectl.ok("create", "namespace", agentNamespace);
    for (const definition of await ocm.definitions(/\.io_clusterclaims\.crd\.yaml$/)) {
      await spoke.kubectl.with({ input: definition }).ok("apply", "-f", "-");
    }
    const claim = `{apiVersion: ${claimVersion}, kind: ClusterClaim, metadata: {name: id.k8s.io}, spec: {value: number-7}}`;
    await spoke.kubectl.with({ input: claim }).ok("apply", "-f", "-");
  }, limitMs);

  afterAll(async () => {
    onSpoke?.close();
    await spoke?.close();
    await stage?.close();
  });

  /** Starts an agent that keeps its credential in the spoke, in a secret of its own. */
  async function startAgent(cluster: string): Promise<PeerProcess> {
    const folder = join(spoke.dir, cluster);
    await mkdir(folder);
    const flags = goFlags({
      kubeconfig: spoke.kubeconfig,
      namespace: agentNamespace,
      listen: `127.0.0.1:${await freePort()}`,
      "disable-leader-election": true,
      "bootstrap-kubeconfig": await stage.hub.kubeconfigOf("booter"),
      "bootstrap-kubeconfig-secret": `bootstrap-${cluster}`,
      "hub-kubeconfig-dir": folder,
      "hub-kubeconfig-secret": `hub-${cluster}`,
      "spoke-cluster-name": cluster,
      "cluster-healthcheck-period": "1s",
    });
    return ofThisTest(spawnProcess(ocm.registration, ["agent", ...flags], { home: folder, deadlineMs: limitMs }));
  }

  const requestsOf = async (cluster: string, addOn?: string): Promise<readonly ApiObject[]> => {
    const label = `open-cluster-management.io/cluster-name=${cluster}`;
    const also =
      addOn === undefined ? "!open-cluster-management.io/addon-name" : `open-cluster-management.io/addon-name=${addOn}`;
    return (await stage.admin(`${csrsPath}?labelSelector=${encodeURIComponent(`${label},${also}`)}`)).items();
  };

  /** Lets a cluster in as people do: its request is approved, and it is accepted. */
  async function letIn(cluster: string): Promise<void> {
    const request = await eventually(`a request of ${cluster}`, async () => (await requestsOf(cluster))[0]);
    await eventually(`cluster ${cluster}`, async () =>
      (await stage.admin(`${clustersPath}/${cluster}`)).status === 200 ? true : undefined,
    );
    await stage.approve(request.metadata.name ?? "");
    await stage.accept(cluster);
    await stage.cluster(cluster, isLetIn);
  }

  const dataOf = async (secret: string): Promise<Readonly<Record<string, string>>> => {
    const { data = {} } = (await onSpoke(`${secrets}/${secret}`)).object() as ApiObject & {
      readonly data?: Readonly<Record<string, string>>;
    };
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
    );
  };

  /** Returns once the heartbeat has gone on twice, every second. */
  async function beats(cluster: string): Promise<void> {
    const body = { spec: { leaseDurationSeconds: 1 } };
    await stage.admin(`${clustersPath}/${cluster}`, { method: "PATCH", type: merge, body });
    const times = new Set<string>();
    await eventually(`two heartbeats of ${cluster}`, async () => {
      const path = `/apis/coordination.k8s.io/v1/namespaces/${cluster}/leases/managed-cluster-lease`;
      const { spec } = (await stage.admin(path)).object() as { readonly spec?: { readonly renewTime?: string } };
      times.add(spec?.renewTime ?? "");
      return times.size > 2 ? true : undefined;
    });
  }

  const serialOf = async (cluster: string): Promise<string> =>
    new X509Certificate((await dataOf(`hub-${cluster}`))["tls.crt"] ?? "").serialNumber;

  test(
    "joins by two decisions, updates its lease, reports the status of its cluster, and renews its certificate",
    async () => {
      const agent = await startAgent("east");
      const request = await eventually("a request", async () => (await requestsOf("east"))[0]);
      expect((await onSpoke(`${secrets}/hub-east`)).status).toBe(404);
      expect(certificateOf(request)).toBe("");
      await letIn("east");
      await stage.cluster("east", says("ManagedClusterJoined", "True", "ManagedClusterJoined"));
      const told = await stage.cluster("east", says(available, "True"));
      expect(told["status"]).toMatchObject({ version: { kubernetes: expect.stringMatching(/^v\d/) } });
      expect(Object.keys(await dataOf("hub-east")).toSorted()).toEqual([
        "agent-name",
        "cluster-name",
        "kubeconfig",
        "tls.crt",
        "tls.key",
      ]);
      await beats("east");
      const before = await serialOf("east");
      // It looks at its certificate whenever the secret changes, and otherwise every five minutes. Changes that follow each other
      // faster than it writes would keep it from writing.
      let touched = 0;
      await eventually("another certificate", async () => {
        if ((await serialOf("east")) !== before) return true;
        if (Date.now() - touched < touchMs) return undefined;
        touched = Date.now();
        const body = { metadata: { annotations: { touched: String(touched) } } };
        await onSpoke(`${secrets}/hub-east`, { method: "PATCH", type: merge, body });
        return undefined;
      });
      const [, renewal] = (await requestsOf("east")).toSorted((a, b) =>
        (a.metadata.creationTimestamp ?? "").localeCompare(b.metadata.creationTimestamp ?? ""),
      );
      expect(renewal?.["spec"]).toMatchObject({
        username: expect.stringMatching(/^system:open-cluster-management:east:[a-z0-9]{5}$/),
      });
      await stage.cluster("east", says("ManagedClusterConditionClockSynced", "True"));
      expect(agent.printed()).not.toMatch(/forbidden/i);
    },
    limitMs,
  );

  test(
    "reports the claims of its cluster, and by an Event that it is available",
    async () => {
      await startAgent("west");
      await letIn("west");
      const claims = (one: ApiObject): readonly unknown[] =>
        (one["status"] as { readonly clusterClaims?: readonly unknown[] } | undefined)?.clusterClaims ?? [];
      const told = await stage.cluster("west", (one) => claims(one).length > 0);
      expect(claims(told)).toEqual([{ name: "id.k8s.io", value: "number-7" }]);
      const events = await eventually("an event", async () => {
        const all = (await stage.admin("/api/v1/namespaces/west/events")).items();
        return all.find((one) => one["reason"] === "Available");
      });
      expect(events).toMatchObject({ reportingComponent: "klusterlet-agent", type: "Normal" });
    },
    limitMs,
  );

  test(
    "gets a certificate for the agent of an add-on, and reports its driver",
    async () => {
      await startAgent("north");
      await letIn("north");
      const path = "/apis/addon.open-cluster-management.io/v1beta1/namespaces/north/managedclusteraddons";
      const logs = { kind: "ManagedClusterAddOn", metadata: { name: "logs" }, spec: {} };
      const made = { apiVersion: "addon.open-cluster-management.io/v1beta1", ...logs };
      expect((await stage.admin(path, { method: "POST", body: made })).status).toBe(201);
      const groups = [
        "system:open-cluster-management:cluster:north:addon:logs",
        "system:open-cluster-management:addon:logs",
      ];
      const registrations = [{ type: "kubeClient", kubeClient: { subject: { user: "", groups } } }];
      await stage.admin(`${path}/logs/status`, {
        method: "PATCH",
        type: merge,
        body: { status: { namespace: agentNamespace, registrations } },
      });
      const keys = await eventually("the secret of the add-on", async () =>
        (await onSpoke(`${secrets}/logs-hub-kubeconfig`)).status === 200
          ? Object.keys(await dataOf("logs-hub-kubeconfig"))
          : undefined,
      );
      expect(keys.toSorted()).toEqual(["cluster-name", "kubeconfig", "tls.crt", "tls.key"]);
      const { subject } = new X509Certificate((await dataOf("logs-hub-kubeconfig"))["tls.crt"] ?? "");
      expect(subject).toMatch(/^CN=system:open-cluster-management:cluster:north:addon:logs:agent:[a-z0-9]{5}$/m);
      expect((await stage.admin(`${path}/logs`)).object()["status"]).toMatchObject({
        namespace: agentNamespace,
        registrations: [{ type: "kubeClient", kubeClient: { driver: "csr" } }],
      });
    },
    limitMs,
  );

  test(
    "loses access by a denial, and its certificate stays rejected",
    async () => {
      const agent = await startAgent("south");
      await letIn("south");
      await stage.cluster("south", says(available, "True"));
      const own = await dataOf("hub-south");
      const client = apiClient(stage.hub, { certPem: own["tls.crt"] ?? "", keyPem: own["tls.key"] ?? "" });
      try {
        expect((await client(`${clustersPath}/south`)).status).toBe(200);
        await stage.accept("south", stage.admin, false);
        await stage.cluster("south", says("HubAcceptedManagedCluster", "False", "HubClusterAdminDenied"));
        await agent.until(/Unauthorized/);
        expect((await client(`${clustersPath}/south`)).status).toBe(401);
        await stage.accept("south");
        await stage.cluster("south", isLetIn);
        expect((await client(`${clustersPath}/south`)).status).toBe(401);
      } finally {
        client.close();
      }
    },
    limitMs,
  );

  test(
    "returns after a new installation as another agent, once that is approved",
    async () => {
      const first = await startAgent("centre");
      await letIn("centre");
      await stage.cluster("centre", says(available, "True"));
      const before = await dataOf("hub-centre");
      await first.stop();
      await onSpoke(`${secrets}/hub-centre`, { method: "DELETE" });
      await rm(join(spoke.dir, "centre"), { recursive: true });
      await startAgent("centre");
      const request = await eventually("another request", async () =>
        (await requestsOf("centre")).find((one) => certificateOf(one) === ""),
      );
      expect(request["spec"]).toMatchObject({ username: "booter" });
      await stage.approve(request.metadata.name ?? "");
      const after = await eventually("another credential", async () => {
        const data = await dataOf("hub-centre");
        return data["tls.crt"] === undefined ? undefined : data;
      });
      expect(after["agent-name"]).not.toBe(before["agent-name"]);
      await beats("centre");
    },
    limitMs,
  );
});
