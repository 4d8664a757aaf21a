import { expect, it } from "vitest";
import { StatusError } from "../../apimachinery/status.ts";
import { servingStage } from "../../../test/kits/serving-cluster.ts";
import { acceptanceStatus } from "./acceptance-status.ts";

it("an agent whose certificate is refused and that has no bootstrap kubeconfig to ask with says both, once", async () => {
  const stage = await servingStage({ bootstrapKubeconfigs: ["/etc/bootstrap.kubeconfig"] });
  const credentialStatus = acceptanceStatus(stage.serving);
  for (let round = 0; round < 3; round += 1) {
    await credentialStatus.failed(new StatusError("Unauthorized", "Unauthorized"));
    await stage.clock.advance(60_000);
  }
  expect(stage.events).toEqual([
    {
      kind: "failed",
      message:
        "https://hub.example:6443 refuses the certificate of this agent (401), and no bootstrap kubeconfig can be read (/etc/bootstrap.kubeconfig): write a new one with pratique cluster token",
    },
  ]);
  stage.stop();
});
