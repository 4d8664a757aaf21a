import type { Issuer } from "./certificate.ts";
import { derBitBytes, derElement, derSequence, derTime, derUnsigned } from "./der-writer.ts";
import {
  buildExtension,
  parseAuthorityKeyId,
  parseExtensions,
  parseWrappedExtensions,
  type Extension,
} from "./extensions.ts";
import { oids } from "./oids.ts";
import {
  signData,
  signingAlgorithm,
  parseSignatureAlgorithm,
  verifySignature,
  type SignatureAlgorithm,
} from "./signature.ts";
import {
  childrenOf,
  DerError,
  expectNode,
  parseDer,
  rawOf,
  readBitBytes,
  readTime,
  readUnsigned,
  sameAlgorithm,
  sameBytes,
  readSmallInteger,
  sequenceOf,
  tags,
  type DerNode,
} from "./der.ts";
import type { TrustRoot } from "./verify-chain.ts";

/** The content of a revocation list; times in milliseconds since the epoch. */
export interface RevocationListInput {
  readonly issuer: Issuer;
  readonly thisUpdate: number;
  readonly nextUpdate: number;
  /** Increases with each list. */
  readonly number: number;
  readonly revoked: readonly {
    /** Hexadecimal, two digits a byte. */
    readonly serialNumber: string;
    readonly at: number;
  }[];
}

/** A signed list of revoked certificates of one CA, version 2, as DER. @see RFC 5280 section 5 */
export function revocationList(input: RevocationListInput): Uint8Array {
  const { issuer, thisUpdate, nextUpdate, revoked } = input;
  const algorithm = signingAlgorithm(issuer.keyKind);
  const entries = revoked.map(({ serialNumber, at }) =>
    derSequence(derUnsigned(Buffer.from(serialNumber, "hex")), derTime(at)),
  );
  const authorityKey =
    issuer.keyId === undefined
      ? []
      : [{ oid: oids.authorityKeyIdentifier, critical: false, value: derSequence(derElement(0x80, issuer.keyId)) }];
  const extensions = [
    ...authorityKey,
    { oid: oids.crlNumber, critical: false, value: derUnsigned(bytesOf(input.number)) },
  ];
  const tbs = derSequence(
    derUnsigned(Uint8Array.of(1)),
    algorithm,
    issuer.rawSubject,
    derTime(thisUpdate),
    derTime(nextUpdate),
    // A list without entries must not have an empty sequence.
    ...(entries.length === 0 ? [] : [derSequence(...entries)]),
    derElement(0xa0, derSequence(...extensions.map(buildExtension))),
  );
  return derSequence(tbs, algorithm, derBitBytes(signData(issuer.keyKind, issuer.key, tbs)));
}

function bytesOf(number: number): Uint8Array {
  const hex = number.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
}

/** Why a revocation list is rejected: it is malformed, has unsupported content, or is too long. */
export class RevocationListFormError extends Error {
  readonly code = "form";

  constructor(message: string) {
    super(message);
    this.name = "RevocationListFormError";
  }
}

/** One certificate of a list. */
export interface RevokedCertificate {
  /** Lower-case hexadecimal, 1 to 20 bytes without leading zeros. */
  readonly serialNumber: string;
  /** In milliseconds since the epoch. */
  readonly at: number;
}

/** A revocation list whose signature is not verified; times in milliseconds since the epoch. */
export interface ParsedRevocationList {
  readonly rawIssuer: Uint8Array;
  readonly authorityKeyId: Uint8Array | undefined;
  readonly thisUpdate: number;
  readonly nextUpdate: number | undefined;
  readonly revoked: readonly RevokedCertificate[];
  readonly tbs: Uint8Array;
  /** Undefined for one that is not accepted. */
  readonly signatureAlgorithm: SignatureAlgorithm | undefined;
  readonly signature: Uint8Array;
}

/** The maximum that a hub stores; with the longest serial numbers and entry extensions they take about 1.4 MB. */
const maxEntries = 20_000;
const maxBytes = 4 << 20;
const maxSerialBytes = 20;

/**
 * Reads one complete revocation list of X.509, version 1 or 2, of at most 4 MiB and 20,000 entries. Delta lists, lists of a part of the
 * certificates and of other issuers, and critical extensions that are not supported are rejected. @throws RevocationListFormError
 * @see RFC 5280 section 5
 */
export function parseRevocationList(der: Uint8Array): ParsedRevocationList {
  try {
    const [tbsNode, algorithm, signature, extra] = sequenceOf(parseDer(der, { maxBytes }), "the list");
    if (extra !== undefined) throw new DerError("value", "the list has unexpected parts");
    const { inner, ...fields } = fieldsOf(expectNode(tbsNode, tags.sequence, "the signed part"));
    return {
      ...fields,
      signatureAlgorithm: parseSignatureAlgorithm(sameAlgorithm(inner, algorithm)),
      signature: readBitBytes(signature, "the signature"),
    };
  } catch (error) {
    if (error instanceof DerError) throw new RevocationListFormError(error.message);
    throw error;
  }
}

