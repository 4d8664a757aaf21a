import { truncate } from "../../apimachinery/truncate.ts";

/** An IPv4 or IPv6 address without a zone; `value` is its 32 or 128 bits. */
export interface IpAddress {
  readonly family: 4 | 6;
  readonly value: bigint;
}

/** An address, or why the text is invalid. */
export type ParsedIp = { readonly ip: IpAddress } | { readonly problem: string };

/** Reads an address as Kubernetes' CEL does: no zone, no leading zeros, no IPv4 mapped into IPv6. Source: apiserver cel/library ip. */
export function parseIp(text: string): ParsedIp {
  const parsed = parseAddress(text);
  if ("problem" in parsed) {
    return {
      problem: `IP Address ${quoted(text)} parse error during conversion from string: ParseAddr(${quoted(text)}): ${parsed.problem}`,
    };
  }
  if (parsed.zone) return { problem: `IP address ${quoted(text)} with zone value is not allowed` };
  if (isMapped(parsed.ip)) return { problem: `IPv4-mapped IPv6 address ${quoted(text)} is not allowed` };
  return { ip: parsed.ip };
}

/** An address and whether a zone followed it, or why the text is invalid. Source: Go net/netip ParseAddr. */
export function parseAddress(
  text: string,
): { readonly ip: IpAddress; readonly zone: boolean } | { readonly problem: string } {
  const first = /[.:%]/.exec(text)?.[0];
  if (first === undefined) return { problem: "unable to parse IP" };
  if (first === "%") return { problem: "missing IPv6 address" };
  if (first === ".") {
    const value = dotted(text);
    return value === undefined ? { problem: "unable to parse IP" } : { ip: { family: 4, value }, zone: false };
  }
  const percent = text.indexOf("%");
  if (percent === text.length - 1) return { problem: "zone must be a non-empty string" };
  const value = grouped(percent < 0 ? text : text.slice(0, percent));
  return value === undefined ? { problem: "unable to parse IP" } : { ip: { family: 6, value }, zone: percent >= 0 };
}

/** Whether the address is an IPv4 one in `::ffff:0:0/96`. */
export function isMapped({ family, value }: IpAddress): boolean {
  return family === 6 && value >> 32n === 0xffffn;
}

/** The one canonical form. Source: RFC 5952. */
export function formatIp({ family, value }: IpAddress): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 0xffn)).join(".");
  const groups = Array.from({ length: 8 }, (_, index) => Number((value >> BigInt(112 - 16 * index)) & 0xffffn));
  const { start, length } = longestZeros(groups);
  const hex = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(":");
  if (length < 2) return hex(groups);
  return `${hex(groups.slice(0, start))}::${hex(groups.slice(start + length))}`;
}

/** `0.0.0.0` or `::`. */
export function isUnspecified({ value }: IpAddress): boolean {
  return value === 0n;
}

/** `127.0.0.0/8` or `::1`. */
export function isLoopback({ family, value }: IpAddress): boolean {
  return family === 4 ? value >> 24n === 127n : value === 1n;
}

/** `224.0.0.0/24`, or `ff02::/16` with any flags. */
export function isLinkLocalMulticast({ family, value }: IpAddress): boolean {
  return family === 4 ? value >> 8n === 0xe00000n : ((value >> 112n) & 0xff0fn) === 0xff02n;
}

/** `169.254.0.0/16` or `fe80::/10`. */
export function isLinkLocalUnicast({ family, value }: IpAddress): boolean {
  return family === 4 ? value >> 16n === 0xa9fen : value >> 118n === 0x3fan;
}

/** Neither unspecified, loopback, multicast, link-local nor the IPv4 broadcast address; private networks count as global. */
export function isGlobalUnicast(ip: IpAddress): boolean {
  const broadcast = ip.family === 4 && ip.value === 0xffffffffn;
  return !broadcast && !isUnspecified(ip) && !isLoopback(ip) && !isMulticast(ip) && !isLinkLocalUnicast(ip);
}

function isMulticast({ family, value }: IpAddress): boolean {
  return family === 4 ? value >> 28n === 0xen : value >> 120n === 0xffn;
}

function dotted(text: string): bigint | undefined {
  const octets = text.length <= 15 ? text.split(".") : [];
  if (octets.length !== 4) return undefined;
  let value = 0n;
  for (const octet of octets) {
    if (!/^(?:0|[1-9][0-9]{0,2})$/.test(octet) || Number(octet) > 255) return undefined;
    value = (value << 8n) | BigInt(octet);
  }
  return value;
}

function grouped(text: string): bigint | undefined {
  if (text.length > 45) return undefined;
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [head = "", tail] = halves;
  // An embedded IPv4 address is at the very end, so it is in the head only where there is no tail.
  const before = groupsOf(head, tail === undefined);
  const after = tail === undefined ? [] : groupsOf(tail, true);
  if (before === undefined || after === undefined) return undefined;
  const zeros = 8 - before.length - after.length;
  if (tail === undefined ? zeros !== 0 : zeros < 1) return undefined;
  const all = [...before, ...Array.from({ length: zeros }, () => 0n), ...after];
  return all.reduce((value, group) => (value << 16n) | group, 0n);
}

function groupsOf(text: string, atEnd: boolean): readonly bigint[] | undefined {
  if (text === "") return [];
  const groups: bigint[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(BigInt(`0x${part}`));
    else {
      const embedded = atEnd && index === parts.length - 1 ? dotted(part) : undefined;
      if (embedded === undefined) return undefined;
      groups.push(embedded >> 16n, embedded & 0xffffn);
    }
  }
  return groups;
}

/** The first of the longest runs of zero groups. */
function longestZeros(groups: readonly number[]): { readonly start: number; readonly length: number } {
  let best = { start: 0, length: 0 };
  let length = 0;
  for (const [index, group] of groups.entries()) {
    length = group === 0 ? length + 1 : 0;
    if (length > best.length) best = { start: index - length + 1, length };
  }
  return best;
}

function quoted(text: string): string {
  return JSON.stringify(truncate(text, 64));
}
