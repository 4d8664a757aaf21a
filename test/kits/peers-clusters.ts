import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bootstrapKubeconfig } from "../../src/client/build-kubeconfig.ts";
import { apiClient, type ApiClient } from "./api-client.ts";
import { freePort, startKubernetes, type Kubernetes } from "./peers-kube.ts";
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
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const manifests = programRun(["manifests", "--managed-clusters", "--no-workloads", "--webhook-url", url, ...more]);
  await manifests.done;
  await kube.kubectl.with({ input: manifests.out() }).ok("apply", "-f", "-");

  async function account(namespace: string, name: string): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3600 } };
    const reply = await admin(path, { method: "POST", body });
    const { token } = (reply.json() as { readonly status: { readonly token: string } }).status;
    const file = join(kube.dir, `${name}.conf`);
    await writeFile(file, bootstrapKubeconfig({ server: kube.url, ca: { pem: kube.ca }, token }), { mode: 0o600 });
    return file;
  }

  const webhook = programRun([
    "webhook",
    `--kubeconfig=${await account("pratique-system", "pratique-webhook")}`,
    `--secure-port=${port}`,
    `--url=${url}`,
    `--cert-dir=${join(kube.dir, "webhook")}`,
    "--managed-clusters",
    "--register",
    ...more,
  ]);
  const controller = programRun([
    "controller",
    `--kubeconfig=${await account("pratique-system", "pratique-controller")}`,
    "--controllers=registration",
  ]);
  await Promise.all([
    webhook.until(/the webhook answers/),
    webhook.until(/the webhook is registered/),
    controller.until(/the controllers work/),
  ]);
  return {
    kube,
    admin,
    webhookUrl: url,
    bootstrap: await account("open-cluster-management", "agent-registration-bootstrap"),
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
