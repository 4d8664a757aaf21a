import { spawnSync } from "node:child_process";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { peerSuite } from "../kits/peers.ts";
import { requests, tokenOn, type ShownRequest } from "../kits/peers-cluster.ts";
import { machine } from "../kits/peers-kubelet.ts";
import { eventually } from "../kits/peers-process.ts";
import { pretendedRuntime } from "../kits/pretended-runtime.ts";

const limitMs = 90_000;
const node = "serving-1";
const address = Object.values(networkInterfaces())
  .flatMap((list) => list ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

peerSuite(["kubelet", "kubectl"], "a real kubelet that serves with a certificate of the hub", () => {
  let hub: TestHub;

  beforeAll(async () => {
    // A certificate begins some minutes before it is asked for: one that lives for half a minute is in its last tenth at once.
    hub = await startTestHub({
      authorizationModes: ["Node", "RBAC"],
      clusterSigningDurationSeconds: 30,
      servingApproval: { providers: ["inventory"] },
    });
  });

  afterAll(() => hub?.close());

  test(
    "waits for the inventory to name its address, and then renews again and again",
    { timeout: limitMs },
    async () => {
      const token = await tokenOn(hub.kubectl);
      const host = machine({ node, server: hub.url, ca: hub.ca, token, within: hub.dir });
      const port = await freePort();
      // The kubelet mounts its folder onto itself and leaves it so.
      onTestFinished(() => void spawnSync("umount", [join(host.dir, "root")]));
      const runtime = await pretendedRuntime(join(host.dir, "cri.sock"));
      onTestFinished(() => runtime.close());
      host.start(
        "--rotate-certificates",
        "--rotate-server-certificates",
        `--container-runtime-endpoint=${runtime.endpoint}`,
        `--node-ip=${address}`,
        `--port=${port}`,
      );
      const first = await eventually("a request for a serving certificate", async () => (await servingRequests())[0]);
      expect(first.spec).toMatchObject({
        username: `system:node:${node}`,
        signerName: "kubernetes.io/kubelet-serving",
      });
      const event = await eventually("an Event", async () => {
        const { items } = (await hub.kubectl.json("get", "events")) as unknown as EventList;
        return items.find(({ involvedObject }) => involvedObject.name === first.name);
      });
      expect(event).toMatchObject({ reason: "ServingNotApproved" });

      const data = { [node]: address };
      const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "pratique-node-inventory" }, data };
      await hub.kubectl.with({ input: JSON.stringify(map) }).ok("-n", "kube-system", "create", "-f", "-");
      const issued = await eventually("four certificates", async () => {
        const all = (await servingRequests()).filter(({ status }) => status?.certificate !== undefined);
        return all.length < 4 ? undefined : all;
      });
      expect(new Set(issued.map(({ spec }) => spec["request"])).size).toBe(issued.length);
      expect(issued[0]?.status?.conditions).toEqual([
        expect.objectContaining({
          message: `Auto approving serving certificate of node ${node}: ${node} by inventory, ${address} by inventory.`,
        }),
      ]);
      expect(await eventually("the kubelet to serve with it", () => servedAs(port, hub.ca))).toContain(
        `IP Address:${address}`,
      );
    },
  );

  async function servingRequests(): Promise<readonly ShownRequest[]> {
    return (await requests(hub.kubectl)).filter(({ spec }) => spec["signerName"] === "kubernetes.io/kubelet-serving");
  }
});

interface EventList {
  readonly items: readonly { readonly reason: string; readonly involvedObject: { readonly name: string } }[];
}

/** The names in the certificate that a verifying client meets. */
async function servedAs(port: number, ca: string): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, ca, servername: node }, () => {
      resolve(socket.getPeerCertificate().subjectaltname);
      socket.destroy();
    });
    socket.on("error", reject);
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const at = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof at === "object" && at !== null ? at.port : 0;
}
