import { environmentProxy } from "../client/environment-proxy.ts";
import { remoteClient, type RemoteClient, type RemoteOptions } from "../client/remote.ts";

/** A client of a hub as the agent speaks to it: through the proxy of the kubeconfig, else through that of the environment, as a kubelet does. */
export function hubClient(options: RemoteOptions): RemoteClient {
  return remoteClient({ ...options, proxyUrl: options.proxyUrl ?? environmentProxy(options.server, process.env) });
}
