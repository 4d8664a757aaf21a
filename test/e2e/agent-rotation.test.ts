import { X509Certificate } from "node:crypto";
import { readdir, readFile, readlink, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { requests, tokenOn, whoami } from "../kits/peers-cluster.ts";
import { eventually } from "../kits/peers-process.ts";
import { peerSuite } from "../kits/peers.ts";
import { programRun } from "../kits/program-run.ts";

const limitMs = 60_000;

peerSuite("kubectl", "an agent beside a hub whose certificates live for seconds", () => {
  let hub: TestHub;

  beforeAll(async () => {
    hub = await startTestHub({ clusterSigningDurationSeconds: 12 });
  });

  afterAll(() => hub?.close());

  async function joined(node: string, ...more: readonly string[]): Promise<{ readonly dir: string }> {
    const dir = join(hub.dir, node);
    const token = await tokenOn(hub.kubectl);
    const places = ["--cert-dir", join(dir, "pki"), "--kubeconfig", join(dir, "kubelet.conf")];
    const pin = ["--discovery-token-ca-cert-hash", hub.hub.caPin];
    const run = programRun(["join", hub.url, "--token", token, ...pin, "--node-name", node, ...places, ...more]);
    expect([await run.done, run.err()]).toEqual([0, expect.any(String)]);
    return { dir };
  }

  test("it rotates again and again as the node, and there is always a certificate that works", { timeout: limitMs }, async () => {
    const { dir } = await joined("turning");
    const agent = programRun(["agent", "--dir", dir]);
    const current = join(dir, "pki", "kubelet-client-current.pem");
    await eventually("three rotations", () => (agent.err().match(/renewed the client/g)?.length ?? 0) >= 3 || undefined);
    agent.interrupt();
    expect(await agent.done).toBe(0);
    console.log(agent.err(), await readdir(join(dir, "pki")), await readFile(join(dir, "pki", "kubelet-client.agent.json"), "utf8"));
    const status = programRun(["agent", "--dir", dir, "--status"]);
    console.log(await status.done, status.out(), status.err());
    console.log(await whoami(hub.kubectl.with({ kubeconfig: join(dir, "kubelet.conf") })));
  });
});
