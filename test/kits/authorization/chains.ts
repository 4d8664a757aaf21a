import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bootstrapKubeconfig } from "../../../src/client/build-kubeconfig.ts";
import { startTestHub, type TestHub } from "../hub.ts";
import type { JsonService } from "../json-service.ts";
import { abacFile } from "./abac.ts";
import type { Shares } from "./question.ts";
import type { World } from "./world.ts";

/** One chain of authorizers that is asked, and what it is asked. */
export interface Chain {
  readonly modes: readonly string[];
  readonly webhookVersion?: "v1" | "v1beta1";
  readonly shares: Shares;
  /** Of a hundred questions so many are put to this chain. */
  readonly weight: number;
}

/** The chain of kubeadm, all modes together, and what of these cannot be told apart there on its own. */
export const chains: readonly Chain[] = [
  { modes: ["Node", "RBAC"], shares: { rbac: 62, abac: 0, node: 28 }, weight: 45 },
  {
    modes: ["Node", "ABAC", "RBAC", "Webhook"],
    webhookVersion: "v1beta1",
    shares: { rbac: 28, abac: 12, node: 15 },
    weight: 35,
  },
  { modes: ["ABAC"], shares: { rbac: 0, abac: 85, node: 0 }, weight: 10 },
  { modes: ["Webhook"], webhookVersion: "v1", shares: { rbac: 20, abac: 20, node: 20 }, weight: 10 },
];

/** The files that the flags of a chain name, in a folder. */
export interface ChainFiles {
  readonly abac: string;
  readonly webhook: string;
}

/** Writes the policy file, and where the service is. */
export async function chainFiles(dir: string, world: World, service: JsonService): Promise<ChainFiles> {
  const files = { abac: join(dir, "abac.jsonl"), webhook: join(dir, "webhook.yaml") };
  await writeFile(files.abac, abacFile(world.abac));
  const server = `${service.url}/authorize`;
  await writeFile(files.webhook, bootstrapKubeconfig({ server, ca: { pem: service.caPem }, token: "t" }));
  return files;
}

/** Flags of kube-apiserver. */
export function chainFlags({ modes, webhookVersion }: Chain, files: ChainFiles): Readonly<Record<string, string>> {
  return {
    "authorization-mode": modes.join(","),
    ...(modes.includes("ABAC") ? { "authorization-policy-file": files.abac } : {}),
    ...(webhookVersion === undefined
      ? {}
      : {
          "authorization-webhook-config-file": files.webhook,
          "authorization-webhook-version": webhookVersion,
        }),
  };
}

/** A hub with the chain. */
export function startChainHub({ modes, webhookVersion }: Chain, files: ChainFiles): Promise<TestHub> {
  return startTestHub({
    authorizationModes: modes,
    ...(modes.includes("ABAC") ? { authorizationPolicyFile: files.abac } : {}),
    ...(webhookVersion === undefined
      ? {}
      : {
          authorizationWebhook: {
            configFile: files.webhook,
            version: webhookVersion,
            authorizedMs: 300_000,
            unauthorizedMs: 30_000,
          },
        }),
  });
}
