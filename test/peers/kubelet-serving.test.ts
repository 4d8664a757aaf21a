import { spawnSync } from "node:child_process";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/host/system-clock.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import type { Kubectl } from "../kits/kubectl.ts";
import { anyRelease, freePort, kubePrograms, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";
import { accountKubeconfig } from "../kits/peers-manifests.ts";
import { programRun, type ProgramRun } from "../kits/program-run.ts";
import { peerSuite } from "../kits/peers.ts";
import { requests, tokenOn, type ShownRequest } from "../kits/peers-cluster.ts";
import { machine } from "../kits/peers-kubelet.ts";
import { eventually } from "../kits/peers-process.ts";
import { pretendedRuntime } from "../kits/pretended-runtime.ts";
import { servingApproverRights } from "../kits/serving-approver-rights.ts";

const limitMs = 240_000;
/** A kubelet on a busy machine takes its time until it knows its addresses. */
const patience = 100;
// A certificate begins some minutes before it is asked for: one that lives for half a minute is in its last tenth at once.
const signingSeconds = 30;
const node = "serving-1";
const address = Object.values(networkInterfaces())
  .flatMap((list) => list ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

interface Api {
  readonly url: string;
  readonly ca: string;
  readonly dir: string;
  readonly kubectl: Kubectl;
}

/** What a kubelet and its operator live through: a request that waits, an inventory that names the address, one renewal after another. */
async function renewing({ url, ca, dir, kubectl }: Api, token: string): Promise<void> {
  const requestsOf = async (signer: string): Promise<readonly ShownRequest[]> =>
    (await requests(kubectl)).filter(({ spec }) => spec["signerName"] === `kubernetes.io/${signer}`);
  const servingRequests = (): Promise<readonly ShownRequest[]> => requestsOf("kubelet-serving");
  const fourOf = (signer: string): Promise<readonly ShownRequest[]> =>
    eventually(
      `four certificates of ${signer}`,
      async () => {
        const all = (await requestsOf(signer)).filter(({ status }) => status?.certificate !== undefined);
        return all.length < 4 ? undefined : all;
      },
      patience,
    );
  const host = machine({ node, server: url, ca, token, within: dir });
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
  const first = await eventually(
    "a request for a serving certificate",
    async () => (await servingRequests())[0],
    patience,
  );
  expect(first.spec).toMatchObject({ username: `system:node:${node}`, signerName: "kubernetes.io/kubelet-serving" });
  const event = await eventually("an Event", async () => {
    const { items } = (await kubectl.json("get", "events")) as unknown as EventList;
    return items.find(({ involvedObject }) => involvedObject.name === first.name);
  });
  expect(event).toMatchObject({ reason: "ServingNotApproved" });

  const data = { [node]: address };
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "pratique-node-inventory" }, data };
  await kubectl.with({ input: JSON.stringify(map) }).ok("-n", "kube-system", "create", "-f", "-");
  const issued = await fourOf("kubelet-serving");
  const asClient = await fourOf("kube-apiserver-client-kubelet");
  // A new key each time; the first as a client was asked for with the token, the others as the node that it then was.
  for (const all of [issued, asClient]) expect(new Set(all.map(({ spec }) => spec["request"])).size).toBe(all.length);
  expect(asClient.filter(({ spec }) => spec["username"] === `system:node:${node}`)).toHaveLength(asClient.length - 1);
  const { certificate, keyFits } = await host.credentialNow();
  expect([certificate.subject, keyFits]).toEqual([`O=system:nodes\nCN=system:node:${node}`, true]);
  expect(issued[0]?.status?.conditions).toEqual([
    expect.objectContaining({
      message: `Auto approving serving certificate of node ${node}: ${node} by inventory, ${address} by inventory.`,
    }),
  ]);
  expect(await eventually("the kubelet to serve with it", () => servedAs(port, ca))).toContain(`IP Address:${address}`);
  const own = kubectl.with({ kubeconfig: host.kubeconfig });
  expect(await own.ok("get", "node", node, "-o", "name")).toBe(`node/${node}\n`);
}

peerSuite(["kubelet", "kubectl"], "a real kubelet that serves with a certificate of the hub", () => {
  let hub: TestHub;

  beforeAll(async () => {
    // By the kubelet's clock a certificate is in its last tenth at once, and good for five minutes more.
    const behindMs = 6_000_000;
    hub = await startTestHub({
      authorizationModes: ["Node", "RBAC"],
      clock: { now: () => Date.now() - behindMs, sleep: systemClock.sleep },
      clusterSigningDurationSeconds: behindMs / 1000 + 300,
      servingApproval: { providers: ["inventory"] },
    });
  });

  afterAll(() => hub?.close());

  test(
    "waits for the inventory to name its address, and then renews again and again",
    { timeout: limitMs },
    async () => {
      await expect(renewing(hub, await tokenOn(hub.kubectl))).resolves.toBeUndefined();
    },
  );
});

peerSuite([...kubePrograms, "kubelet"], "a real kubelet on a real control plane with our approver beside it", () => {
  let kube: Kubernetes;
  let approver: ProgramRun;

  beforeAll(async () => {
    // Release 1.20 counts the five minutes before the issuance as a part of the duration, newer ones do not. Either way the kubelet renews
    // at 70 to 90 % of the whole, which is at once or soon.
    const duration = anyRelease === "current" ? 60 : 300 + signingSeconds;
    kube = await startKubernetes(undefined, { "cluster-signing-duration": `${duration}s` });
    const account = { name: "serving-approver", namespace: "kube-system" };
    const items = [{ apiVersion: "v1", kind: "ServiceAccount", metadata: account }, ...servingApproverRights(account)];
    const input = JSON.stringify({ apiVersion: "v1", kind: "List", items });
    await kube.kubectl.with({ input }).ok("create", "-f", "-");
    const kubeconfig = await accountKubeconfig(kube, account.name, account.namespace);
    approver = programRun(["controller", `--kubeconfig=${kubeconfig}`, "--controllers=serving-approving"]);
    await approver.until(/reason=ControllersStarted/);
  }, 240_000);

  afterAll(async () => {
    approver?.interrupt();
    await approver?.done;
    await kube?.stop();
  });

  test("renews again and again, with the rights that the page names and no others", { timeout: limitMs }, async () => {
    await expect(renewing(kube, kube.token)).resolves.toBeUndefined();
  });
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
