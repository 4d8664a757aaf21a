import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startFakeHub, type FakeHub } from "../kits/fake-hub.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { peerSuite } from "../kits/peers.ts";
import { tokenOn } from "../kits/peers-cluster.ts";
import { eventually, goFlags, runPeer, startPeer, type PeerProcess } from "../kits/peers-process.ts";

const limitMs = 180_000;
const validated =
  "Cluster info signature and contents are valid and TLS certificate validates against pinned roots, will use API Server";

peerSuite(["kubeadm", "kubectl"], "kubeadm init and join against the hub", () => {
  let hub: TestHub;
  let token: string;

  beforeAll(async () => {
    hub = await startTestHub();
    token = await tokenOn(hub.kubectl);
    await eventually("the token's signature", async () => (await clusterInfo())[`jws-kubeconfig-${token.slice(0, 6)}`]);
  });

  afterAll(() => hub?.close());

  async function clusterInfo(): Promise<Readonly<Record<string, string>>> {
    const map = await hub.kubectl.json("-n", "kube-public", "get", "configmap", "cluster-info");
    return map["data"] as Readonly<Record<string, string>>;
  }

  interface Wishes {
    readonly endpoint?: string;
    readonly token?: string;
    readonly pin?: string;
  }

  /** The phase that finds the cluster and reads its configuration, and changes nothing on the machine. */
  function joinPreflight(wishes: Wishes = {}): PeerProcess {
    const { endpoint = `127.0.0.1:${hub.port}`, pin = hub.hub.caPin } = wishes;
    const flags = goFlags({
      token: wishes.token ?? token,
      "discovery-token-ca-cert-hash": pin,
      "node-name": "newcomer",
      "ignore-preflight-errors": "all",
      "cri-socket": "/nonexistent.sock",
      v: 6,
    });
    return startPeer("kubeadm", ["join", "phase", "preflight", endpoint, ...flags], { home: hub.dir });
  }

  /** Somebody with another CA who answers in the hub's place, with whatever cluster-info. */
  async function withImpostor(
    data: Readonly<Record<string, string>>,
    body: (impostor: FakeHub) => Promise<void>,
  ): Promise<void> {
    const impostor = await startFakeHub();
    impostor.data = data;
    try {
      await body(impostor);
      expect(impostor.seen.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
    } finally {
      await impostor.close();
    }
  }

  test("join finds the hub by token and pin", { timeout: limitMs }, async () => {
    const kubeadm = joinPreflight();
    await kubeadm.until(/Cluster info signature and contents are valid/);
    expect(kubeadm.printed()).toContain(`${validated} "127.0.0.1:${hub.port}"`);
    await kubeadm.until(/Using provided TLSBootstrapToken as authentication credentials for the join process/);
    // The hub's own kubeadm-config is of a version that this kubeadm does not decode; it can read one that kubeadm init has written.
    await kubeadm.until(/configmaps\/kubeadm-config\?timeout=10s 200 OK/);
    await kubeadm.stop();
  });

  test("join refuses the hub for a pin of another CA", { timeout: limitMs }, async () => {
    const { code, printed } = await joinPreflight({ pin: `sha256:${"0".repeat(64)}` }).done;
    expect(code).not.toBe(0);
    expect(printed).toContain(`none of the public keys "${hub.hub.caPin}" are pinned`);
    expect(printed).not.toContain(validated);
  });

  test("join refuses a cluster-info that was changed after it was signed", { timeout: limitMs }, async () => {
    const signed = await clusterInfo();
    const kubeconfig = signed["kubeconfig"]?.replace("127.0.0.1", "127.0.0.2") ?? "";
    await withImpostor({ ...signed, kubeconfig }, async (impostor) => {
      const { code, printed } = await joinPreflight({ endpoint: impostor.endpoint }).done;
      expect(code).not.toBe(0);
      expect(printed).toContain(
        "failed to verify JWS signature of received cluster info object, can't trust this API Server",
      );
    });
  });

  test("join refuses who repeats the hub's cluster-info under another CA", { timeout: limitMs }, async () => {
    await withImpostor(await clusterInfo(), async (impostor) => {
      const kubeadm = joinPreflight({ endpoint: impostor.endpoint });
      await kubeadm.until(/again to validate TLS against the pinned public key/);
      await kubeadm.until(/x509: certificate signed by unknown authority/);
      expect((await kubeadm.stop()).printed).not.toContain(validated);
    });
  });

  test("a token of another secret does not verify the hub", { timeout: limitMs }, async () => {
    const { code, printed } = await joinPreflight({ token: `${token.slice(0, 7)}0000000000000000` }).done;
    expect(code).not.toBe(0);
    expect(printed).toContain(
      "failed to verify JWS signature of received cluster info object, can't trust this API Server",
    );
  });

  test(
    "init puts its configuration and joining rules there, and join reads them with its token",
    { timeout: limitMs },
    async () => {
      const config = join(hub.dir, "kubeadm.yaml");
      await writeFile(config, initConfiguration(hub.port));
      const node = {
        apiVersion: "v1",
        kind: "Node",
        metadata: { name: "first", labels: { "kubernetes.io/hostname": "first" } },
      };
      await hub.kubectl.with({ input: JSON.stringify(node) }).ok("create", "-f", "-");
      const init = async (...phase: readonly string[]): Promise<void> => {
        const flags = ["--config", config, "--kubeconfig", hub.kubeconfig, "--v=1"];
        const { code, printed } = await runPeer("kubeadm", ["init", "phase", ...phase, ...flags], { home: hub.dir });
        expect([code, printed]).toEqual([0, printed]);
      };
      await init("upload-config", "all");
      await init("bootstrap-token", "--skip-token-print");
      const annotation = "jsonpath={.metadata.annotations.kubeadm\\.alpha\\.kubernetes\\.io/cri-socket}";
      expect(await hub.kubectl.ok("get", "node", "first", "-o", annotation)).toBe("/nonexistent.sock");

      // How it ends depends on the machine's routes; what it asked of the hub does not.
      const { printed } = await joinPreflight({ token: "zzzzzz.0123456789abcdef" }).done;
      expect(printed).toContain(validated);
      expect(printed).toMatch(/configmaps\/kubeadm-config\?timeout=10s 200 OK/);
      expect(printed).toMatch(/configmaps\/kubelet-config-1\.20\?timeout=10s 200 OK/);
    },
  );
});

function initConfiguration(port: number): string {
  return `apiVersion: kubeadm.k8s.io/v1beta2
kind: InitConfiguration
localAPIEndpoint: { advertiseAddress: 10.0.0.1, bindPort: ${port} }
bootstrapTokens: [{ token: zzzzzz.0123456789abcdef }]
nodeRegistration: { criSocket: /nonexistent.sock, name: first }
---
apiVersion: kubeadm.k8s.io/v1beta2
kind: ClusterConfiguration
kubernetesVersion: v1.20.2
controlPlaneEndpoint: 127.0.0.1:${port}
`;
}
