import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { killAtEveryStep } from "../kits/killed-rotation.ts";
import { tokenOn } from "../kits/peers-cluster.ts";
import { peerSuite } from "../kits/peers.ts";

peerSuite("kubectl", "an agent that is killed in the middle of a rotation", () => {
  let hub: TestHub;

  beforeAll(async () => {
    hub = await startTestHub({ clusterSigningDurationSeconds: 3600 });
  });
  afterAll(() => hub?.close());

  it("has a credential that works at every step, and finishes what was begun", { timeout: 900_000 }, async () => {
    const { url, ca, kubeconfig, dir } = hub;
    const token = await tokenOn(hub.kubectl);
    const { steps } = await killAtEveryStep({ url, ca, kubeconfig, token, dir, pin: hub.hub.caPin }, "killed");
    const collection = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    expect(steps).toContain(`POST ${collection}, sent`);
    expect(steps).toContain("rename kubelet-client-updated.pem");
  });
});
