import { hostname, networkInterfaces } from "node:os";
import { isIP } from "node:net";
import { caCheckServerName } from "../trust/ca-check.ts";
import type { HubOptions } from "./hub-options.ts";

/** Names and addresses at which a client may reach this hub. */
export function servingNames({ bindAddress, tlsSans }: HubOptions): {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
} {
  const everywhere = bindAddress === "0.0.0.0" || bindAddress === "::";
  const own = interfaceAddresses();
  const given = [bindAddress, ...tlsSans].filter((one) => one !== "0.0.0.0" && one !== "::");
  const dns = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    hostname().toLowerCase(),
    ...given.filter((one) => isIP(one) === 0),
  ];
  const ip = ["127.0.0.1", "::1", ...given.filter((one) => isIP(one) !== 0), ...(everywhere ? own : [])];
  return { dnsNames: [...new Set(dns)], ipAddresses: [...new Set(ip)] };
}

/** All names and addresses of this hub or its machine, whichever of them it listens on, and the TLS server name of CA checks. */
export function ownNames(options: HubOptions): readonly string[] {
  const { dnsNames, ipAddresses } = servingNames(options);
  return [...new Set([...dnsNames, ...ipAddresses, ...interfaceAddresses(), caCheckServerName])];
}

function interfaceAddresses(): readonly string[] {
  return Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .map(({ address }) => address)
    .filter((address) => !address.startsWith("fe80:"));
}

/** The address for clients: the first name given by the operator, else where the hub listens. */
export function hostPort({ bindAddress, tlsSans }: HubOptions, port: number): string {
  const everywhere = bindAddress === "0.0.0.0" || bindAddress === "::";
  const host = everywhere ? (tlsSans[0] ?? hostname()) : bindAddress;
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
