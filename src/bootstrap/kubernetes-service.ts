import { getOrUndefined } from "../client/api-errors.ts";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import type { Client } from "../client/client.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { isSameJson } from "../apis/json-fields.ts";
import { services } from "../apis/service.ts";

interface ServedAddresses {
  readonly bindAddress: string;
  /** Additional names and addresses for the serving certificate. */
  readonly tlsSans: readonly string[];
}

const key = { namespace: "default", name: "kubernetes" };

/**
 * The Service from which kubelets derive KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT of Pods. It has the address and port of the
 * hub itself: no kube-proxy forwards from a service range to the hub. Programs that do so ignore a Service with this label. Source:
 * kubernetes pkg/controlplane/controller/kubernetesservice, KEP-2447
 */
export function kubernetesService(address: string, port: number): ApiObject {
  const labels = { component: "apiserver", provider: "kubernetes", "service.kubernetes.io/service-proxy-name": "none" };
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { ...key, labels },
    spec: {
      clusterIP: address,
      clusterIPs: [address],
      internalTrafficPolicy: "Cluster",
      ipFamilies: [isIP(address) === 6 ? "IPv6" : "IPv4"],
      ipFamilyPolicy: "SingleStack",
      ports: [{ name: "https", port, protocol: "TCP", targetPort: port }],
      sessionAffinity: "None",
      type: "ClusterIP",
    },
    status: { loadBalancer: {} },
  };
}

/** Writes the required Service `kubernetes` at each start of the hub; no other client may write Services. */
export async function putKubernetesService(client: Client, options: ServedAddresses, port: number): Promise<void> {
  const wanted = kubernetesService(serviceAddress(options, machineAddresses()), port);
  const found = await getOrUndefined(client, services, key);
  if (found === undefined) return void (await client.create(services, wanted));
  const { spec, metadata } = wanted;
  if (isSameJson(found["spec"], spec) && isSameJson(found.metadata.labels, metadata.labels)) return;
  await client.update(services, { ...found, metadata: { ...found.metadata, labels: metadata.labels ?? {} }, spec });
}

/**
 * The IP address at which Pods reach the hub: where it listens; if that is every address, the first IP address of `--tls-san`, else the
 * first of the machine, loopback addresses last. A Service cannot contain a host name of the operator.
 */
export function serviceAddress({ bindAddress, tlsSans }: ServedAddresses, ofMachine: readonly string[]): string {
  if (isAddress(bindAddress)) return bindAddress;
  const candidates = [...tlsSans, ...ofMachine].filter(isAddress);
  return candidates.find((address) => !isLoopback(address)) ?? candidates[0] ?? "127.0.0.1";
}

function isAddress(text: string): boolean {
  return isIP(text) !== 0 && text !== "0.0.0.0" && text !== "::";
}

function isLoopback(address: string): boolean {
  return address.startsWith("127.") || address === "::1";
}

/** IPv4 addresses first, as kubelets prefer them. */
function machineAddresses(): readonly string[] {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const ofFamily = (family: string): readonly string[] =>
    all
      .filter((one) => one.family === family && !one.internal && !one.address.startsWith("fe80:"))
      .map((one) => one.address);
  return [...ofFamily("IPv4"), ...ofFamily("IPv6")];
}
