import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/host/system-clock.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { peerSuite } from "../kits/peers.ts";
import { requests, tokenOn, whoami, type ShownRequest } from "../kits/peers-cluster.ts";
import { machine } from "../kits/peers-kubelet.ts";
import { eventually } from "../kits/peers-process.ts";

const limitMs = 180_000;

peerSuite(["kubelet", "kubectl"], "a real kubelet whose certificate is soon over", () => {
  let hub: TestHub;

  beforeAll(async () => {
    // By the machine's clock a certificate is in its last tenth at once, and good for five minutes more.
    const behindMs = 6_000_000;
    const clock = { now: () => Date.now() - behindMs, sleep: systemClock.sleep };
    hub = await startTestHub({ clock, clusterSigningDurationSeconds: behindMs / 1000 + 300 });
  });

  afterAll(() => hub?.close());

  test("the kubelet renews it as the node that it is, without a token", { timeout: limitMs }, async () => {
    const node = "renewing";
    const token = await tokenOn(hub.kubectl);
    const host = machine({ node, server: hub.url, ca: hub.ca, token, within: hub.dir });
    const first = host.start();
    const { certificate } = await host.credentialOf(first);
    await first.stop();
    await hub.kubectl.ok("-n", "kube-system", "delete", "secret", `bootstrap-token-${token.slice(0, 6)}`);

    const second = host.start("--rotate-certificates");
    const renewed = await eventually("another certificate", async () => {
      const now = await host.credentialNow();
      return now.certificate.serialNumber === certificate.serialNumber ? undefined : now;
    });
    await second.stop();
    expect([renewed.certificate.subject, renewed.keyFits]).toEqual([certificate.subject, true]);
    expect(renewed.certificate.publicKey.equals(certificate.publicKey)).toBe(false);
    expect(await whoami(hub.kubectl.with({ kubeconfig: host.kubeconfig }))).toMatchObject({
      username: `system:node:${node}`,
    });
    const asked = (await requests(hub.kubectl)).filter(({ spec }) => spec["username"] === `system:node:${node}`);
    expect(asked[0]?.status?.conditions).toEqual<NonNullable<ShownRequest["status"]>["conditions"]>([
      expect.objectContaining({
        type: "Approved",
        message: "Auto approving self kubelet client certificate after SubjectAccessReview.",
      }),
    ]);
  });
});
