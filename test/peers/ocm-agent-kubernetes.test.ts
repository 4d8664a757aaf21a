import { X509Certificate } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { fieldListAt, stringAt } from "../../src/apis/json-fields.ts";
import { clustersPath, csrsPath, says } from "../kits/cluster-stage.ts";
import { startRealClusterHub, type RealClusterHub } from "../kits/peers-clusters.ts";
import { freePort, kubePrograms } from "../kits/peers-kube.ts";
import { ocmSuite } from "../kits/peers-ocm.ts";
import { eventually, goFlags, ofThisTest, spawnProcess } from "../kits/peers-process.ts";

const agentNamespace = "open-cluster-management-agent";
const limitMs = 180_000;

await ocmSuite("the registration agent of Open Cluster Management, on a real control plane", kubePrograms, (ocm) => {
  /** A hub by our controllers and our webhook, which is its own spoke. */
  let hub: RealClusterHub;

  beforeAll(async () => {
    // Before v1.3 it follows add-ons in v1alpha1.
    hub = await startRealClusterHub(["--older-add-ons"]);
    const { kubectl } = hub.kube;
    await kubectl.ok("create", "namespace", agentNamespace);
    for (const definition of await ocm.definitions(/_clusterclaims\.crd\.yaml$/)) {
      await kubectl.with({ input: definition }).ok("apply", "--validate=false", "-f", "-");
    }
  }, limitMs);

  afterAll(async () => {
    await hub?.stop();
  });

  const cluster = (holds: (object: ApiObject) => boolean): Promise<ApiObject> =>
    eventually(`cluster east; ours wrote ${hub.said()}`, async () => {
      const reply = await hub.admin(`${clustersPath}/east`);
      return reply.status === 200 && holds(reply.object()) ? reply.object() : undefined;
    });

  /** An add-on in v1beta1, whose driver the agent notes in v1alpha1, and for whose agent it gets a certificate. */
  async function registersAddOn(): Promise<void> {
    const path = "/apis/addon.open-cluster-management.io/v1beta1/namespaces/east/managedclusteraddons";
    const logs = { kind: "ManagedClusterAddOn", metadata: { name: "logs" }, spec: {} };
    const body = { apiVersion: "addon.open-cluster-management.io/v1beta1", ...logs };
    expect((await hub.admin(path, { method: "POST", body })).status).toBe(201);
    const groups = [
      "system:open-cluster-management:cluster:east:addon:logs",
      "system:open-cluster-management:addon:logs",
    ];
    const registrations = [{ type: "kubeClient", kubeClient: { subject: { user: "", groups } } }];
    await hub.admin(`${path}/logs/status`, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: { status: { namespace: agentNamespace, registrations } },
    });
    const secret = await eventually(`the secret of the add-on; ours wrote ${hub.said()}`, async () => {
      const reply = await hub.admin(`/api/v1/namespaces/${agentNamespace}/secrets/logs-hub-kubeconfig`);
      const data = reply.status === 200 ? (reply.object()["data"] as Readonly<Record<string, string>>) : {};
      return data["tls.crt"] === undefined ? undefined : data;
    });
    const { subject } = new X509Certificate(Buffer.from(secret["tls.crt"] ?? "", "base64"));
    expect(subject).toMatch(/^CN=system:open-cluster-management:cluster:east:addon:logs:agent:[a-z0-9]{5}$/m);
    await eventually("its driver", async () => {
      const { status } = (await hub.admin(`${path}/logs`)).object();
      const [own] = fieldListAt(status, "registrations");
      return stringAt(own, "kubeClient", "driver") === "csr" ? true : undefined;
    });
  }

  test(
    "joins by two decisions of people, becomes available, and follows an add-on in the version that it knows",
    async () => {
      const { kube, admin, bootstrap } = hub;
      const folder = join(kube.dir, "agent");
      await mkdir(folder);
      const flags = goFlags({
        kubeconfig: kube.kubeconfig,
        namespace: agentNamespace,
        listen: `127.0.0.1:${await freePort()}`,
        "disable-leader-election": true,
        "bootstrap-kubeconfig": bootstrap,
        "hub-kubeconfig-dir": folder,
        "spoke-cluster-name": "east",
        "cluster-healthcheck-period": "1s",
      });
      const agent = ofThisTest(
        spawnProcess(ocm.registration, ["agent", ...flags], { home: folder, deadlineMs: limitMs }),
      );
      const request = await eventually(`a request; the agent wrote ${agent.printed()}`, async () => {
        const selector = encodeURIComponent("open-cluster-management.io/cluster-name=east");
        return (await admin(`${csrsPath}?labelSelector=${selector}`)).items()[0];
      });
      await kube.kubectl.ok("certificate", "approve", request.metadata.name ?? "");
      await cluster(() => true);
      await kube.kubectl.ok("patch", "managedcluster", "east", "--type=merge", '-p={"spec":{"hubAcceptsClient":true}}');
      await cluster(says("HubAcceptedManagedCluster", "True", "HubClusterAdminAccepted"));
      await cluster(says("ManagedClusterJoined", "True", "ManagedClusterJoined"));
      await cluster(says("ManagedClusterConditionClockSynced", "True"));
      const told = await cluster(says("ManagedClusterConditionAvailable", "True", "ManagedClusterAvailable"));
      expect(told["status"]).toMatchObject({ version: { kubernetes: expect.stringMatching(/^v\d/) as unknown } });
      await agent.until(/reason="Available"/);
      await registersAddOn();
    },
    limitMs,
  );
});
