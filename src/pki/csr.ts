import type { KeyObject } from "node:crypto";
import {
  childrenOf,
  DerError,
  exactly,
  expectNode,
  latin1,
  parseDer,
  rawOf,
  readBitBytes,
  readOid,
  readSmallInteger,
  tags,
  type DerNode,
} from "./der.ts";
import { derBitBytes, derElement, derOid, derSequence, derUnsigned } from "./der-writer.ts";
import { buildExtension, parseBasicConstraints, parseExtensions, parseKeyUsage, type Extension } from "./extensions.ts";
import { keyKindOf, spkiOf } from "./keys.ts";
import { buildName, parseName, subjectOf, type Subject } from "./names.ts";
import { oids } from "./oids.ts";
import { decodeOnePem, encodePem, PemError } from "./pem.ts";
import { importPublicKey, KeyError, parsePublicKey, type KeyKind, type PublicKeyInfo } from "./public-key.ts";
import { parseSignatureAlgorithm, signData, signingAlgorithm, verifySignature } from "./signature.ts";
import {
  buildSubjectAltNames,
  noSubjectAltNames,
  parseSubjectAltNames,
  type SubjectAltNames,
} from "./subject-alt-name.ts";
import { keyUsageBits } from "./usages.ts";

/** Which part of a certificate request is wrong. */
export type CsrErrorCode =
  | "pem"
  | "tooLarge"
  | "encoding"
  | "version"
  | "subject"
  | "publicKey"
  | "attributes"
  | "extensions"
  | "subjectAltName"
  | "signatureAlgorithm"
  | "signature";

/** Thrown when a certificate request is rejected. The message states the error and quotes nothing of the request. */
export class CsrError extends Error {
  readonly code: CsrErrorCode;

  constructor(code: CsrErrorCode, message: string) {
    super(message);
    this.name = "CsrError";
    this.code = code;
  }
}

/** The content of a certificate request that is strict DER and unambiguous. Whether to issue it is not decided. */
export interface CsrContents {
  readonly subject: Subject;
  /** The subject as it was encoded, to be copied byte for byte. */
  readonly rawSubject: Uint8Array;
  readonly keyKind: KeyKind;
  /** The DER SubjectPublicKeyInfo as it was encoded. */
  readonly spki: Uint8Array;
  readonly sans: SubjectAltNames;
  /** The value of the requested subjectAltName extension, with exactly the names of `sans`. */
  readonly rawSans: Uint8Array | undefined;
  /** Object identifiers of all requested extensions. */
  readonly requestedExtensions: readonly string[];
  /** Whether the request contains basicConstraints CA:TRUE or the key usage keyCertSign; never granted. */
  readonly asksForCa: boolean;
}

/** A certificate request that is signed by its own key. */
export interface ParsedCsr extends CsrContents {
  readonly publicKey: KeyObject;
}

/** The input of `createCsr`. */
export interface CsrInput {
  readonly key: KeyObject;
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
}

const maxCsrBytes = 65_536;
const csrLabel = "CERTIFICATE REQUEST";

/**
 * Reads a PEM certificate request (one block, at most 64 KiB) and verifies its self-signature.
 * @throws CsrError
 * @see RFC 2986, RFC 7468 section 7
 */
export function parseCsr(pem: string | Uint8Array): ParsedCsr {
  return parseCsrDer(derOf(pem));
}

/**
 * Reads a PEM certificate request without verifying its self-signature: for a request that the API server verified when it was
 * created and that is immutable since, as every controller receives it.
 * @throws CsrError
 */
export function readVerifiedCsr(pem: string): CsrContents {
  return readCsrDer(derOf(pem)).contents;
}

function derOf(pem: string | Uint8Array): Uint8Array {
  checkSize(pem);
  const text = typeof pem === "string" ? pem : latin1(pem);
  return inPart("pem", () => decodeOnePem(text, csrLabel, { maxLength: maxCsrBytes }));
}

function checkSize({ length }: string | Uint8Array): void {
  if (length > maxCsrBytes) throw new CsrError("tooLarge", `certificate request is larger than ${maxCsrBytes} bytes`);
}

/**
 * Reads a DER certificate request (at most 64 KiB) and verifies its self-signature.
 * @throws CsrError
 */
export function parseCsrDer(der: Uint8Array): ParsedCsr {
  const { contents, keyInfo, signed } = readCsrDer(der);
  const publicKey = inPart("publicKey", () => importPublicKey(keyInfo));
  checkSignature(signed, publicKey);
  return { ...contents, publicKey };
}

/** The three parts of a request: the signed part, the algorithm, and the signature. */
interface Signed {
  readonly info: DerNode | undefined;
  readonly algorithm: DerNode | undefined;
  readonly signature: DerNode | undefined;
}

