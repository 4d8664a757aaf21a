/** Why bytes are not the DER that was expected. */
export type DerErrorCode = "truncated" | "trailing" | "length" | "tag" | "value" | "tooLarge" | "tooDeep";

/** Thrown when bytes are not strict DER, or not the expected structure. The message names the part, never the bytes. */
export class DerError extends Error {
  readonly code: DerErrorCode;

  constructor(code: DerErrorCode, message: string) {
    super(message);
    this.name = "DerError";
    this.code = code;
  }
}

/** One element inside `source`: header from `start`, content from `contentStart`, both up to `end`. Nothing is copied. */
export interface DerNode {
  readonly tag: number;
  readonly source: Uint8Array;
  readonly start: number;
  readonly contentStart: number;
  readonly end: number;
}

/** Bounds of one parse; by default 1 MiB and 16 levels. */
export interface DerLimits {
  readonly maxBytes?: number;
  readonly maxDepth?: number;
}

/** Identifier octets of the types that certificates use. Source: X.690 section 8. */
export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  numericString: 0x12,
  printableString: 0x13,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
} as const;

/**
 * Reads exactly one element and checks the structure of everything inside it: definite minimal lengths, single-byte tags,
 * primitive and constructed forms as DER requires, nothing after the end. Contents of primitive elements are not checked.
 * @throws DerError
 * @see X.690 sections 8 and 10
 */
export function parseDer(bytes: Uint8Array, limits: DerLimits = {}): DerNode {
  const maxBytes = limits.maxBytes ?? 1_048_576;
  if (bytes.length > maxBytes) throw new DerError("tooLarge", `larger than ${maxBytes} bytes`);
  const node = readNode(bytes, 0, bytes.length);
  if (node.end !== bytes.length) throw new DerError("trailing", "there are bytes after the end");
  checkStructure(node, limits.maxDepth ?? 16);
  return node;
}

/** The elements inside a constructed element that `parseDer` has already checked. */
export function childrenOf(node: DerNode): DerNode[] {
  const children: DerNode[] = [];
  let at = node.contentStart;
  while (at < node.end) {
    const child = readNode(node.source, at, node.end);
    children.push(child);
    at = child.end;
  }
  return children;
}

/** The whole element, header included, as encoded. */
export function rawOf(node: DerNode): Uint8Array {
  return node.source.subarray(node.start, node.end);
}

/** The content without its header, as encoded. */
export function contentOf(node: DerNode): Uint8Array {
  return node.source.subarray(node.contentStart, node.end);
}

/**
 * The node itself when it is there and has this tag.
 * @throws DerError naming `what` otherwise
 */
export function expectNode(node: DerNode | undefined, tag: number, what: string): DerNode {
  if (node === undefined) throw new DerError("value", `${what} is missing`);
  if (node.tag !== tag) {
    throw new DerError("tag", `${what} has tag 0x${hexByte(node.tag)} instead of 0x${hexByte(tag)}`);
  }
  return node;
}

/**
 * The elements of a SEQUENCE.
 * @throws DerError naming `what` when it is not one
 */
export function sequenceOf(node: DerNode | undefined, what: string): DerNode[] {
  return childrenOf(expectNode(node, tags.sequence, what));
}

/** The elements of a SEQUENCE that has exactly so many. @throws DerError naming `what` otherwise */
export function exactly(count: number, node: DerNode | undefined, what: string): readonly DerNode[] {
  const parts = sequenceOf(node, what);
  if (parts.length === count) return parts;
  throw new DerError("value", `${what} must have ${count} parts and has ${parts.length}`);
}

/** The AlgorithmIdentifier of a signature, which is both inside the signed part and beside it. @throws DerError when the two differ */
export function sameAlgorithm(inner: DerNode | undefined, outer: DerNode | undefined): DerNode {
  const [one, other] = [inner, outer].map((node) => expectNode(node, tags.sequence, "the signature algorithm"));
  if (one !== undefined && other !== undefined && sameBytes(rawOf(one), rawOf(other))) return other;
  throw new DerError("value", "the two signature algorithms are not the same");
}

/** The two's complement content of an INTEGER in its shortest form. @throws DerError */
export function readInteger(node: DerNode | undefined, what: string): Uint8Array {
  const content = contentOf(expectNode(node, tags.integer, what));
  const first = content[0];
  if (first === undefined) throw new DerError("value", `${what} is an empty INTEGER`);
  const second = content[1];
  if (second !== undefined && ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80))) {
    throw new DerError("value", `${what} is not in the shortest form`);
  }
  return content;
}

/** A non-negative INTEGER below 2^31. @throws DerError */
export function readSmallInteger(node: DerNode | undefined, what: string): number {
  const content = readInteger(node, what);
  if (content.length > 4 || (content[0] ?? 0) >= 0x80) throw new DerError("value", `${what} is out of range`);
  return content.reduce((value, byte) => value * 256 + byte, 0);
}

/** The magnitude of a non-negative INTEGER, without leading zero. @throws DerError */
export function readUnsigned(node: DerNode | undefined, what: string): Uint8Array {
  const content = readInteger(node, what);
  if ((content[0] ?? 0) >= 0x80) throw new DerError("value", `${what} is negative`);
  return content[0] === 0 && content.length > 1 ? content.subarray(1) : content;
}

/** A BOOLEAN, 0x00 or 0xff. @throws DerError */
export function readBoolean(node: DerNode | undefined, what: string): boolean {
  const content = contentOf(expectNode(node, tags.boolean, what));
  if (content.length !== 1 || (content[0] !== 0 && content[0] !== 0xff)) {
    throw new DerError("value", `${what} is not a DER BOOLEAN`);
  }
  return content[0] === 0xff;
}

