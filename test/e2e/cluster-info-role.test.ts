import { afterAll, beforeAll, expect, it } from "vitest";
import { readClusterInfo } from "../../src/agent/discovery/cluster-info-read.ts";
import { remoteClient } from "../../src/client/remote.ts";
import { systemClock } from "../../src/host/system-clock.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { peerSuite } from "../kits/peers.ts";

const role = "kubeadm:bootstrap-signer-clusterinfo";

peerSuite("kubectl", "a Kubernetes API whose cluster-info anonymous clients may not read", () => {
  let hub: TestHub;
  beforeAll(async () => {
    hub = await startTestHub();
  });
  afterAll(() => hub.close());

  async function read(): Promise<Awaited<ReturnType<typeof readClusterInfo>>> {
    const client = remoteClient({
      server: hub.url,
      caPem: hub.ca,
      userAgent: "test",
      timeoutMs: 10_000,
      clock: systemClock,
    });
    try {
      return await readClusterInfo(client, { target: { server: hub.url }, clock: systemClock, signal: undefined });
    } finally {
      client.close();
    }
  }

  it("is named with the kubectl commands that let them, as kubeadm does, and these commands work", async () => {
    await hub.kubectl.ok("delete", "role,rolebinding", "-n", "kube-public", role);
    const refused = await read();
    if (refused.kind !== "forbidden") throw new TypeError(`not forbidden but ${refused.kind}`);
    const commands = [...refused.error.message.matchAll(/kubectl (create [^;]+?)(?=;| and |$)/g)].map(
      ([, words]) => words ?? "",
    );
    expect(commands).toHaveLength(2);
    for (const words of commands) await hub.kubectl.ok(...words.split(" "));
    expect((await read()).kind).toBe("read");
    const made = await hub.kubectl.json("get", "role", role, "-n", "kube-public", "-o", "json");
    expect(made["rules"]).toEqual([
      { apiGroups: [""], resources: ["configmaps"], resourceNames: ["cluster-info"], verbs: ["get"] },
    ]);
  });
});