function readCsrDer(der: Uint8Array): {
  readonly contents: CsrContents;
  readonly keyInfo: PublicKeyInfo;
  readonly signed: Signed;
} {
  checkSize(der);
  const [info, algorithm, signature] = inPart("encoding", () =>
    exactly(3, parseDer(der, { maxBytes: maxCsrBytes }), "the request"),
  );
  const [version, subjectNode, keyNode, attributesNode] = inPart("encoding", () =>
    exactly(4, info, "the request's information"),
  );
  if (inPart("version", () => readSmallInteger(version, "version")) !== 0) {
    throw new CsrError("version", "certificate request: version must be 0");
  }
  const name = inPart("subject", () => parseName(subjectNode, "subject"));
  const keyInfo = inPart("publicKey", () => parsePublicKey(keyNode));
  const extensions = inPart("attributes", () => requestedExtensions(attributesNode));
  const contents: CsrContents = {
    subject: inPart("subject", () => subjectOf(name, "subject")),
    rawSubject: name.raw,
    keyKind: keyInfo.kind,
    spki: keyInfo.spki,
    ...inPart("subjectAltName", () => subjectAltNames(extensions)),
    requestedExtensions: [...extensions.keys()],
    asksForCa: inPart("extensions", () => asksForCa(extensions)),
  };
  return { contents, keyInfo, signed: { info, algorithm, signature } };
}

/**
 * The PEM of a certificate request, signed with the key.
 * @throws DerError when a name is not one
 * @throws KeyError when the key is of a kind that is not accepted
 */
export function createCsr(input: CsrInput): string {
  const kind = keyKindOf(input.key);
  const sans = buildSubjectAltNames({ dns: input.dnsNames ?? [], ip: input.ipAddresses ?? [] });
  const extensions = sans && derSequence(buildExtension({ oid: oids.subjectAltName, critical: false, value: sans }));
  const attributes =
    extensions === undefined ? [] : [derSequence(derOid(oids.extensionRequest), derElement(tags.set, extensions))];
  const info = derSequence(
    derUnsigned(new Uint8Array(1)),
    buildName({ commonName: input.commonName, organizations: input.organizations ?? [] }),
    spkiOf(input.key),
    derElement(0xa0, ...attributes),
  );
  const signature = derBitBytes(signData(kind, input.key, info));
  return encodePem(csrLabel, derSequence(info, signingAlgorithm(kind), signature));
}

function requestedExtensions(attributes: DerNode | undefined): ReadonlyMap<string, Extension> {
  const seen = new Set<string>();
  let extensions: ReadonlyMap<string, Extension> = new Map();
  for (const attribute of childrenOf(expectNode(attributes, 0xa0, "attributes"))) {
    const [type, values] = exactly(2, attribute, "an attribute");
    const oid = readOid(type, "an attribute's type");
    if (seen.has(oid)) throw new DerError("value", `attribute ${oid} is there more than once`);
    seen.add(oid);
    const [value, extra] = childrenOf(expectNode(values, tags.set, `the values of attribute ${oid}`));
    if (oid === oids.extensionRequest) {
      if (extra !== undefined) throw new DerError("value", "there is more than one list of requested extensions");
      extensions = inPart("extensions", () => parseExtensions(value));
    }
  }
  return extensions;
}

function subjectAltNames(extensions: ReadonlyMap<string, Extension>): Pick<ParsedCsr, "sans" | "rawSans"> {
  const extension = extensions.get(oids.subjectAltName);
  if (extension === undefined) return { sans: noSubjectAltNames, rawSans: undefined };
  const sans = parseSubjectAltNames(extension.value);
  // The bytes are copied into the certificate, so they must not contain a name that no check sees.
  if (sans.others > 0) throw new DerError("value", "subjectAltName may hold DNS, IP, e-mail and URI names only");
  return { sans, rawSans: extension.value };
}

function asksForCa(extensions: ReadonlyMap<string, Extension>): boolean {
  const constraints = extensions.get(oids.basicConstraints);
  const usage = extensions.get(oids.keyUsage);
  return (
    (constraints !== undefined && parseBasicConstraints(constraints.value).isCa) ||
    (usage !== undefined && parseKeyUsage(usage.value).has(keyUsageBits.keyCertSign))
  );
}

function checkSignature(signed: Signed, key: KeyObject): void {
  const algorithm = inPart("signatureAlgorithm", () => parseSignatureAlgorithm(signed.algorithm));
  if (algorithm === undefined) {
    throw new CsrError(
      "signatureAlgorithm",
      "certificate request: the signature algorithm is not accepted; use SHA-256, SHA-384 or SHA-512 with RSA or ECDSA, or Ed25519",
    );
  }
  const signature = inPart("signature", () => readBitBytes(signed.signature, "the signature"));
  const data = rawOf(inPart("encoding", () => expectNode(signed.info, tags.sequence, "the request's information")));
  if (!verifySignature(algorithm, key, { data, signature })) {
    throw new CsrError("signature", "certificate request: the signature does not verify with the key in the request");
  }
}

function inPart<T>(code: CsrErrorCode, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof DerError || error instanceof PemError || error instanceof KeyError) {
      throw new CsrError(code, `certificate request: ${error.message}`);
    }
    throw error;
  }
}
