import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { folderStore } from "../../src/credentials/storage/folder-store.ts";
import { mirroredStore, type KlusterletStore } from "../../src/credentials/storage/klusterlet-store.ts";
import { leaveHub } from "../../src/agent/klusterlet/leave-hub.ts";
import { secretStore } from "../../src/credentials/storage/secret-store.ts";
import { privateFiles } from "../../src/host/private-files.ts";
import { parseKubeconfig } from "../../src/client/kubeconfig.ts";
import { remoteClient, type RemoteClient } from "../../src/client/remote.ts";
import { resolveKubeconfig } from "../../src/client/resolve-kubeconfig.ts";
import { wallClock } from "../../src/host/system-clock.ts";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { clustersPath, isLetIn, says } from "../kits/cluster-stage.ts";
import { klusterletOptions, startKlusterlet, type KlusterletWish, type RunningKlusterlet } from "../kits/klusterlet.ts";
import { kubectlRunner } from "../kits/kubectl.ts";
import { startRealClusterHub, type RealClusterHub } from "../kits/peers-clusters.ts";
import { kubePrograms } from "../kits/peers-kube.ts";
import { eventually } from "../kits/peers-process.ts";
import { peerSuite } from "../kits/peers.ts";
import { keepSkipping, skippingClock } from "../kits/skipping-clock.ts";

const namespace = "open-cluster-management-agent";
const limitMs = 180_000;

peerSuite(kubePrograms, "a managed cluster's agent, with a real control plane as hub and as spoke", () => {
  let hub: RealClusterHub;
  let spoke: RemoteClient;
  const running: RunningKlusterlet[] = [];

  beforeAll(async () => {
    hub = await startRealClusterHub();
    const config = parseKubeconfig(await readFile(hub.kube.kubeconfig, "utf8"), hub.kube.kubeconfig);
    const { server, caPem, clientCertPem, clientKeyPem } = await resolveKubeconfig(config, { readFile });
    spoke = remoteClient({
      server,
      ...(caPem === undefined ? {} : { caPem }),
      ...(clientCertPem === undefined ? {} : { clientCertPem }),
      ...(clientKeyPem === undefined ? {} : { clientKeyPem }),
      userAgent: "klusterlet-test",
      timeoutMs: 30_000,
      clock: wallClock,
    });
  }, 240_000);
  afterEach(async () => {
    for (const one of running.splice(0)) await one.stop();
  });
  afterAll(async () => {
    spoke?.close();
    await hub?.stop();
  });

  const folder = (name: string): string => join(hub.kube.dir, `klusterlet-${name}`);
  const place = (name: string): KlusterletStore => folderStore(folder(name), privateFiles);

  function start(clusterName: string, wish: Partial<KlusterletWish> = {}): RunningKlusterlet {
    const one = startKlusterlet({
      bootstrapKubeconfigs: [hub.bootstrap],
      clusterName,
      store: place(clusterName),
      ...wish,
    });
    running.push(one);
    return one;
  }

  async function letIn(name: string, agent: RunningKlusterlet): Promise<void> {
    const { request } = await agent.told("requested");
    await hub.kube.kubectl.ok("certificate", "approve", request);
    await accept(name, true);
    await agent.told("available");
  }

  const accept = (name: string, accepts: boolean): Promise<unknown> =>
    hub.kube.kubectl.ok(
      "patch",
      "managedcluster",
      name,
      "--type=merge",
      "-p",
      JSON.stringify({ spec: { hubAcceptsClient: accepts } }),
    );

  const cluster = (name: string, holds: (object: ApiObject) => boolean): Promise<ApiObject> =>
    eventually(`cluster ${name}; the controller wrote ${hub.said()}`, async () => {
      const reply = await hub.admin(`${clustersPath}/${name}`);
      return reply.status === 200 && holds(reply.object()) ? reply.object() : undefined;
    });

  test(
    "joins, reports its version, and writes a kubeconfig that a client of Kubernetes uses",
    async () => {
      const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } };
      await hub.admin("/api/v1/nodes", { method: "POST", body: node });
      const capacity = { cpu: "4", memory: "8Gi" };
      const body = { status: { capacity, allocatable: { cpu: "3800m", memory: "7Gi" } } };
      await hub.admin("/api/v1/nodes/n1/status", { method: "PATCH", type: "application/merge-patch+json", body });
      const store = mirroredStore(secretStore(spoke, namespace), place("east"));
      const agent = start("east", { spoke, store });
      await letIn("east", agent);
      await cluster("east", says("ManagedClusterConditionAvailable", "True", "ManagedClusterAvailable"));
      const { status } = await cluster("east", ({ status: own }) => own !== undefined && "version" in (own as object));
      expect(status).toMatchObject({ version: { kubernetes: expect.stringMatching(/^v\d/) as unknown }, capacity });
      await cluster("east", says("ManagedClusterConditionClockSynced", "True"));
      const kubeconfig = join(folder("east"), "kubeconfig");
      const own = kubectlRunner({ home: join(hub.kube.dir, "east-home"), kubeconfig });
      expect((await own.ok("get", "managedcluster", "east", "-o", "name")).trim()).toBe(
        "managedcluster.cluster.open-cluster-management.io/east",
      );
      const secret = await hub.admin(`/api/v1/namespaces/${namespace}/secrets/hub-kubeconfig-secret`);
      expect(Object.keys(secret.object()["data"] as object)).toHaveLength(5);
    },
    limitMs,
  );

  test(
    "continues after a restart while pending, renews, is denied and returns",
    async () => {
      const clock = skippingClock();
      const first = start("west", { clock });
      const asked = await first.told("requested");
      await first.stop();
      // Kubernetes 1.22 and newer heed it; the clock below skips a quarter of an hour or so beyond the renewal.
      const agent = start("west", { clock, expirationSeconds: 30 * 86_400 });
      expect(await agent.told("requested")).toEqual({ ...asked, found: true });
      await letIn("west", agent);
      const { at } = await agent.told("planned");
      clock.skip(at - clock.now());
      await agent.told("renewed");
      await accept("west", false);
      await cluster("west", says("HubAcceptedManagedCluster", "False"));
      await agent.told("denied");
      agent.forget();
      await accept("west", true);
      await cluster("west", isLetIn);
      const stopSkipping = keepSkipping(clock, 10_000, 500);
      await agent.told("accepted").finally(stopSkipping);
    },
    limitMs,
  );

  test(
    "leaves, and joins again as another agent",
    async () => {
      const first = start("south");
      await letIn("south", first);
      await first.stop();
      const options = klusterletOptions({ bootstrapKubeconfigs: [hub.bootstrap], store: place("south") });
      const { signal } = new AbortController();
      expect(await leaveHub({ ...options, signal, report: () => undefined }, false)).toMatchObject({
        onHub: "nothing",
      });
      expect((await hub.admin(`${clustersPath}/south`)).status).toBe(404);
      await eventually("the namespace to go", async () =>
        (await hub.admin("/api/v1/namespaces/south")).status === 404 ? true : undefined,
      );
      const second = start("south");
      expect((await second.told("requested")).agent).not.toBe((await first.told("started")).agent);
      await letIn("south", second);
    },
    limitMs,
  );
});
