import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { peerSuite } from "../kits/peers.ts";
import { tokenOn } from "../kits/peers-cluster.ts";
import { goFlags, runPeer } from "../kits/peers-process.ts";

const kubeadm = "../current/bin/kubeadm";
const limitMs = 120_000;

peerSuite([kubeadm, "kubectl"], "kubeadm 1.36.3 against the hub", () => {
  let hub: TestHub;

  beforeAll(async () => {
    hub = await startTestHub();
  });

  afterAll(() => hub?.close());

  const dataOf = async (name: string): Promise<unknown> =>
    (await hub.kubectl.json("-n", "kube-system", "get", "configmap", name))["data"];

  test("join reads the configuration of the cluster and of kubelets", { timeout: limitMs }, async () => {
    const token = await tokenOn(hub.kubectl);
    const flags = goFlags({
      token,
      "discovery-token-ca-cert-hash": hub.hub.caPin,
      "node-name": "newcomer",
      "ignore-preflight-errors": "all",
      "cri-socket": "unix:///nonexistent.sock",
      v: 6,
    });
    const { printed } = await runPeer(kubeadm, ["join", "phase", "preflight", `127.0.0.1:${hub.port}`, ...flags], {
      home: hub.dir,
    });
    expect(printed).toContain('Reading configuration from the "kubeadm-config" ConfigMap');
    expect(printed).toMatch(/configmaps\/kubeadm-config\?timeout=10s" status="200 OK"/);
    expect(printed).toMatch(/configmaps\/kubelet-config\?timeout=10s" status="200 OK"/);
    expect(printed).not.toContain("failed to decode");
    expect(printed).not.toContain("error execution phase");
  });

  test("init would write the same objects, but for its own patch release", { timeout: limitMs }, async () => {
    const own = { cluster: await dataOf("kubeadm-config"), kubelet: await dataOf("kubelet-config") };
    const config = join(hub.dir, "kubeadm.yaml");
    await writeFile(config, initConfiguration);
    const flags = ["--config", config, "--kubeconfig", hub.kubeconfig];
    const { code, printed } = await runPeer(kubeadm, ["init", "phase", "upload-config", "all", ...flags], {
      home: hub.dir,
    });
    expect([code, printed]).toEqual([0, printed]);
    expect({ cluster: await dataOf("kubeadm-config"), kubelet: await dataOf("kubelet-config") }).toEqual(own);
  });
});

const initConfiguration = `apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: { advertiseAddress: 10.0.0.1, bindPort: 6443 }
nodeRegistration: { criSocket: "unix:///nonexistent.sock", name: first }
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v1.36.0
`;
