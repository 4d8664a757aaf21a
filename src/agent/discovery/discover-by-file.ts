import type { RemoteClient } from "../../client/remote.ts";
import { kubeconfigAccess, type KubeconfigAccess } from "../../client/kubeconfig-access.ts";
import type { ResolvedKubeconfig } from "../../client/resolve-kubeconfig.ts";
import { parseClusterInfo } from "../../trust/cluster-info.ts";
import { certificatesOfBundle, PinError } from "../../trust/pins.ts";
import { formatToken, type BootstrapToken } from "../../trust/token.ts";
import { readClusterInfo } from "./cluster-info-read.ts";
import { requireJoinToken } from "./discover-by-token.ts";
import {
  discoveryRequestMs,
  warnOfSkew,
  retry,
  type DiscoveryContext,
  type HubAccess,
  type HubIdentity,
} from "./discovery-context.ts";
import { hasCredentials, readDiscoveryFile, type DiscoveryFile } from "./discovery-file.ts";
import { JoinError } from "../../credentials/join-error.ts";
import { processWorld } from "../../host/process-world.ts";
import { hubClient } from "../../host/hub-client.ts";

const pollMs = 1000;

/** A discovery file, and the token to come with, of a form that can be used. The token is secret. */
export interface FileDiscovery {
  readonly file: DiscoveryFile;
  readonly token: BootstrapToken | undefined;
}

/** Reads a discovery file and says what is wrong with it, before anything is made here or asked of the hub that it names. @throws JoinError */
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
 * Takes the hub from a kubeconfig that vouches for it, and asks that hub for cluster-info, with the credentials of the file where
 * it has any; a hub that answers 403 is taken as it is. Only a missing CA is filled in from there. @throws JoinError
 * @see cmd/kubeadm/app/discovery/file
 */
export async function discoverByFile({ file, token }: FileDiscovery, context: DiscoveryContext): Promise<HubAccess> {
  const { config } = file;
  context.report({ kind: "discovering", server: config.server });
  const access = kubeconfigAccess(config, processWorld(context));
  const found = await clusterInfoOf(file, access, context);
  warnOfSkew({ aheadMs: found.aheadMs, signed: false }, context.report);
  if (found.server !== undefined && found.server !== config.server) {
    context.report({ kind: "server-differs", used: config.server, other: found.server });
  }
  const caPem = requireCa(config.caPem ?? found.caPem, file.shown);
  verified(config, caPem, context);
  return {
    server: config.server,
    caPem,
    ...wayOf(config),
    ...(token === undefined
      ? { identity: identityOf(access), credentialName: `the credentials in ${file.shown}` }
      : { identity: { credentials: () => ({ token: formatToken(token) }) }, credentialName: `the token ${token.id}` }),
    aheadMs: found.aheadMs,
  };
}

/** Takes hub, CA and credentials from a kubelet's bootstrap kubeconfig and asks nobody. @throws JoinError bad-discovery-file */
export async function bootstrapKubeconfigAccess(path: string, context: DiscoveryContext): Promise<HubAccess> {
  const file = await readDiscoveryFile(path, context);
  const { config } = file;
  requireVerified(file);
  if (!hasCredentials(config)) {
    throw new JoinError(
      "bad-discovery-file",
      `${file.shown} holds no credentials; a bootstrap kubeconfig needs a token`,
    );
  }
  const caPem = requireCa(config.caPem, file.shown);
  verified(config, caPem, context);
  return {
    server: config.server,
    caPem,
    ...wayOf(config),
    identity: identityOf(kubeconfigAccess(config, processWorld(context))),
    credentialName: `the credentials in ${file.shown}`,
  };
}

interface Found {
  readonly server?: string;
  readonly caPem?: string;
  readonly aheadMs?: number | undefined;
}

async function clusterInfoOf(file: DiscoveryFile, access: KubeconfigAccess, context: DiscoveryContext): Promise<Found> {
  const client = hubClient({
    ...access,
    userAgent: context.userAgent,
    timeoutMs: discoveryRequestMs(context.timeoutMs),
    clock: context.clock,
    retryBudgetMs: 0,
  });
  try {
    return await retry({ ...context, everyMs: pollMs }, () => oneRead(client, file, context));
  } finally {
    client.close();
  }
}

async function oneRead(
  client: RemoteClient,
  { config }: DiscoveryFile,
  context: DiscoveryContext,
): Promise<{ readonly kind: "done"; readonly value: Found } | { readonly kind: "again"; readonly error: JoinError }> {
  const target = { server: config.server };
  const read = await readClusterInfo(client, { target, clock: context.clock, signal: context.signal });
  if (read.kind === "forbidden") return { kind: "done", value: {} };
  if (read.kind === "again") return read;
  const text = read.data !== undefined && Object.hasOwn(read.data, "kubeconfig") ? read.data["kubeconfig"] : undefined;
  const parsed = parseClusterInfo(typeof text === "string" ? text : "");
  if (parsed.kind === "parsed") {
    return { kind: "done", value: { server: parsed.server, caPem: parsed.caPem, aheadMs: read.aheadMs } };
  }
  return { kind: "again", error: new JoinError("bad-cluster-info", `${config.server}: ${parsed.message}`) };
}

function requireVerified({ config, shown }: DiscoveryFile): void {
  if (config.insecureSkipTlsVerify) {
    throw new JoinError(
      "bad-discovery-file",
      `${shown} says insecure-skip-tls-verify: credentials would go to an unverified server; put the hub's CA into certificate-authority-data`,
    );
  }
}

function requireCa(caPem: string | undefined, shown: string): string {
  if (caPem === undefined) throw new JoinError("bad-discovery-file", `${shown} holds no certificate-authority-data`);
  try {
    certificatesOfBundle(caPem);
    return caPem;
  } catch (error) {
    if (error instanceof PinError) {
      throw new JoinError("bad-discovery-file", `${shown}: ${error.message}`, { cause: error });
    }
    throw error;
  }
}

function verified(config: ResolvedKubeconfig, caPem: string, context: DiscoveryContext): void {
  const caPins = certificatesOfBundle(caPem).map((certificate) => certificate.pin);
  context.report({ kind: "verified", server: config.server, caPins, by: "file" });
}

/** The way to the hub, which the kubeconfig of the node names as well. */
function wayOf({ proxyUrl, tlsServerName }: ResolvedKubeconfig): Pick<HubAccess, "proxyUrl" | "tlsServerName"> {
  return { proxyUrl, tlsServerName };
}

function identityOf({ credentials, refused, impersonate }: KubeconfigAccess): HubIdentity {
  return { credentials, refused, impersonate };
}
