import type { RemoteClient, RemoteOptions } from "../../client/remote.ts";
import type { ClusterCredential } from "../../credentials/proof/cluster-credential.ts";
import type { KlusterletOptions } from "./klusterlet-options.ts";
import { randomFraction } from "../../host/system-random.ts";
import { hubClient } from "../../host/hub-client.ts";

/** The agent's conversation with its hub, with the newest certificate at any time. */
export interface HubSession {
  readonly server: string;
  readonly client: RemoteClient;
  credential(): ClusterCredential;
  /** From now on another certificate of the same agent is shown; connections with the old one end with what they carry. */
  renewed(credential: ClusterCredential): void;
  /** Speaks with a certificate that is not in use yet, or to another address. */
  clientWith(credential: ClusterCredential): RemoteClient;
  close(): void;
}

const timeoutMs = 30_000;

/** Nothing is asked yet. */
export function hubSession(first: ClusterCredential, { clock, userAgent, random }: KlusterletOptions): HubSession {
  let current = first;
  const shared = { userAgent, timeoutMs, clock, random: () => randomFraction(random), retryBudgetMs: 0 };
  const to = ({
    hub: { server, caPem, proxyUrl, tlsServerName },
  }: ClusterCredential): Pick<RemoteOptions, "server" | "caPem" | "proxyUrl" | "tlsServerName"> => ({
    server,
    proxyUrl,
    ...(caPem === undefined ? {} : { caPem }),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
  });
  const shown = (one: ClusterCredential): { readonly clientCertPem: string; readonly clientKeyPem: string } => ({
    clientCertPem: one.certificatePem,
    clientKeyPem: one.keyPem,
  });
  const client = hubClient({ ...shared, ...to(first), credentials: () => shown(current) });
  return {
    server: first.hub.server,
    client,
    credential: () => current,
    renewed: (credential) => {
      current = credential;
    },
    clientWith: (credential) => hubClient({ ...shared, ...to(credential), ...shown(credential) }),
    close: () => client.close(),
  };
}
