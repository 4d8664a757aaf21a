import { CertificateError, type CertificateErrorCode } from "./certificate.ts";
import {
  childrenOf,
  DerError,
  exactly,
  expectNode,
  parseDer,
  rawOf,
  readBitBytes,
  readSmallInteger,
  readTime,
  readUnsigned,
  sameAlgorithm,
  sequenceOf,
  tags,
  type DerNode,
} from "./der.ts";
import {
  parseAuthorityKeyId,
  parseBasicConstraints,
  parseExtendedKeyUsage,
  parseWrappedExtensions,
  parseKeyUsage,
  parseSubjectKeyId,
  type BasicConstraints,
  type Extension,
} from "./extensions.ts";
import { parseName, type DistinguishedName } from "./names.ts";
import { oids } from "./oids.ts";
import { KeyError, parsePublicKey, type PublicKeyInfo, type KeyKind } from "./public-key.ts";
import { parseSignatureAlgorithm, type SignatureAlgorithm } from "./signature.ts";
import { noSubjectAltNames, parseSubjectAltNames, type SubjectAltNames } from "./subject-alt-name.ts";
import { derBitBytes, derSequence, derUnsigned } from "./der-writer.ts";

/** A version 3 certificate that is parsed strictly. Nothing in it is verified: see `verifyClientChain`. */
export interface ParsedCertificate {
  readonly raw: Uint8Array;
  /** The part that is signed. */
  readonly tbs: Uint8Array;
  readonly signature: Uint8Array;
  /** Undefined when it is not an accepted algorithm, such as SHA-1: the certificate can then only be a root. */
  readonly signatureAlgorithm: SignatureAlgorithm | undefined;
  /** Lower-case hexadecimal without leading zeros of the encoding. */
  readonly serialNumber: string;
  /** The issuer's name as it was encoded. */
  readonly rawIssuer: Uint8Array;
  readonly subject: DistinguishedName;
  /** In milliseconds since the epoch, as is `notAfter`; both ends belong to the validity. */
  readonly notBefore: number;
  readonly notAfter: number;
  readonly publicKey: PublicKeyInfo;
  readonly basicConstraints: BasicConstraints | undefined;
  /** Bit numbers, see `keyUsageBits`. */
  readonly keyUsage: ReadonlySet<number> | undefined;
  /** Object identifiers of the purposes. */
  readonly extendedKeyUsage: readonly string[] | undefined;
  readonly sans: SubjectAltNames;
  readonly subjectKeyId: Uint8Array | undefined;
  readonly authorityKeyId: Uint8Array | undefined;
  readonly extensions: ReadonlyMap<string, Extension>;
}

const maxCertificateBytes = 65_536;

/**
 * Reads one DER certificate of at most 64 KiB.
 * @throws CertificateError
 * @see RFC 5280 section 4.1
 */
export function parseCertificate(der: Uint8Array): ParsedCertificate {
  const whole = inPart("encoding", () =>
    exactly(3, parseDer(der, { maxBytes: maxCertificateBytes }), "the certificate"),
  );
  const tbsNode = inPart("encoding", () => expectNode(whole[0], tags.sequence, "the signed part"));
  const [serial, innerAlgorithm, issuer, validity, subject, key, extensionsNode] = inPart("version", () =>
    fieldsAfterVersion(tbsNode),
  );
  const extensions = inPart("extensions", () =>
    extensionsNode === undefined ? new Map<string, Extension>() : parseWrappedExtensions(0xa3, extensionsNode),
  );
  return {
    raw: der,
    tbs: rawOf(tbsNode),
    ...inPart("signatureAlgorithm", () => signatureOf(innerAlgorithm, whole[1], whole[2])),
    serialNumber: inPart("encoding", () => Buffer.from(readUnsigned(serial, "the serial number")).toString("hex")),
    rawIssuer: inPart("encoding", () => rawOf(expectNode(issuer, tags.sequence, "the issuer"))),
    subject: inPart("subject", () => parseName(subject, "subject")),
    ...inPart("validity", () => validityOf(validity)),
    publicKey: inPart("publicKey", () => parsePublicKey(key)),
    ...inPart("extensions", () => knownExtensions(extensions)),
    extensions,
  };
}

