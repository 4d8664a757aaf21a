import type { KeyObject } from "node:crypto";
import { rfc3339, type RandomBytes } from "../apimachinery/clock.ts";
import { CertificateError, issueCertificate, subjectKeyId, type Issuer } from "./certificate.ts";
import { keyKindOf, loadPrivateKey, spkiOf, spkiPin } from "./keys.ts";
import { buildName } from "./names.ts";
import { parseCertificate, type ParsedCertificate } from "./parse-certificate.ts";
import { decodePem, encodePem, PemError } from "./pem.ts";
import { importPublicKey, KeyError } from "./public-key.ts";
import { keysMatch } from "./signature.ts";
import { keyUsageBits } from "./usages.ts";

/** Why a certificate and key cannot serve as CA. */
export type CaErrorCode = "certificate" | "key" | "notCa" | "mismatch" | "expired";

/** Thrown when a CA cannot be loaded; the message says which of the two files is wrong and how. */
export class CaError extends Error {
  readonly code: CaErrorCode;

  constructor(code: CaErrorCode, message: string) {
    super(message);
    this.name = "CaError";
    this.code = code;
  }
}

/** A CA that can sign: its key belongs to its certificate. */
export interface CertificateAuthority extends Issuer {
  readonly certificate: ParsedCertificate;
  /** The certificate alone, for `ca.crt`, kubeconfigs and cluster-info. */
  readonly pem: string;
  /** `sha256:<hex>` over the DER SubjectPublicKeyInfo. */
  readonly pin: string;
}

/** What a new CA needs. */
export interface CaInput {
  readonly commonName: string;
  readonly key: KeyObject;
  /** In milliseconds since the epoch. */
  readonly now: number;
  readonly years: number;
  readonly random: RandomBytes;
}

const backdateMs = 5 * 60_000;

/**
 * Creates a self-signed CA certificate for the key, valid from five minutes before `now` until `years` of 365 days after it.
 * @throws KeyError when the key is of a kind that is not accepted
 */
export function createCa(input: CaInput): CertificateAuthority {
  const spki = spkiOf(input.key);
  const notAfter = Math.floor(input.now / 1000) * 1000 + input.years * 365 * 86_400_000;
  const rawSubject = buildName({ commonName: input.commonName, organizations: [] });
  const issuer: Issuer = {
    rawSubject,
    keyId: subjectKeyId(spki),
    key: input.key,
    keyKind: keyKindOf(input.key),
    notAfter,
  };
  const { der } = issueCertificate({
    issuer,
    rawSubject,
    spki,
    usages: ["digital signature", "cert sign", "crl sign"],
    notBefore: input.now - backdateMs,
    notAfter,
    serial: input.random(16),
    role: "ca",
  });
  return authority(parseCertificate(der), input.key);
}

/**
 * A certificate of one CA's key and name, signed by another: a client that trusts only the signer accepts what the subject has signed. It
 * is valid from five minutes before `now` until the earlier of the two ends. @see RFC 5280 section 3.2, cross-certificates
 */
export function crossCertificate(input: {
  readonly subject: CertificateAuthority;
  readonly signer: CertificateAuthority;
  /** In milliseconds since the epoch. */
  readonly now: number;
  readonly random: RandomBytes;
}): string {
  const { subject, signer } = input;
  return issueCertificate({
    issuer: signer,
    rawSubject: subject.rawSubject,
    spki: subject.certificate.publicKey.spki,
    usages: ["digital signature", "cert sign", "crl sign"],
    notBefore: input.now - backdateMs,
    notAfter: Math.min(subject.notAfter, signer.notAfter),
    serial: input.random(16),
    role: "ca",
  }).pem;
}

/**
 * Loads a CA from PEM: exactly one certificate, which is a CA that may sign certificates and is valid at `now` (in
 * milliseconds since the epoch; undefined: an expired one is accepted too), and its private key.
 * @throws CaError
 */
export function loadCa(input: {
  readonly certificatePem: string;
  readonly keyPem: string;
  readonly now: number | undefined;
}): CertificateAuthority {
  const certificate = onlyCertificate(input.certificatePem);
  if (certificate.basicConstraints?.isCa !== true) {
    throw new CaError("notCa", "the CA certificate is not a CA: basicConstraints CA:TRUE is missing");
  }
  // Without a keyUsage there is no restriction: `openssl req -x509` creates such CAs.
  if (certificate.keyUsage?.has(keyUsageBits.keyCertSign) === false) {
    throw new CaError("notCa", "the CA certificate may not sign certificates: keyUsage lacks keyCertSign");
  }
  if (input.now !== undefined) checkValidity(certificate, input.now);
  const ca = authority(certificate, caKey(input.keyPem));
  const { publicKey } = certificate;
  // A signature proves more than equal public halves: it also catches a damaged private key.
  if (publicKey.kind !== ca.keyKind || !keysMatch(ca.keyKind, ca.key, importPublicKey(publicKey))) {
    throw new CaError("mismatch", "the CA key does not belong to the CA certificate");
  }
  return ca;
}

function checkValidity({ notBefore, notAfter }: ParsedCertificate, now: number): void {
  if (now > notAfter) throw new CaError("expired", `the CA certificate has expired on ${rfc3339(notAfter)}`);
  if (now < notBefore) throw new CaError("expired", `the CA certificate is not valid before ${rfc3339(notBefore)}`);
}

function authority(certificate: ParsedCertificate, key: KeyObject): CertificateAuthority {
  return {
    certificate,
    pem: encodePem("CERTIFICATE", certificate.raw),
    pin: spkiPin(certificate.publicKey.spki),
    rawSubject: certificate.subject.raw,
    keyId: certificate.subjectKeyId,
    key,
    keyKind: keyKindOf(key),
    notAfter: certificate.notAfter,
  };
}

function onlyCertificate(pem: string): ParsedCertificate {
  try {
    const [block, extra] = decodePem(pem, { surroundingText: "ignore" });
    if (block?.label !== "CERTIFICATE" || extra !== undefined) {
      throw new CaError("certificate", "the CA certificate file must hold exactly one certificate and nothing else");
    }
    return parseCertificate(block.bytes);
  } catch (error) {
    if (error instanceof PemError || error instanceof CertificateError) {
      throw new CaError("certificate", `the CA certificate cannot be read: ${error.message}`);
    }
    throw error;
  }
}

function caKey(pem: string): KeyObject {
  try {
    return loadPrivateKey(pem);
  } catch (error) {
    if (error instanceof KeyError) throw new CaError("key", `the CA key cannot be read: ${error.message}`);
    throw error;
  }
}
