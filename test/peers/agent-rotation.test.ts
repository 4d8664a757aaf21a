import { afterAll, beforeAll, expect, onTestFailed, test } from "vitest";
import { killAtEveryStep } from "../kits/killed-rotation.ts";
import { kubePrograms, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";
import { peerSuite } from "../kits/peers.ts";

peerSuite(kubePrograms, "an agent beside a real control plane that is killed in the middle of a rotation", () => {
  let kube: Kubernetes;

  beforeAll(async () => {
    kube = await startKubernetes("*,bootstrapsigner,tokencleaner", { "cluster-signing-duration": "1h" });
  }, 240_000);

  afterAll(() => kube?.stop());

  test("has a credential that works at every step, and finishes what was begun", { timeout: 900_000 }, async () => {
    onTestFailed(() => {
      process.stderr.write(kube.printed().slice(-4000));
    });
    const { steps } = await killAtEveryStep(kube, "killed");
    expect(steps.filter((one) => one.startsWith("POST "))).toHaveLength(2);
  });
});
