import type { RemoteClient } from "../../client/remote.ts";
import type { Clock, RandomBytes } from "../../apimachinery/clock.ts";
import type { ReadFile } from "./bootstrap-hub.ts";
import type { KlusterletReport } from "./klusterlet-event.ts";
import type { KlusterletStore } from "../../credentials/storage/klusterlet-store.ts";

/** What an agent of a cluster works with; times in milliseconds. */
export interface KlusterletOptions {
  /** Paths of kubeconfigs, in the order in which hubs are tried; with several, the agent moves on when one fails. */
  readonly bootstrapKubeconfigs: readonly string[];
  /** Default: what was used before, else a random one. */
  readonly clusterName?: string | undefined;
  /** The API of the cluster itself, where it has one. */
  readonly spoke?: RemoteClient | undefined;
  readonly store: KlusterletStore;
  /** Where the cluster's API can be reached from outside, as the hub shall know it. */
  readonly externalServers: readonly string[];
  /** PEM of the CA for those. */
  readonly spokeCaPem?: string | undefined;
  /** How long certificates shall last, if that is to be asked for; in seconds. */
  readonly expirationSeconds?: number | undefined;
  /** With several hubs: how long one may be silent. Default 600000 (10 minutes). */
  readonly hubTimeoutMs?: number | undefined;
  /** Ends well once this was told: for a command that waits. A refusal ends it too. Default: until `signal` aborts. */
  readonly until?: "issued" | "accepted" | "available" | undefined;
  /** The machine itself, for a cluster without an API. */
  readonly machine?: { readonly cpus: number; readonly memoryBytes: number } | undefined;
  readonly readFile: ReadFile;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly signal: AbortSignal;
  readonly userAgent: string;
  readonly report: KlusterletReport;
}

/** How far it came. */
export interface KlusterletResult {
  readonly cluster: string;
  readonly agent: string;
  readonly server: string | undefined;
}
