import type { ClientCredentials } from "../client/transport.ts";

/** A hub that is trusted, and what may be said to it. The credentials are secret. */
export interface HubAccess {
  /** An `https://` URL. */
  readonly server: string;
  /** The CA certificates of the hub; what it serves and issues must come from one of them. */
  readonly caPem: string;
  /** Never empty: anonymous machines may not ask for certificates. */
  readonly credentials: ClientCredentials;
  /** What the credentials are, for messages: `the token abcdef`. */
  readonly credentialName: string;
  readonly learnedFrom?: "cluster-info" | undefined;
  /** How far this clock is ahead of the hub's, in milliseconds, where that is known. */
  readonly aheadMs?: number | undefined;
}
