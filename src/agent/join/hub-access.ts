import type { KubeconfigAccess } from "../../client/kubeconfig-access.ts";

/** Who a client says it is; a program of a kubeconfig may say it. */
export type HubIdentity = Pick<KubeconfigAccess, "credentials" | "refused" | "impersonate">;

/** A hub that is trusted, and what may be said to it. The credentials are secret. */
export interface HubAccess {
  /** An `https://` URL. */
  readonly server: string;
  /** The CA certificates of the hub; what it serves and issues must come from one of them. */
  readonly caPem: string;
  /** The way there, where a kubeconfig names one; it may hold a password. */
  readonly proxyUrl?: string | undefined;
  /** The name that the hub's certificate is for, where it is not that of the URL. */
  readonly tlsServerName?: string | undefined;
  /** Never empty: anonymous machines may not ask for certificates. */
  readonly identity: HubIdentity;
  /** What the credentials are, for messages: `the token abcdef`. */
  readonly credentialName: string;
  readonly learnedFrom?: "cluster-info" | undefined;
  /** How far this clock is ahead of the hub's, in milliseconds, where that is known. */
  readonly aheadMs?: number | undefined;
}
