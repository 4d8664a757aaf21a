import { CertificateError } from "./certificate.ts";
import type { CertificateErrorCode } from "./certificate.ts";
import {
  childrenOf,
  DerError,
  expectNode,
  parseDer,
  rawOf,
  readBitBytes,
  readSmallInteger,
  readTime,
  readUnsigned,
  sameBytes,
  sequenceOf,
  tags,
} from "./der.ts";
import type { DerNode } from "./der.ts";
import {
  parseAuthorityKeyId,
  parseBasicConstraints,
  parseExtendedKeyUsage,
  parseExtensions,
  parseKeyUsage,
  parseSubjectKeyId,
} from "./extensions.ts";
import type { BasicConstraints, Extension } from "./extensions.ts";
import { parseName } from "./names.ts";
import type { DistinguishedName } from "./names.ts";
import { oids } from "./oids.ts";
import { KeyError, parsePublicKey } from "./public-key.ts";
import type { PublicKeyInfo } from "./public-key.ts";
import { parseSignatureAlgorithm } from "./signature.ts";
import type { SignatureAlgorithm } from "./signature.ts";
import { noSubjectAltNames, parseSubjectAltNames } from "./subject-alt-name.ts";
import type { SubjectAltNames } from "./subject-alt-name.ts";

/** A version 3 certificate that was read strictly. Nothing in it is verified: see `verifyClientChain`. */
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
  const whole = inPart("encoding", () => parts(parseDer(der, { maxBytes: maxCertificateBytes }), 3, "the certificate"));
  const tbsNode = inPart("encoding", () => expectNode(whole[0], tags.sequence, "the signed part"));
  const [serial, innerAlgorithm, issuer, validity, subject, key, extensionsNode] = inPart("version", () =>
    fieldsAfterVersion(tbsNode),
  );
  const extensions = inPart("extensions", () => wrappedExtensions(extensionsNode));
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
  if (rest.length < 6 || rest.length > 7) {
    throw new DerError("value", "the signed part has unexpected parts");
  }
  return rest;
}

function wrappedExtensions(node: DerNode | undefined): ReadonlyMap<string, Extension> {
  if (node === undefined) {
    return new Map();
  }
  const [list, extra] = childrenOf(expectNode(node, 0xa3, "extensions"));
  if (extra !== undefined) {
    throw new DerError("value", "there is more than one list of extensions");
  }
  return parseExtensions(list);
}

function signatureOf(
  inner: DerNode | undefined,
  outer: DerNode | undefined,
  signature: DerNode | undefined,
): Pick<ParsedCertificate, "signature" | "signatureAlgorithm"> {
  const algorithm = expectNode(outer, tags.sequence, "the signature algorithm");
  if (!sameBytes(rawOf(expectNode(inner, tags.sequence, "the signature algorithm")), rawOf(algorithm))) {
    throw new DerError("value", "the two signature algorithms are not the same");
  }
  return {
    signature: readBitBytes(signature, "the signature"),
    signatureAlgorithm: parseSignatureAlgorithm(algorithm),
  };
}

function validityOf(node: DerNode | undefined): Pick<ParsedCertificate, "notBefore" | "notAfter"> {
  const [notBefore, notAfter] = parts(node, 2, "the validity");
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

function parts(node: DerNode | undefined, count: number, what: string): readonly DerNode[] {
  const children = sequenceOf(node, what);
  if (children.length !== count) {
    throw new DerError("value", `${what} must have ${count} parts and has ${children.length}`);
  }
  return children;
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
