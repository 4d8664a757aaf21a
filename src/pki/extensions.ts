import {
  childrenOf,
  contentOf,
  DerError,
  expectNode,
  parseDer,
  readBoolean,
  readNamedBits,
  readOid,
  readSmallInteger,
  sequenceOf,
  tags,
  type DerNode,
} from "./der.ts";
import { derOctets, derOid, derSequence, derTrue } from "./der-writer.ts";

/** One extension of a certificate or request; `value` is the content of its OCTET STRING. */
export interface Extension {
  readonly oid: string;
  readonly critical: boolean;
  readonly value: Uint8Array;
}

/** Whether a key may sign certificates, and how many intermediate CAs may follow below it (undefined: any number). */
export interface BasicConstraints {
  readonly isCa: boolean;
  readonly pathLength: number | undefined;
}

const maxExtensions = 64;

/**
 * Reads an Extensions sequence: 1 to 64, each kind at most once, so that no other parser can select a different one.
 * @throws DerError
 * @see RFC 5280 section 4.2
 */
export function parseExtensions(node: DerNode | undefined): ReadonlyMap<string, Extension> {
  const nodes = sequenceOf(node, "extensions");
  if (nodes.length === 0 || nodes.length > maxExtensions) {
    throw new DerError("value", `there must be 1 to ${maxExtensions} extensions`);
  }
  const extensions = new Map<string, Extension>();
  for (const one of nodes) {
    const extension = parseExtension(one);
    if (extensions.has(extension.oid)) {
      throw new DerError("value", `extension ${extension.oid} is there more than once`);
    }
    extensions.set(extension.oid, extension);
  }
  return extensions;
}

/** Reads the only Extensions sequence inside the tag of certificates and revocation lists. @throws DerError */
export function parseWrappedExtensions(tag: number, node: DerNode | undefined): ReadonlyMap<string, Extension> {
  const [list, extra] = childrenOf(expectNode(node, tag, "extensions"));
  if (extra !== undefined) throw new DerError("value", "there is more than one list of extensions");
  return parseExtensions(list);
}

/** The DER of one extension. */
export function buildExtension(extension: Extension): Uint8Array {
  const type = derOid(extension.oid);
  const value = derOctets(extension.value);
  return extension.critical ? derSequence(type, derTrue(), value) : derSequence(type, value);
}

/** Reads the value of basicConstraints; a written-out FALSE, which DER would leave out, is common and accepted. @throws DerError */
export function parseBasicConstraints(value: Uint8Array): BasicConstraints {
  const parts = sequenceOf(parseDer(value), "basicConstraints");
  const isCa = parts[0]?.tag === tags.boolean ? readBoolean(parts.shift(), "basicConstraints cA") : false;
  const length = parts.shift();
  if (parts.length > 0 || (length !== undefined && !isCa)) {
    throw new DerError("value", "basicConstraints has unexpected parts");
  }
  return { isCa, pathLength: length === undefined ? undefined : readSmallInteger(length, "pathLenConstraint") };
}

/** Reads the value of keyUsage as bit numbers. @throws DerError @see RFC 5280 section 4.2.1.3 */
export function parseKeyUsage(value: Uint8Array): ReadonlySet<number> {
  return readNamedBits(parseDer(value), "keyUsage");
}

/** Reads the value of extKeyUsage as object identifiers, at least one. @throws DerError */
export function parseExtendedKeyUsage(value: Uint8Array): readonly string[] {
  const purposes = sequenceOf(parseDer(value), "extKeyUsage").map((node) => readOid(node, "a purpose in extKeyUsage"));
  if (purposes.length === 0) throw new DerError("value", "extKeyUsage is empty");
  return purposes;
}

/** Reads the value of subjectKeyIdentifier. @throws DerError */
export function parseSubjectKeyId(value: Uint8Array): Uint8Array {
  return contentOf(expectNode(parseDer(value), tags.octetString, "subjectKeyIdentifier"));
}

/** Reads the key identifier of authorityKeyIdentifier; undefined when it identifies the issuer in another way. @throws DerError */
export function parseAuthorityKeyId(value: Uint8Array): Uint8Array | undefined {
  const node = sequenceOf(parseDer(value), "authorityKeyIdentifier").find((part) => part.tag === 0x80);
  return node === undefined ? undefined : contentOf(node);
}

function parseExtension(node: DerNode): Extension {
  const parts = childrenOf(expectNode(node, tags.sequence, "an extension"));
  const oid = readOid(parts.shift(), "an extension's type");
  const critical = parts[0]?.tag === tags.boolean ? readBoolean(parts.shift(), `critical of extension ${oid}`) : false;
  const value = contentOf(expectNode(parts.shift(), tags.octetString, `the value of extension ${oid}`));
  if (parts.length > 0) throw new DerError("value", `extension ${oid} has unexpected parts`);
  return { oid, critical, value };
}
