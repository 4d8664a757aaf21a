import { isIPv4, isIPv6 } from "node:net";

/** Text of a 4- or 16-byte address; IPv6 in the canonical form of RFC 5952. Undefined for any other length. */
export function ipAddressText(bytes: Uint8Array): string | undefined {
  if (bytes.length === 4) return bytes.join(".");
  if (bytes.length !== 16) return undefined;
  const isMapped = bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
  if (isMapped) return `::ffff:${bytes.subarray(12).join(".")}`;
  const groups = Buffer.from(bytes).toString("hex").match(/.{4}/g) ?? [];
  // The hostname of a URL has that form.
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
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
