import type { Client } from "../client/client.ts";
import type { Reader } from "../client/object-store.ts";
import type { Clock } from "../core/clock.ts";
import { clusterInfoKey, signClusterInfo } from "../trust/cluster-info.ts";
import { validForSigning } from "../trust/token-rules.ts";
import { hasReason } from "./api-errors.ts";
import { clusterInfoSelection } from "./cluster-info-selection.ts";
import { done } from "./controller.ts";
import type { Controller, Outcome } from "./controller.ts";
import { configMaps } from "./kinds.ts";
import { tokenSecretSelection } from "./token-secrets.ts";

export interface BootstrapSignerOptions {
  readonly client: Client;
  /** The ConfigMap of `clusterInfoSelection`. */
  readonly clusterInfo: Reader;
  /** The Secrets of `tokenSecretSelection`. */
  readonly tokens: Reader;
  readonly clock: Clock;
}

/**
 * Keeps the signatures in `kube-public/cluster-info` those of the tokens that may sign. It never creates the ConfigMap and never
 * touches its kubeconfig. Source: Kubernetes pkg/controller/bootstrap.
 */
export function bootstrapSigner(options: BootstrapSignerOptions): Controller {
  const { client, clusterInfo, tokens, clock } = options;

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
    try {
      await client.update(configMaps, { ...current, data });
    } catch (error) {
      // Somebody else wrote or removed it, and that change wakes us.
      if (!hasReason(error, "NotFound", "Conflict")) throw error;
    }
    return done;
  }

  const keys = (): readonly [typeof clusterInfoKey] => [clusterInfoKey];
  return {
    name: "bootstrapsigner",
    serviceAccount: "bootstrap-signer",
    watches: [
      { ...clusterInfoSelection, keys },
      { ...tokenSecretSelection, keys },
    ],
    concurrency: 1,
    reconcile,
  };
}
