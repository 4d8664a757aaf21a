import { formatIp, isMapped, parseAddress, parseIp, type IpAddress } from "./ip-address.ts";
import { truncate } from "../../apimachinery/truncate.ts";

/** A network: an address, whose host bits may be set, and how many of its leading bits count. */
export interface Cidr {
  readonly ip: IpAddress;
  readonly bits: number;
}

/** A network, or why the text is invalid. */
export type ParsedCidr = { readonly cidr: Cidr } | { readonly problem: string };

/** Reads `10.0.0.0/8` as Kubernetes' CEL does: no zone, no leading zeros, no IPv4 mapped into IPv6. Source: apiserver cel/library cidr. */
export function parseCidr(text: string): ParsedCidr {
  const parsed = parsePrefix(text);
  if (typeof parsed === "string") {
    const shown = JSON.stringify(truncate(text, 64));
    const why = parsed === "mapped" ? `IPv4-mapped IPv6 address ${shown} is not allowed` : undefined;
    return {
      problem:
        why ?? `network address parse error during conversion from string: netip.ParsePrefix(${shown}): ${parsed}`,
    };
  }
  return { cidr: parsed };
}

/** `address/bits`, the address in canonical form with its host bits. */
export function formatCidr({ ip, bits }: Cidr): string {
  return `${formatIp(ip)}/${bits}`;
}

/** The network with all host bits cleared. */
export function maskedCidr({ ip, bits }: Cidr): Cidr {
  const hostBits = BigInt(lengthOf(ip) - bits);
  return { ip: { family: ip.family, value: (ip.value >> hostBits) << hostBits }, bits };
}

/** Whether the address lies in the network; one of the other family never does. */
export function cidrContainsIp({ ip, bits }: Cidr, other: IpAddress): boolean {
  const hostBits = BigInt(lengthOf(ip) - bits);
  return ip.family === other.family && ip.value >> hostBits === other.value >> hostBits;
}

/** Whether the text is an address in one of these networks; false where either text cannot be parsed. */
export function isInNetworks(address: string, networks: readonly string[]): boolean {
  const parsed = parseIp(address);
  if (!("ip" in parsed)) return false;
  return networks.some((network) => {
    const one = parseCidr(network);
    return "cidr" in one && cidrContainsIp(one.cidr, parsed.ip);
  });
}

/** Whether all of the other network lies in this one. */
export function cidrContainsCidr(cidr: Cidr, other: Cidr): boolean {
  return cidr.bits <= other.bits && cidrContainsIp(cidr, other.ip);
}

function parsePrefix(text: string): Cidr | string {
  const slash = text.lastIndexOf("/");
  if (slash < 0) return "no '/'";
  const parsed = parseAddress(text.slice(0, slash));
  if ("problem" in parsed) return `ParseAddr(${JSON.stringify(text.slice(0, Math.min(slash, 64)))}): ${parsed.problem}`;
  if (parsed.zone) return "IPv6 zones cannot be present in a prefix";
  const digits = text.slice(slash + 1);
  if (!/^(?:0|[1-9][0-9]{0,2})$/.test(digits)) return `bad bits after slash: ${JSON.stringify(digits.slice(0, 64))}`;
  if (Number(digits) > lengthOf(parsed.ip)) return "prefix length out of range";
  return isMapped(parsed.ip) ? "mapped" : { ip: parsed.ip, bits: Number(digits) };
}

function lengthOf({ family }: IpAddress): 32 | 128 {
  return family === 4 ? 32 : 128;
}
