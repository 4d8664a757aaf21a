import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ApiObject } from "../../src/core/object.ts";
import { clustersPath, csrsPath, says } from "../kits/cluster-stage.ts";
import { startRealClusterHub, type RealClusterHub } from "../kits/peers-clusters.ts";
import { freePort, kubePrograms } from "../kits/peers-kube.ts";
import { ocmSuite } from "../kits/peers-ocm.ts";
import { eventually, goFlags, ofThisTest, spawnProcess } from "../kits/peers-process.ts";

const agentNamespace = "open-cluster-management-agent";
const limitMs = 120_000;

await ocmSuite("the registration agent of Open Cluster Management, on a real control plane", kubePrograms, (ocm) => {
  /** A hub by our controllers and our webhook, which is its own spoke. */
  let hub: RealClusterHub;

  beforeAll(async () => {
    hub = await startRealClusterHub();
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

  test(
    "joins, is let in by two decisions of people, beats and becomes available",
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
        // Before v1.3 it follows add-ons in v1alpha1, which a hub of ours converts and a definition alone cannot.
        "feature-gates": "AddonManagement=false",
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
    },
    limitMs,
  );
});
