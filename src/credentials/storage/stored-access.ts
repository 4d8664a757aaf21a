import { KubeconfigError, parseKubeconfig } from "../../client/kubeconfig.ts";
import { resolveKubeconfig } from "../../client/resolve-kubeconfig.ts";
import type { AccessFolder } from "./access-folder.ts";
import { JoinError } from "../join-error.ts";
import type { NodeHubAddress } from "../node-client.ts";
import { tokenClaims, type TokenClaims } from "../proof/token-claims.ts";

/** The access that a folder holds. The token is secret. */
export interface StoredAccess extends NodeHubAddress {
  readonly token: string;
  readonly claims: TokenClaims;
}

/** Reads the access that `pratique request` has left. @throws JoinError no-access where there is none, or none that can be read */
export async function storedAccess(folder: AccessFolder): Promise<StoredAccess> {
  const kubeconfig = await folder.text(folder.kubeconfig);
  const token = (await folder.text(folder.token))?.trim();
  if (kubeconfig === undefined || token === undefined || token === "") {
    throw new JoinError("no-access", `there is no access in ${folder.dir}: ask for it with pratique request`);
  }
  const claims = tokenClaims(token);
  if (claims === undefined) {
    throw new JoinError(
      "no-access",
      `${folder.token} holds no token of a ServiceAccount: request again with pratique request`,
    );
  }
  const { server, caPem, proxyUrl, tlsServerName } = await clusterIn(kubeconfig, token, folder);
  if (caPem === undefined) {
    throw new JoinError(
      "no-access",
      `${folder.kubeconfig} names no CA, and no other is trusted: request again with pratique request`,
    );
  }
  return {
    server,
    caPem,
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    token,
    claims,
  };
}

async function clusterIn(
  text: string,
  token: string,
  folder: AccessFolder,
): Promise<Omit<NodeHubAddress, "caPem"> & { readonly caPem?: string }> {
  try {
    const readFile = async (path: string): Promise<Uint8Array> =>
      Buffer.from(path === folder.token ? token : ((await folder.text(path)) ?? ""));
    return await resolveKubeconfig(parseKubeconfig(text, folder.kubeconfig), { readFile });
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    throw new JoinError("no-access", `the kubeconfig cannot be used: ${error.message}`, { cause: error });
  }
}