/** Whether one of the CAs, by its name and its key, has signed the list. CAs of Kubernetes have no `cRLSign` in their key usage, so it is not required. */
export function verifyRevocationList(list: ParsedRevocationList, roots: readonly TrustRoot[]): boolean {
  const { signatureAlgorithm: algorithm, tbs: data, signature, authorityKeyId, rawIssuer } = list;
  if (algorithm === undefined) return false;
  return roots.some(({ certificate, publicKey }) => {
    const { subject, subjectKeyId } = certificate;
    const isNamed = sameBytes(subject.raw, rawIssuer);
    const isKey = authorityKeyId === undefined || subjectKeyId === undefined || sameBytes(authorityKeyId, subjectKeyId);
    return isNamed && isKey && verifySignature(algorithm, publicKey, { data, signature });
  });
}

type Fields = Omit<ParsedRevocationList, "signatureAlgorithm" | "signature"> & { readonly inner: DerNode };

function fieldsOf(tbs: DerNode): Fields {
  const parts = childrenOf(tbs);
  const isNewer = parts[0]?.tag === tags.integer;
  if (isNewer) checkVersion(parts.shift());
  const inner = expectNode(parts.shift(), tags.sequence, "the signature algorithm");
  const issuer = expectNode(parts.shift(), tags.sequence, "the issuer");
  const thisUpdate = readTime(parts.shift(), "thisUpdate");
  const nextUpdate = isTime(parts[0]) ? readTime(parts.shift(), "nextUpdate") : undefined;
  const entries = parts[0]?.tag === tags.sequence ? entriesOf(parts.shift(), isNewer) : [];
  const extensions = isNewer && parts[0]?.tag === 0xa0 ? wrapped(parts.shift()) : new Map<string, Extension>();
  if (parts.length > 0) throw new DerError("value", "the signed part has unexpected parts");
  return {
    inner,
    tbs: rawOf(tbs),
    rawIssuer: rawOf(issuer),
    thisUpdate,
    nextUpdate,
    revoked: entries,
    authorityKeyId: authorityKeyIdOf(extensions),
  };
}

function checkVersion(node: DerNode | undefined): void {
  if (readSmallInteger(node, "the version") !== 1) throw new DerError("value", "the version must be 1 or 2");
}

function authorityKeyIdOf(extensions: ReadonlyMap<string, Extension>): Fields["authorityKeyId"] {
  const key = extensions.get(oids.authorityKeyIdentifier);
  return key === undefined ? undefined : parseAuthorityKeyId(key.value);
}

function isTime(node: DerNode | undefined): boolean {
  return node?.tag === tags.utcTime || node?.tag === tags.generalizedTime;
}

function entriesOf(node: DerNode | undefined, mayExtend: boolean): readonly RevokedCertificate[] {
  const nodes = childrenOf(expectNode(node, tags.sequence, "the entries"));
  if (nodes.length === 0) throw new DerError("value", "the list of entries is empty");
  if (nodes.length > maxEntries) throw new DerError("tooLarge", `the list has more than ${maxEntries} entries`);
  return nodes.map((entry) => {
    const [serial, at, extensions, extra] = sequenceOf(entry, "an entry");
    if (extra !== undefined || (extensions !== undefined && !mayExtend)) {
      throw new DerError("value", "an entry has unexpected parts");
    }
    if (extensions !== undefined) checkEntryExtensions(parseExtensions(extensions));
    return { serialNumber: serialText(serial), at: readTime(at, "the time of an entry") };
  });
}

function serialText(node: DerNode | undefined): string {
  const serial = readUnsigned(node, "a serial number");
  if (serial.length > maxSerialBytes || (serial.length === 1 && serial[0] === 0)) {
    throw new DerError("value", "a serial number is zero, or longer than 20 bytes");
  }
  return Buffer.from(serial).toString("hex");
}

/** Any reason is allowed but removeFromCRL, which belongs to delta lists. */
function checkEntryExtensions(extensions: ReadonlyMap<string, Extension>): void {
  const reason = extensions.get(oids.reasonCode);
  const removed = 8;
  if (reason !== undefined && (reason.value.length !== 3 || reason.value[0] !== 0x0a || reason.value[2] === removed)) {
    throw new DerError("value", "the reason of an entry is none of a complete list");
  }
  refuseCritical(extensions, new Set([oids.reasonCode]));
}

function wrapped(node: DerNode | undefined): ReadonlyMap<string, Extension> {
  const extensions = parseWrappedExtensions(0xa0, node);
  if (extensions.has(oids.deltaCrlIndicator)) throw new DerError("value", "it is a delta list; give a complete one");
  refuseCritical(extensions, new Set([oids.authorityKeyIdentifier, oids.crlNumber]));
  return extensions;
}

/** Among the critical ones are those that limit a list to some certificates, or extend it to several issuers. */
function refuseCritical(extensions: ReadonlyMap<string, Extension>, known: ReadonlySet<string>): void {
  const strange = [...extensions.values()].find(({ critical, oid }) => critical && !known.has(oid));
  if (strange !== undefined) throw new DerError("value", `the critical extension ${strange.oid} is not understood`);
}
