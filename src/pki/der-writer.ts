import { tags } from "./der.ts";

/** One element with this identifier octet around the parts. */
export function derElement(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) {
    length += part.length;
  }
  const header = derHeader(tag, length);
  const whole = Buffer.allocUnsafe(header.length + length);
  whole.set(header, 0);
  let at = header.length;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** A SEQUENCE of the parts in this order. */
export function derSequence(...parts: readonly Uint8Array[]): Uint8Array {
  return derElement(tags.sequence, ...parts);
}

/** An INTEGER from the big-endian bytes of a non-negative number, in the shortest form. */
export function derUnsigned(magnitude: Uint8Array): Uint8Array {
  let start = 0;
  while (start < magnitude.length - 1 && magnitude[start] === 0) {
    start++;
  }
  const short = magnitude.subarray(start);
  return (short[0] ?? 0x80) >= 0x80
    ? derElement(tags.integer, new Uint8Array(1), short)
    : derElement(tags.integer, short);
}

/** An OBJECT IDENTIFIER from dotted text that the program itself wrote. */
export function derOid(dotted: string): Uint8Array {
  const [top = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const content: number[] = [];
  for (const arc of [top * 40 + second, ...rest]) {
    const digits = [arc % 128];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) {
      digits.unshift((left % 128) + 128);
    }
    content.push(...digits);
  }
  return derElement(tags.oid, Uint8Array.from(content));
}

/** A BIT STRING without unused bits. */
export function derBitBytes(bytes: Uint8Array): Uint8Array {
  return derElement(tags.bitString, new Uint8Array(1), bytes);
}

/** A BIT STRING of named bits, trailing zeros cut off as DER requires. */
export function derNamedBits(bits: Iterable<number>): Uint8Array {
  const bytes = new Uint8Array(2);
  let highest = -1;
  for (const bit of bits) {
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) | (0x80 >> (bit & 7));
    highest = Math.max(highest, bit);
  }
  const used = (highest >> 3) + 1;
  const unused = highest < 0 ? 0 : 7 - (highest & 7);
  return derElement(tags.bitString, Uint8Array.of(unused), bytes.subarray(0, used));
}

/** An OCTET STRING. */
export function derOctets(bytes: Uint8Array): Uint8Array {
  return derElement(tags.octetString, bytes);
}

/** BOOLEAN TRUE; FALSE is always a default in certificates and therefore never written. */
export function derTrue(): Uint8Array {
  return Uint8Array.of(tags.boolean, 1, 0xff);
}

/** A time for certificates: UTCTime before 2050, GeneralizedTime from then on, fractions of a second cut off. Source: RFC 5280 section 4.1.2.5. */
export function derTime(ms: number): Uint8Array {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]/g, "").slice(0, 14);
  const short = digits >= "1950" && digits < "2050";
  return short
    ? derElement(tags.utcTime, Buffer.from(`${digits.slice(2)}Z`, "latin1"))
    : derElement(tags.generalizedTime, Buffer.from(`${digits}Z`, "latin1"));
}

function derHeader(tag: number, length: number): Uint8Array {
  if (length < 0x80) return Uint8Array.of(tag, length);
  const bytes: number[] = [];
  for (let left = length; left > 0; left = Math.floor(left / 256)) bytes.unshift(left % 256);
  return Uint8Array.of(tag, 0x80 + bytes.length, ...bytes);
}