/** An OBJECT IDENTIFIER as dotted text; at most 64 bytes, each arc below 2^53. @throws DerError */
export function readOid(node: DerNode | undefined, what: string): string {
  const content = contentOf(expectNode(node, tags.oid, what));
  if (!endsAnArc(content) || content.length > 64) throw new DerError("value", `${what} is not an OBJECT IDENTIFIER`);
  let text = "";
  let arc = 0;
  for (let index = 0; index < content.length; index++) {
    const byte = content[index] ?? 0;
    if (arc === 0 && byte === 0x80) throw new DerError("value", `${what} is not in the shortest form`);
    arc = arc * 128 + (byte & 0x7f);
    if (arc > Number.MAX_SAFE_INTEGER) throw new DerError("value", `${what} has an arc that is too large`);
    if (byte < 0x80) {
      text = text === "" ? firstArcs(arc) : `${text}.${arc}`;
      arc = 0;
    }
  }
  return text;
}

function endsAnArc(content: Uint8Array): boolean {
  return (content.at(-1) ?? 0x80) < 0x80;
}

/** The bytes of a BIT STRING that has no unused bits: keys and signatures. @throws DerError */
export function readBitBytes(node: DerNode | undefined, what: string): Uint8Array {
  const content = contentOf(expectNode(node, tags.bitString, what));
  if (content[0] !== 0) throw new DerError("value", `${what} is not a whole number of bytes`);
  return content.subarray(1);
}

/** The numbers of the bits that are set in a BIT STRING of at most 16 named bits. @throws DerError */
export function readNamedBits(node: DerNode | undefined, what: string): ReadonlySet<number> {
  const content = contentOf(expectNode(node, tags.bitString, what));
  const unused = content[0] ?? 8;
  const bytes = content.subarray(1);
  const last = bytes.at(-1) ?? 0;
  if (unused > 7 || bytes.length > 2 || (bytes.length === 0 && unused > 0) || (last & ((1 << unused) - 1)) !== 0) {
    throw new DerError("value", `${what} is not a DER BIT STRING of named bits`);
  }
  const bits = new Set<number>();
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    if (hasBit(bytes, bit)) bits.add(bit);
  }
  return bits;
}

function hasBit(bytes: Uint8Array, bit: number): boolean {
  return ((bytes[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0;
}

/** A UTCTime (1950 to 2049) or GeneralizedTime in the form of certificates, `…SSZ`, in milliseconds. @throws DerError */
export function readTime(node: DerNode | undefined, what: string): number {
  const tag = node?.tag === tags.utcTime ? tags.utcTime : tags.generalizedTime;
  const text = latin1(contentOf(expectNode(node, tag, what)));
  if (!(tag === tags.utcTime ? /^\d{12}Z$/ : /^\d{14}Z$/).test(text)) {
    throw new DerError("value", `${what} is not a time in UTC with seconds`);
  }
  const full = tag === tags.generalizedTime ? text : (text < "50" ? "20" : "19") + text;
  const iso = full.replace(/^(....)(..)(..)(..)(..)(..)Z$/, "$1-$2-$3T$4:$5:$6.000Z");
  const ms = Date.parse(iso);
  // Date.parse alone would accept 30 February as 1 or 2 March.
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== iso) {
    throw new DerError("value", `${what} is not a date of the calendar`);
  }
  return ms;
}

/** Bytes as characters of the same code. */
export function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
}

/** Whether two byte strings are equal; not constant in time, for public data only. */
export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}

function readNode(source: Uint8Array, start: number, limit: number): DerNode {
  const tag = source[start];
  const first = source[start + 1];
  if (tag === undefined || first === undefined || start + 2 > limit) {
    throw new DerError("truncated", "the encoding ends in the middle of an element");
  }
  checkTag(tag);
  const contentStart = start + 2 + (first < 0x80 ? 0 : first & 0x7f);
  const length =
    first < 0x80 ? first : readLongLength(source.subarray(start + 2, Math.min(contentStart, limit)), first);
  const end = contentStart + length;
  if (end > limit) throw new DerError("truncated", "an element is longer than what holds it");
  return { tag, source, start, contentStart, end };
}

function readLongLength(bytes: Uint8Array, first: number): number {
  const count = first & 0x7f;
  if (count === 0) throw new DerError("length", "indefinite lengths are not DER");
  if (count > 4) throw new DerError("length", "a length takes more than four bytes");
  if (bytes.length < count) throw new DerError("truncated", "the encoding ends in the middle of a length");
  const length = bytes.reduce((value, byte) => value * 256 + byte, 0);
  if (length < 0x80 || bytes[0] === 0) throw new DerError("length", "a length is not in the shortest form");
  return length;
}

function checkTag(tag: number): void {
  const number = tag & 0x1f;
  if (number === 0x1f) throw new DerError("tag", "tags of more than one byte are not used here");
  if ((tag & 0xc0) !== 0) return;
  const constructed = (tag & 0x20) !== 0;
  const mustBeConstructed = number === 0x10 || number === 0x11;
  if (number === 0 || constructed !== mustBeConstructed) throw new DerError("tag", `tag 0x${hexByte(tag)} is not DER`);
}

function checkStructure(node: DerNode, depthLeft: number): void {
  if ((node.tag & 0x20) === 0) return;
  if (depthLeft === 0) throw new DerError("tooDeep", "elements are nested too deeply");
  let at = node.contentStart;
  while (at < node.end) {
    const child = readNode(node.source, at, node.end);
    checkStructure(child, depthLeft - 1);
    at = child.end;
  }
}

function firstArcs(value: number): string {
  const top = value < 40 ? 0 : value < 80 ? 1 : 2;
  return `${top}.${value - top * 40}`;
}

function hexByte(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}
