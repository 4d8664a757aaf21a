import type { RemoteClient } from "../../client/remote.ts";
import { kubeconfigAccess, type KubeconfigAccess } from "../../client/kubeconfig-access.ts";
import { parseClusterInfo } from "../../trust/cluster-info.ts";
import { certificatesOfBundle, PinError } from "../../trust/pins.ts";
import { formatToken, type BootstrapToken } from "../../trust/token.ts";
import { readClusterInfo } from "./cluster-info-read.ts";
import { requireJoinToken } from "./discover-by-token.ts";
import { retry, warnOfSkew, withHub, type DiscoveryContext, type HubAccess } from "./discovery-context.ts";
import { hasCredentials, readDiscoveryFile, type DiscoveryFile } from "./discovery-file.ts";
import { JoinError } from "../../credentials/join-error.ts";
import { processWorld } from "../../host/process-world.ts";

/** A validated discovery file, and the token for the hub. The token is secret. */
export interface FileDiscovery {
  readonly file: DiscoveryFile;
  readonly token: BootstrapToken | undefined;
}

/** Reads and validates a discovery file, before anything is created here or sent to the hub that it names. @throws JoinError */
export async function fileDiscovery(
  wanted: { readonly location: string; readonly token?: string | undefined },
  context: DiscoveryContext,
): Promise<FileDiscovery> {
  const token = wanted.token === undefined ? undefined : requireJoinToken(wanted.token);
  const file = await readDiscoveryFile(wanted.location, context);
  requireVerified(file);
  if (token === undefined && !hasCredentials(file.config)) {
    throw new JoinError("bad-discovery-file", `${file.shown} holds no credentials: give a bootstrap token as well`);
  }
  return { file, token };
}

/**
 * Reads the hub from a trusted kubeconfig, and cluster-info from that hub, with the credentials of the file where it has any; a hub that
 * replies 403 is accepted without. Only a missing CA is filled in from there. @throws JoinError @see cmd/kubeadm/app/discovery/file
 */
export async function discoverByFile({ file, token }: FileDiscovery, context: DiscoveryContext): Promise<HubAccess> {
  const { server } = file.config;
  context.report({ kind: "discovering", server });
  const access = kubeconfigAccess(file.config, processWorld(context));
  const found = await withHub(access, context, (client) => retry(context, () => oneRead(client, server, context)));
  const { aheadMs } = found;
  warnOfSkew({ aheadMs, signed: false }, context.report);
  if (found.server !== undefined && found.server !== server) {
    context.report({ kind: "server-differs", used: server, other: found.server });
  }
  const own = { ...verified(file, found.caPem, context), ...identityOf(file, access), aheadMs };
  if (token === undefined) return own;
  return {
    ...own,
    identity: { credentials: () => ({ token: formatToken(token) }) },
    credentialName: `the token ${token.id}`,
  };
}

/** Reads hub, CA and credentials from a kubelet's bootstrap kubeconfig and sends no request. @throws JoinError bad-discovery-file */
export async function bootstrapKubeconfigAccess(path: string, context: DiscoveryContext): Promise<HubAccess> {
  const file = await readDiscoveryFile(path, context);
  requireVerified(file);
  if (!hasCredentials(file.config)) {
    throw new JoinError(
      "bad-discovery-file",
      `${file.shown} holds no credentials; a bootstrap kubeconfig needs a token`,
    );
  }
  const own = verified(file, undefined, context);
  return { ...own, ...identityOf(file, kubeconfigAccess(file.config, processWorld(context))) };
}

interface Found {
  readonly server?: string;
  readonly caPem?: string;
  readonly aheadMs?: number | undefined;
}

async function oneRead(client: RemoteClient, server: string, context: DiscoveryContext): Promise<Found | JoinError> {
  const read = await readClusterInfo(client, { ...context, target: { server } });
  if (read.kind !== "read") return read.kind === "forbidden" ? {} : read.error;
  const text = read.data !== undefined && Object.hasOwn(read.data, "kubeconfig") ? read.data["kubeconfig"] : undefined;
  const parsed = parseClusterInfo(typeof text === "string" ? text : "");
  if (parsed.kind === "refused") return new JoinError("bad-cluster-info", `${server}: ${parsed.message}`);
  return { server: parsed.server, caPem: parsed.caPem, aheadMs: read.aheadMs };
}

function requireVerified({ config, shown }: DiscoveryFile): void {
  if (config.insecureSkipTlsVerify) {
    throw new JoinError(
      "bad-discovery-file",
      `${shown} says insecure-skip-tls-verify: credentials would go to an unverified server; put the hub's CA into certificate-authority-data`,
    );
  }
}

/** The hub's address, and its CA: that of the file, else the discovered one. @throws JoinError bad-discovery-file */
function verified(
  { config, shown }: DiscoveryFile,
  foundPem: string | undefined,
  context: DiscoveryContext,
): Pick<HubAccess, "server" | "caPem" | "proxyUrl" | "tlsServerName"> {
  const { server, caPem = foundPem, proxyUrl, tlsServerName } = config;
  if (caPem === undefined) throw new JoinError("bad-discovery-file", `${shown} holds no certificate-authority-data`);
  try {
    const caPins = certificatesOfBundle(caPem).map((certificate) => certificate.pin);
    context.report({ kind: "verified", server, caPins, by: "file" });
    return { server, caPem, proxyUrl, tlsServerName };
  } catch (error) {
    if (!(error instanceof PinError)) throw error;
    throw new JoinError("bad-discovery-file", `${shown}: ${error.message}`, { cause: error });
  }
}

function identityOf(
  { shown }: DiscoveryFile,
  { credentials, refused, impersonate }: KubeconfigAccess,
): Pick<HubAccess, "identity" | "credentialName"> {
  return { identity: { credentials, refused, impersonate }, credentialName: `the credentials in ${shown}` };
}
