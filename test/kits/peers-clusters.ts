import { apiClient, type ApiClient } from "./api-client.ts";
import { startKubernetes, type Kubernetes } from "./peers-kube.ts";
import { accountKubeconfig, applyManifests, runWebhook } from "./peers-manifests.ts";
import { programRun } from "./program-run.ts";

/** A real control plane that clusters can join: with our manifests, controllers and webhook, each with its own rights. */
export interface RealClusterHub {
  readonly kube: Kubernetes;
  readonly admin: ApiClient;
  /** The path of a kubeconfig with the identity that clusters ask with. */
  readonly bootstrap: string;
  /** Where the webhook answers. */
  readonly webhookUrl: string;
  /** What the controllers have written. */
  readonly said: () => string;
  stop(): Promise<void>;
}

/** Starts one; `more` are further options of manifests and webhook, `api` flags of kube-apiserver. */
export async function startRealClusterHub(
  more: readonly string[] = [],
  api: Parameters<typeof startKubernetes>[2] = {},
): Promise<RealClusterHub> {
  const kube = await startKubernetes(undefined, {}, api);
  const admin = apiClient(kube);
  const address = await applyManifests(kube, "--managed-clusters", ...more);
  const controller = programRun([
    "controller",
    `--kubeconfig=${await accountKubeconfig(kube, "pratique-controller")}`,
    "--controllers=registration",
  ]);
  const webhook = await runWebhook(kube, address, "--managed-clusters", ...more);
  await controller.until(/reason=ControllersStarted/);
  return {
    kube,
    admin,
    webhookUrl: address.url,
    bootstrap: await accountKubeconfig(kube, "agent-registration-bootstrap", "open-cluster-management"),
    said: () => `${controller.err()}${webhook.err()}`,
    stop: async () => {
      admin.close();
      controller.interrupt();
      webhook.interrupt();
      await Promise.all([controller.done, webhook.done]);
      await kube.stop();
    },
  };
}
