import type { Clock } from "../apimachinery/clock.ts";
import { environmentProxy, type Environment } from "./environment-proxy.ts";
import { execCredentials, type PluginHost } from "./exec-credentials.ts";
import type { RemoteOptions } from "./remote.ts";
import type { ResolvedKubeconfig } from "./resolve-kubeconfig.ts";
import type { ClientCredentials, TransportOptions } from "./transport.ts";

/** What of the process a kubeconfig may make use of. */
export interface KubeconfigWorld {
  readonly clock: Clock;
  /** Reads a file by its path; rejects as node:fs does. */
  readonly readFile: (path: string) => Promise<Uint8Array>;
  /** Where HTTPS_PROXY and NO_PROXY stand. */
  readonly env: Environment;
  readonly plugins: PluginHost;
}

/** Address, trust anchors and credentials of a client, from a kubeconfig. */
export type KubeconfigAccess = Omit<TransportOptions, "serverSeen"> & Pick<RemoteOptions, "refused">;

/**
 * Translates every kubeconfig for a client. Credentials of files are read again each minute; a plugin runs at the first request, before
 * its credential expires, and after a 401. The kubeconfig's own proxy precedes that of the environment.
 */
export function kubeconfigAccess(config: ResolvedKubeconfig, world: KubeconfigWorld): KubeconfigAccess {
  const { server, insecureSkipTlsVerify, caPem, tlsServerName, impersonate } = config;
  const proxyUrl = config.proxyUrl ?? environmentProxy(server, world.env);
  const connection = { server, insecureSkipTlsVerify, caPem, tlsServerName, impersonate, proxyUrl };
  if (config.exec !== undefined) {
    const plugin = execCredentials(config.exec, config, { clock: world.clock, host: world.plugins });
    return { ...connection, credentials: () => plugin.current(), refused: (shown) => plugin.refused(shown) };
  }
  const { clientCertPem, clientKeyPem, token } = config;
  const fixed: ClientCredentials = { clientCertPem, clientKeyPem, token };
  return { ...connection, credentials: fileCredentials(config, world) ?? (() => fixed) };
}

/** How long what was read counts, in milliseconds. Source: client-go's token source. */
const freshMs = 60_000;

/**
 * The credentials of a kubeconfig, read again each minute where they come from files, since their issuer replaces the files before they
 * expire. Files that cannot be read, or are empty, leave the credentials unchanged. Undefined where nothing is read from files.
 */
export function fileCredentials(
  config: ResolvedKubeconfig,
  { clock, readFile }: { readonly clock: Clock; readonly readFile: (path: string) => Promise<Uint8Array> },
): (() => Promise<ClientCredentials>) | undefined {
  const { tokenFile, clientCertFile, clientKeyFile } = config;
  if (tokenFile === undefined && (clientCertFile === undefined || clientKeyFile === undefined)) return undefined;
  const { token, clientCertPem, clientKeyPem } = config;
  let known: ClientCredentials = { token, clientCertPem, clientKeyPem };
  let readAt = clock.now();

  async function text(path: string): Promise<string> {
    return Buffer.from(await readFile(path)).toString("utf8");
  }

  async function read(): Promise<ClientCredentials> {
    const token = tokenFile === undefined ? "" : (await text(tokenFile)).trim();
    const [certificate, key] =
      clientCertFile === undefined || clientKeyFile === undefined
        ? ["", ""]
        : [await text(clientCertFile), await text(clientKeyFile)];
    return {
      ...known,
      // Only what may stand in a header; a line break would begin another.
      ...(/^[\u0021-\u007e]+$/.test(token) ? { token } : {}),
      ...(certificate === "" || key === "" ? {} : { clientCertPem: certificate, clientKeyPem: key }),
    };
  }

  return async () => {
    const now = clock.now();
    if (now - readAt < freshMs) return known;
    readAt = now;
    known = await read().catch(() => known);
    return known;
  };
}
