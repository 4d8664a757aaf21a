import { BlockList, isIP } from "node:net";
import { internalError } from "../apimachinery/status.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { fieldListAt, numberAt, stringAt } from "../apis/json-fields.ts";

/** The default types of Node addresses that the hub connects to, best first; those of kubeadm. */
export const defaultKubeletAddressTypes: readonly string[] = ["InternalIP", "ExternalIP", "Hostname"];

/** All types. Source: api/core/v1 NodeAddressType */
export const kubeletAddressTypes: readonly string[] = [
  "Hostname",
  "InternalDNS",
  "InternalIP",
  "ExternalDNS",
  "ExternalIP",
];

/** Where a kubelet listens. */
export interface KubeletAddress {
  /** A name or an address. */
  readonly host: string;
  readonly port: number;
}

/** Source: kubernetes pkg/cluster/ports KubeletPort. */
const defaultPort = 10_250;

/**
 * The address of a Node's kubelet, as its status has it: the first of the preferred types.
 * @throws StatusError InternalError where it has none. Source: kubernetes pkg/util/node GetPreferredNodeAddress
 */
export function kubeletAddress(node: ApiObject, preferred: readonly string[]): KubeletAddress {
  const addresses = fieldListAt(node, "status", "addresses");
  const port = numberAt(node, "status", "daemonEndpoints", "kubeletEndpoint", "Port") ?? 0;
  for (const type of preferred) {
    const found = addresses.find((one) => stringAt(one, "type") === type && stringAt(one, "address") !== "");
    if (found !== undefined) return { host: stringAt(found, "address"), port: port > 0 ? port : defaultPort };
  }
  const known = addresses.map((one) => `${stringAt(one, "type")}=${stringAt(one, "address")}`).join(" ");
  throw internalError(`no preferred addresses found; known addresses: [${known.slice(0, maxShownCharacters)}]`);
}

/** How much text of a Node is repeated to a client. */
const maxShownCharacters = 512;

const neverIpv4: readonly Subnet[] = [
  ["0.0.0.0", 8],
  // Link-local, and with it the metadata services of clouds.
  ["169.254.0.0", 16],
  ["100.100.100.200", 32],
  ["192.0.0.192", 32],
  ["224.0.0.0", 4],
  ["255.255.255.255", 32],
];

/** Addresses that no kubelet has; a Node may write any address to its status. */
const neverKubelets = blockList([
  ...neverIpv4,
  // The same behind NAT64. Source: RFC 6052.
  ...neverIpv4.map(([address, prefix]): Subnet => [`64:ff9b::${address}`, 96 + prefix]),
  ["::", 128],
  ["fe80::", 10],
  ["fd00:ec2::254", 128],
  ["ff00::", 8],
]);

const loopback = blockList([
  ["127.0.0.0", 8],
  ["::1", 128],
]);

type Subnet = readonly [address: string, prefix: number];

function blockList(subnets: readonly Subnet[]): BlockList {
  const list = new BlockList();
  for (const [address, prefix] of subnets) list.addSubnet(address, prefix, isIP(address) === 6 ? "ipv6" : "ipv4");
  return list;
}

const hostName = /^[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_.])?$/i;
const maxPort = 65_535;

/** Why the hub does not connect to the kubelet address of a Node; undefined where it does. A host name is resolved later. */
export function targetProblem({ host, port }: KubeletAddress, bindAddress: string): string | undefined {
  if (port > maxPort) return `port ${port} does not exist`;
  if (isIP(host) !== 0) return addressProblem(host, bindAddress);
  return hostName.test(host) ? undefined : `${JSON.stringify(host.slice(0, 64))} is no host name`;
}

/**
 * Why the hub does not connect to an IP address as to a kubelet; undefined where it does. Loopback addresses, where services of the
 * machine listen, are allowed only if the hub itself listens at loopback: its kubelets can then be nowhere else.
 */
export function addressProblem(address: string, bindAddress: string): string | undefined {
  const family = isIP(address);
  if (family === 0) return "it is no IP address";
  const type = family === 6 ? "ipv6" : "ipv4";
  if (neverKubelets.check(address, type)) {
    return "the hub connects to no link-local, multicast, unspecified or metadata address";
  }
  if (loopback.check(address, type) && !isLoopback(bindAddress)) {
    return "the hub connects to loopback addresses only where it listens at one (--bind-address)";
  }
  return undefined;
}

function isLoopback(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && loopback.check(address, family === 6 ? "ipv6" : "ipv4");
}
