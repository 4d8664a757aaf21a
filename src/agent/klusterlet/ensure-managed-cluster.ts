import { getOrUndefined, ignoreReasons } from "../../client/api-errors.ts";
import type { Client } from "../../client/client.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { managedClusters, type ManagedCluster } from "../../apis/managed-cluster.ts";

/** The external addresses of a cluster's API. */
export interface ClientConfigs {
  /** `https://` URLs. */
  readonly servers: readonly string[];
  /** PEM. */
  readonly caPem?: string | undefined;
}

/** The ManagedCluster, or undefined where there is none. @throws StatusError, ConnectionError */
export function managedClusterOn(client: Client, name: string): Promise<ManagedCluster | undefined> {
  return getOrUndefined(client, managedClusters, { name });
}

/** Creates the ManagedCluster, not accepted, where there is none; an existing one is left as it is. @throws StatusError, ConnectionError */
export async function ensureManagedCluster(
  client: Client,
  name: string,
  configs: ClientConfigs,
): Promise<"created" | "found"> {
  if ((await managedClusterOn(client, name)) !== undefined) return "found";
  const created = client.create(managedClusters, clusterObject(name, configs));
  return (await ignoreReasons(created, "AlreadyExists")) === undefined ? "found" : "created";
}

function clusterObject(name: string, configs: ClientConfigs): ApiObject {
  return {
    apiVersion: "cluster.open-cluster-management.io/v1",
    kind: "ManagedCluster",
    metadata: { name },
    spec: {
      hubAcceptsClient: false,
      managedClusterClientConfigs: configs.servers.length === 0 ? undefined : clientConfigs(configs),
    },
  };
}

/** The cluster with its missing addresses added, or undefined where it has them all. */
export function withClientConfigs(cluster: ManagedCluster, configs: ClientConfigs): ManagedCluster | undefined {
  const stored = cluster.spec?.managedClusterClientConfigs ?? [];
  const missing = configs.servers.filter((url) => !stored.some((one) => one.url === url));
  if (missing.length === 0) return undefined;
  const added = clientConfigs({ ...configs, servers: missing });
  return { ...cluster, spec: { ...cluster.spec, managedClusterClientConfigs: [...stored, ...added] } };
}

function clientConfigs({
  servers,
  caPem,
}: ClientConfigs): readonly { readonly url: string; readonly caBundle?: string }[] {
  const bundle = caPem && { caBundle: Buffer.from(caPem, "utf8").toString("base64") };
  return servers.map((url) => ({ url, ...bundle }));
}
