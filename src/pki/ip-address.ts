import { isIPv4, isIPv6 } from "node:net";

/** Text of a 4- or 16-byte address; IPv6 in the canonical form of RFC 5952. Undefined for any other length. */
export function ipAddressText(bytes: Uint8Array): string | undefined {
  if (bytes.length === 4) return bytes.join(".");
  if (bytes.length !== 16) return undefined;
  const mapped = bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
  if (mapped) return `::ffff:${bytes.subarray(12).join(".")}`;
  const groups: string[] = [];
  for (let at = 0; at < 16; at += 2) {
    groups.push((((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)).toString(16));
  }
  return compress(groups);
}

/** The 4 or 16 bytes of an address text; undefined when it is not one, or has a zone. */
export function ipAddressBytes(text: string): Uint8Array | undefined {
  if (isIPv4(text)) return Uint8Array.from(text.split(".").map(Number));
  if (!isIPv6(text) || text.includes("%")) return undefined;
  const [left = "", right] = text.split("::");
  const head = groupBytes(left);
  const tail = groupBytes(right ?? "");
  const bytes = new Uint8Array(16);
  bytes.set(head, 0);
  bytes.set(tail, 16 - tail.length);
  return bytes;
}

function groupBytes(text: string): number[] {
  return text === ""
    ? []
    : text.split(":").flatMap((group) => {
        if (group.includes(".")) return group.split(".").map(Number);
        const value = Number.parseInt(group, 16);
        return [value >> 8, value & 0xff];
      });
}

function compress(groups: readonly string[]): string {
  let best = { start: 0, length: 1 };
  let start = 0;
  for (let at = 0; at <= groups.length; at++) {
    if (groups[at] === "0") continue;
    if (at - start > best.length) best = { start, length: at - start };
    start = at + 1;
  }
  if (best.length === 1) return groups.join(":");
  return `${groups.slice(0, best.start).join(":")}::${groups.slice(best.start + best.length).join(":")}`;
}