function fieldsAfterVersion(tbs: DerNode): readonly DerNode[] {
  const [version, ...rest] = childrenOf(tbs);
  const [number, extra] = version?.tag === 0xa0 ? childrenOf(version) : [];
  if (number === undefined || extra !== undefined || readSmallInteger(number, "version") !== 2) {
    throw new DerError("value", "the version must be 3");
  }
  if (rest.length < 6 || rest.length > 7) throw new DerError("value", "the signed part has unexpected parts");
  return rest;
}

function signatureOf(
  inner: DerNode | undefined,
  outer: DerNode | undefined,
  signature: DerNode | undefined,
): Pick<ParsedCertificate, "signature" | "signatureAlgorithm"> {
  const algorithm = sameAlgorithm(inner, outer);
  return {
    signature: readBitBytes(signature, "the signature"),
    signatureAlgorithm: parseSignatureAlgorithm(algorithm),
  };
}

function validityOf(node: DerNode | undefined): Pick<ParsedCertificate, "notBefore" | "notAfter"> {
  const [notBefore, notAfter] = exactly(2, node, "the validity");
  return { notBefore: readTime(notBefore, "notBefore"), notAfter: readTime(notAfter, "notAfter") };
}

type KnownExtensions = Pick<
  ParsedCertificate,
  "basicConstraints" | "keyUsage" | "extendedKeyUsage" | "sans" | "subjectKeyId" | "authorityKeyId"
>;

function knownExtensions(extensions: ReadonlyMap<string, Extension>): KnownExtensions {
  const read = <T>(oid: string, parse: (value: Uint8Array) => T): T | undefined => {
    const extension = extensions.get(oid);
    return extension === undefined ? undefined : parse(extension.value);
  };
  return {
    basicConstraints: read(oids.basicConstraints, parseBasicConstraints),
    keyUsage: read(oids.keyUsage, parseKeyUsage),
    extendedKeyUsage: read(oids.extendedKeyUsage, parseExtendedKeyUsage),
    sans: read(oids.subjectAltName, parseSubjectAltNames) ?? noSubjectAltNames,
    subjectKeyId: read(oids.subjectKeyIdentifier, parseSubjectKeyId),
    authorityKeyId: read(oids.authorityKeyIdentifier, parseAuthorityKeyId),
  };
}

function inPart<T>(code: CertificateErrorCode, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof DerError || error instanceof KeyError) {
      throw new CertificateError(code, `certificate: ${error.message}`);
    }
    throw error;
  }
}

/** The order of each curve. Source: FIPS 186-5 and SP 800-186, appendix of the NIST curves. */
const orders: ReadonlyMap<KeyKind, bigint> = new Map([
  ["p256", 0xffffffff_00000000_ffffffff_ffffffff_bce6faad_a7179e84_f3b9cac2_fc632551n],
  [
    "p384",
    0xffffffff_ffffffff_ffffffff_ffffffff_ffffffff_ffffffff_c7634d81_f4372ddf_581a0db2_48b0a77a_ecec196a_ccc52973n,
  ],
  [
    "p521",
    0x1ff_ffffffff_ffffffff_ffffffff_ffffffff_ffffffff_ffffffff_ffffffff_fffffffa_51868783_bf2f966b_7fcc0148_f709a5d0_3bb5c9b8_899c47ae_bb6fb71e_91386409n,
  ],
]);

/**
 * The DER of the only other certificate that can be derived from this one without the key of its issuer: an ECDSA signature
 * (r, s) is as valid as (r, n - s). Undefined where the key of the issuer is of a kind whose signatures have one form, and for a
 * signature that cannot be parsed. @see SEC 1 section 4.1; RFC 3279 section 2.2.3
 */
export function malleatedCertificate(
  { raw, tbs, signature }: ParsedCertificate,
  issuerKey: KeyKind,
): Uint8Array | undefined {
  const order = orders.get(issuerKey);
  if (order === undefined) return undefined;
  try {
    const [r, s] = sequenceOf(parseDer(signature), "the signature");
    const [, algorithm] = sequenceOf(parseDer(raw), "the certificate");
    const other = order - BigInt(`0x${Buffer.from(readUnsigned(s, "the signature")).toString("hex")}`);
    if (r === undefined || algorithm === undefined || other <= 0n) return undefined;
    const hex = other.toString(16);
    const magnitude = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
    return derSequence(tbs, rawOf(algorithm), derBitBytes(derSequence(rawOf(r), derUnsigned(magnitude))));
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}
