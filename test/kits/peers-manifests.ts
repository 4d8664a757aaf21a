import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bootstrapKubeconfig } from "../../src/client/build-kubeconfig.ts";
import { apiClient } from "./api-client.ts";
import { freePort, type Kubernetes } from "./peers-kube.ts";
import { programRun, type ProgramRun } from "./program-run.ts";

/** Where the API server calls the webhook. */
export interface WebhookAddress {
  readonly port: number;
  readonly url: string;
}

/** Applies what `pratique manifests` prints without workloads, for a webhook on a free port; `more` are further options. */
export async function applyManifests(
  { kubectl }: Pick<Kubernetes, "kubectl">,
  ...more: readonly string[]
): Promise<WebhookAddress> {
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const manifests = programRun(["manifests", "--no-workloads", "--webhook-url", url, ...more]);
  await manifests.done;
  await kubectl.with({ input: manifests.out() }).ok("apply", "-f", "-");
  return { port, url };
}

/** A token of a service account, good for an hour; of the installation's namespace unless another one is given. @throws Error when it is refused */
export async function accountToken(
  kube: Pick<Kubernetes, "url" | "ca" | "kubeconfig">,
  name: string,
  namespace = "pratique-system",
): Promise<string> {
  const admin = apiClient(kube);
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3600 } };
  const reply = await admin(path, { method: "POST", body });
  admin.close();
  if (reply.status !== 201) throw new Error(`no token of ${namespace}/${name}: ${reply.text}`);
  return (reply.json() as { readonly status: { readonly token: string } }).status.token;
}

/** Writes a kubeconfig with such a token into the folder of the control plane, and gives its path. */
export async function accountKubeconfig(
  kube: Pick<Kubernetes, "url" | "ca" | "kubeconfig" | "dir">,
  name: string,
  namespace?: string,
): Promise<string> {
  const file = join(kube.dir, `${name}.conf`);
  const token = await accountToken(kube, name, namespace);
  await writeFile(file, bootstrapKubeconfig({ server: kube.url, ca: { pem: kube.ca }, token }), { mode: 0o600 });
  return file;
}

/** Runs the webhook, with the rights that the manifests give it and no others, until it answers and is registered; `more` are further options. */
export async function runWebhook(
  kube: Pick<Kubernetes, "url" | "ca" | "kubeconfig" | "dir">,
  { port, url }: WebhookAddress,
  ...more: readonly string[]
): Promise<ProgramRun> {
  const webhook = programRun([
    "webhook",
    `--kubeconfig=${await accountKubeconfig(kube, "pratique-webhook")}`,
    `--secure-port=${port}`,
    `--url=${url}`,
    `--cert-dir=${join(kube.dir, "webhook")}`,
    "--register",
    ...more,
  ]);
  try {
    await Promise.all([webhook.until(/reason=Ready/), webhook.until(/reason=WebhookRegistered/)]);
  } catch (error) {
    webhook.interrupt();
    throw error;
  }
  return webhook;
}
