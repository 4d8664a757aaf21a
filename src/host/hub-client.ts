import { environmentProxy } from "../client/environment-proxy.ts";
import { remoteClient, type RemoteClient, type RemoteOptions } from "../client/remote.ts";

/** A client of a hub for the agent: it uses the proxy of the kubeconfig, else that of the environment, as a kubelet does. */
export function hubClient(options: RemoteOptions): RemoteClient {
  return remoteClient({ ...options, proxyUrl: options.proxyUrl ?? environmentProxy(options.server, process.env) });
}
