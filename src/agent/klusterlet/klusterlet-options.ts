import type { RemoteClient } from "../../client/remote.ts";
import type { Clock, RandomBytes } from "../../apimachinery/clock.ts";
import type { ReadFile } from "./bootstrap-hub.ts";
import type { KlusterletReport } from "./klusterlet-event.ts";
import type { KlusterletStore } from "../../credentials/storage/klusterlet-store.ts";

/** The parameters of a cluster's agent; times in milliseconds. */
export interface KlusterletOptions {
  /** Paths of kubeconfigs, in the order in which hubs are tried; with several, the agent moves on when one fails. */
  readonly bootstrapKubeconfigs: readonly string[];
  /** Default: the stored one, else a random one. */
  readonly clusterName?: string | undefined;
  /** The API of the cluster itself, where it has one. */
  readonly spoke?: RemoteClient | undefined;
  readonly store: KlusterletStore;
  /** The external addresses of the cluster's API, for the hub. */
  readonly externalServers: readonly string[];
  /** PEM of the CA for those. */
  readonly spokeCaPem?: string | undefined;
  /** The lifetime of certificates to request, in seconds; absent: the hub's default. */
  readonly expirationSeconds?: number | undefined;
  /** With several hubs: how long one may not answer. Default 600000 (10 minutes). */
  readonly hubTimeoutMs?: number | undefined;
  /** Ends successfully once this was reported: for a command that waits. A denial ends it too. Default: until `signal` aborts. */
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

/** The stage that it reached. */
export interface KlusterletResult {
  readonly cluster: string;
  readonly agent: string;
  readonly server: string | undefined;
}
