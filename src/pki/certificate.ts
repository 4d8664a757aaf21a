import { createHash, type KeyObject } from "node:crypto";
import { parseDer, sameBytes, sequenceOf, readBitBytes } from "./der.ts";
import {
  derBitBytes,
  derElement,
  derNamedBits,
  derOctets,
  derOid,
  derSequence,
  derTime,
  derTrue,
  derUnsigned,
} from "./der-writer.ts";
import { buildExtension } from "./extensions.ts";
import { oids } from "./oids.ts";
import { encodePem } from "./pem.ts";
import type { KeyKind } from "./public-key.ts";
import { signData, signingAlgorithm } from "./signature.ts";
import { meaningOfUsages } from "./usages.ts";

/** Why a certificate is not issued, or not accepted. */
export type CertificateErrorCode =
  | "encoding"
  | "version"
  | "subject"
  | "publicKey"
  | "extensions"
  | "signatureAlgorithm"
  | "usages"
  | "validity";

/** Thrown when a certificate cannot be read or must not be issued. The message quotes nothing of it. */
export class CertificateError extends Error {
  readonly code: CertificateErrorCode;

  constructor(code: CertificateErrorCode, message: string) {
    super(message);
    this.name = "CertificateError";
    this.code = code;
  }
}

/** Who signs: the CA's subject, key identifier (undefined when its certificate has none), private key and end of validity. */
export interface Issuer {
  readonly rawSubject: Uint8Array;
  readonly keyId: Uint8Array | undefined;
  readonly key: KeyObject;
  readonly keyKind: KeyKind;
  /** In milliseconds since the epoch. */
  readonly notAfter: number;
}

/** The content of a certificate; all of it is already checked: by `parseCsr`, `buildName` or `buildSubjectAltNames`. */
export interface CertificateInput {
  readonly issuer: Issuer;
  /** The DER Name, copied byte for byte. */
  readonly rawSubject: Uint8Array;
  /** The DER SubjectPublicKeyInfo, copied byte for byte. */
  readonly spki: Uint8Array;
  /** The value of subjectAltName, copied byte for byte. */
  readonly rawSans?: Uint8Array | undefined;
  /** Usages of the Kubernetes API. */
  readonly usages: readonly string[];
  /** In milliseconds since the epoch, as is `notAfter`; see `certificateValidity`. */
  readonly notBefore: number;
  readonly notAfter: number;
  /** Random bytes, 16 as in Kubernetes; read as a non-negative number. */
  readonly serial: Uint8Array;
  /** Default `leaf`. */
  readonly role?: "leaf" | "ca";
}

/** A certificate as DER and PEM. */
export interface IssuedCertificate {
  readonly der: Uint8Array;
  readonly pem: string;
}

const maxSerialBytes = 19;

/**
 * Signs a certificate with these extensions and no others: KeyUsage (critical) and ExtKeyUsage from the usages,
 * BasicConstraints (critical), SubjectKeyIdentifier for a CA, AuthorityKeyIdentifier, SubjectAltName (critical when
 * the subject is empty).
 * @throws CertificateError for unknown usages, or a validity that is empty or goes beyond the issuer's
 * @throws TypeError for a serial that is zero or longer than 19 bytes
 * @see RFC 5280 section 4.1; Kubernetes pkg/controller/certificates/authority
 */
export function issueCertificate(input: CertificateInput): IssuedCertificate {
  if (input.serial.length > maxSerialBytes || input.serial.every((byte) => byte === 0)) {
    throw new TypeError("a serial number has 1 to 19 bytes and is not zero");
  }
  // Negated, so that a NaN is rejected too.
  if (!(input.notBefore < input.notAfter && input.notAfter <= input.issuer.notAfter)) {
    throw new CertificateError("validity", "the validity is empty or goes beyond that of the CA");
  }
  const algorithm = signingAlgorithm(input.issuer.keyKind);
  const tbs = derSequence(
    derElement(0xa0, derUnsigned(Uint8Array.of(2))),
    derUnsigned(input.serial),
    algorithm,
    input.issuer.rawSubject,
    derSequence(derTime(input.notBefore), derTime(input.notAfter)),
    input.rawSubject,
    input.spki,
    derElement(0xa3, derSequence(...extensionsFor(input))),
  );
  const signature = signData(input.issuer.keyKind, input.issuer.key, tbs);
  const der = derSequence(tbs, algorithm, derBitBytes(signature));
  return { der, pem: encodePem("CERTIFICATE", der) };
}

/** The key identifier of a public key: the first 20 bytes of SHA-256 over its bits. Source: RFC 7093 section 2, method 1. */
export function subjectKeyId(spki: Uint8Array): Uint8Array {
  const bits = readBitBytes(sequenceOf(parseDer(spki), "the public key")[1], "the public key's bits");
  return createHash("sha256").update(bits).digest().subarray(0, 20);
}

function extensionsFor(input: CertificateInput): Uint8Array[] {
  const usages = meaningOfUsages(input.usages);
  if (usages.kind === "unknown") throw new CertificateError("usages", `unknown usage ${JSON.stringify(usages.usage)}`);
  const isCa = input.role === "ca";
  const extensions: Uint8Array[] = [];
  const add = (oid: string, critical: boolean, value: Uint8Array): void => {
    extensions.push(buildExtension({ oid, critical, value }));
  };
  if (usages.bits.size > 0) add(oids.keyUsage, true, derNamedBits(usages.bits));
  if (usages.purposes.length > 0) add(oids.extendedKeyUsage, false, derSequence(...usages.purposes.map(derOid)));
  add(oids.basicConstraints, true, isCa ? derSequence(derTrue()) : derSequence());
  if (isCa) add(oids.subjectKeyIdentifier, false, derOctets(subjectKeyId(input.spki)));
  const selfSigned = isCa && sameBytes(input.rawSubject, input.issuer.rawSubject);
  if (input.issuer.keyId !== undefined && !selfSigned) {
    add(oids.authorityKeyIdentifier, false, derSequence(derElement(0x80, input.issuer.keyId)));
  }
  if (input.rawSans !== undefined) add(oids.subjectAltName, input.rawSubject.length === 2, input.rawSans);
  return extensions;
}
