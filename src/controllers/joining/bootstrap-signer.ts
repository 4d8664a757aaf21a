import type { Clock } from "../../apimachinery/clock.ts";
import { clusterInfoKey, signClusterInfo } from "../../trust/cluster-info.ts";
import { validForSigning } from "../../trust/token-rules.ts";
import { ignoreReasons } from "../../client/api-errors.ts";
import { clusterInfoSelection } from "./cluster-info-publisher.ts";
import { done, type Controller, type Outcome } from "../controller.ts";
import { configMaps } from "../kinds.ts";
import { tokenSecretSelection } from "./token-cleaner.ts";
import type { SharedInformers } from "../shared-informers.ts";

const serviceAccount = "bootstrap-signer";

export interface BootstrapSignerOptions {
  readonly informers: SharedInformers;
  readonly clock: Clock;
}

/**
 * Keeps the signatures in `kube-public/cluster-info` those of the tokens that may sign. It never creates the ConfigMap and never
 * touches its kubeconfig. Source: Kubernetes pkg/controller/bootstrap.
 */
export function bootstrapSigner(options: BootstrapSignerOptions): Controller {
  const { clock } = options;
  const { client, reader } = options.informers.as(serviceAccount);
  const clusterInfo = reader(clusterInfoSelection);
  const tokens = reader(tokenSecretSelection);

  async function reconcile(): Promise<Outcome> {
    const current = clusterInfo.get(clusterInfoKey);
    if (current === undefined) return done;
    const now = clock.now();
    // In order of name, so that "the first of two with one id" means the same each time.
    const signing = tokens
      .list()
      .toSorted((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1))
      .flatMap((secret) => validForSigning(secret, now) ?? []);
    const data = signClusterInfo((current["data"] ?? {}) as Readonly<Record<string, string>>, signing);
    if (data === undefined) return done;
    // A ConfigMap that another writer changed or removed wakes this controller again.
    await ignoreReasons(client.update(configMaps, { ...current, data }), "NotFound", "Conflict");
    return done;
  }

  const keys = (): readonly [typeof clusterInfoKey] => [clusterInfoKey];
  return {
    name: "bootstrapsigner",
    serviceAccount,
    watches: [
      { ...clusterInfoSelection, keys },
      { ...tokenSecretSelection, keys },
    ],
    concurrency: 1,
    reconcile,
  };
}
