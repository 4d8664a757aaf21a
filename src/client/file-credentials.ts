import type { Clock } from "../apimachinery/clock.ts";
import type { ResolvedKubeconfig } from "./resolve-kubeconfig.ts";
import type { ClientCredentials } from "./transport.ts";

/** How long what was read counts, in milliseconds. Source: client-go's token source. */
const freshMs = 60_000;

/**
 * The credentials of a kubeconfig, read again each minute where they come from files, since whoever wrote those replaces them before they
 * end. Files that cannot be read, or are empty, leave the credentials as they were. Undefined where nothing is read from files.
 */
export function fileCredentials(
  config: ResolvedKubeconfig,
  { clock, readFile }: { readonly clock: Clock; readonly readFile: (path: string) => Promise<Uint8Array> },
): (() => Promise<ClientCredentials>) | undefined {
  const { tokenFile, clientCertFile, clientKeyFile } = config;
  if (tokenFile === undefined && (clientCertFile === undefined || clientKeyFile === undefined)) return undefined;
  let known: ClientCredentials = {
    ...(config.token === undefined ? {} : { token: config.token }),
    ...(config.clientCertPem === undefined ? {} : { clientCertPem: config.clientCertPem }),
    ...(config.clientKeyPem === undefined ? {} : { clientKeyPem: config.clientKeyPem }),
  };
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
