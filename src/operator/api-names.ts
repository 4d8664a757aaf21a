import type { Client, ResourceRef } from "../client/client.ts";
import { getOrUndefined } from "../client/api-errors.ts";
import type { ApiObject } from "../apimachinery/object.ts";

const services = core("Service", "services");
const endpoints = core("Endpoints", "endpoints");

interface Service extends ApiObject {
  readonly spec?: { readonly clusterIP?: string; readonly clusterIPs?: readonly string[] };
}

interface Endpoints extends ApiObject {
  readonly subsets?: readonly { readonly addresses?: readonly { readonly ip: string }[] }[];
}

/** Names and addresses under which the API of a cluster is reached: the kubeconfig's, those of Service default/kubernetes. */
export async function apiNames(client: Client, server: string): Promise<readonly string[]> {
  const { hostname } = new URL(server);
  const key = { namespace: "default", name: "kubernetes" };
  const service = await getOrUndefined<Service>(client, services, key);
  const behind = await getOrUndefined<Endpoints>(client, endpoints, key);
  const { clusterIP, clusterIPs = [] } = service?.spec ?? {};
  const addresses = (behind?.subsets ?? []).flatMap((subset) => (subset.addresses ?? []).map(({ ip }) => ip));
  return [
    hostname.replace(/^\[(.*)\]$/, "$1"),
    ...(clusterIP === undefined ? [] : [clusterIP]),
    ...clusterIPs,
    ...addresses,
  ];
}

function core(kind: string, plural: string): ResourceRef {
  return { group: "", version: "v1", kind, plural, scope: "Namespaced" };
}
