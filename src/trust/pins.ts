import { CertificateError } from "../pki/certificate.ts";
import { spkiPin } from "../pki/keys.ts";
import { parseCertificate, type ParsedCertificate } from "../pki/parse-certificate.ts";
import { decodePem, encodePem, type PemBlock, PemError } from "../pki/pem.ts";
import { truncate } from "../apimachinery/truncate.ts";

/**
 * The public key of a CA, by the SHA-256 of its SubjectPublicKeyInfo: `sha256:` and 64 hexadecimal digits, all in lower case.
 * @see RFC 7469 section 2.4
 */
export type CaPin = `sha256:${string}`;

/** Why a pin or a CA bundle cannot be read. */
export type PinErrorCode = "malformed-pin" | "malformed-bundle";

/** A pin or bundle that cannot be read; pins are public, so the message shows the value. */
export class PinError extends Error {
  readonly code: PinErrorCode;

  constructor(code: PinErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PinError";
    this.code = code;
  }
}

/** Reads `sha256:<64 hex>`, in either case. @throws PinError malformed-pin, naming the value and the allowed form. */
export function parsePin(text: string): CaPin {
  const sha256 = /^sha256:([0-9a-f]{64})$/i.exec(text)?.[1]?.toLowerCase();
  if (sha256 === undefined) {
    const shown = JSON.stringify(truncate(text, 100));
    throw new PinError("malformed-pin", `${shown} is not a CA pin: expected sha256: followed by 64 hexadecimal digits`);
  }
  return `sha256:${sha256}`;
}

/** Reads a set of pins. @throws PinError malformed-pin for the first invalid one. */
export function parsePins(texts: readonly string[]): readonly CaPin[] {
  return texts.map(parsePin);
}

/** One certificate of a bundle, as PEM with a final newline, and its pin. */
export interface PinnableCertificate {
  readonly pem: string;
  readonly pin: CaPin;
}

const maxCertificates = 100;

/**
 * The certificates of a PEM bundle in order, 1 to 100 of them; text between the blocks is skipped.
 * Whether they are CAs, are valid or sign anything is not checked. @throws PinError malformed-bundle.
 */
export function certificatesOfBundle(bundle: string): readonly PinnableCertificate[] {
  const blocks = readBlocks(bundle);
  if (blocks.length > maxCertificates || blocks.some((block) => block.label !== certificateLabel)) {
    throw new PinError("malformed-bundle", "the CA data is not a bundle of 1 to 100 PEM certificates and nothing else");
  }
  return blocks.map(({ bytes }) => ({
    pem: encodePem(certificateLabel, bytes),
    pin: spkiPin(readCertificate(bytes).publicKey.spki),
  }));
}

/** The certificates whose key is pinned; an empty result means that the bundle must not be trusted. */
export function pinnedCertificates(
  pins: readonly CaPin[],
  certificates: readonly PinnableCertificate[],
): readonly PinnableCertificate[] {
  return certificates.filter((certificate) => pins.some((pin) => pin === certificate.pin));
}

const certificateLabel = "CERTIFICATE";

function readBlocks(bundle: string): readonly PemBlock[] {
  try {
    return decodePem(bundle, { surroundingText: "ignore" });
  } catch (error) {
    if (error instanceof PemError) {
      throw new PinError("malformed-bundle", `the CA data is not a bundle of certificates: ${error.message}`, {
        cause: error,
      });
    }
    throw error;
  }
}

function readCertificate(der: Uint8Array): ParsedCertificate {
  try {
    return parseCertificate(der);
  } catch (error) {
    if (error instanceof CertificateError) {
      throw new PinError("malformed-bundle", `the CA data holds a bad certificate: ${error.message}`, { cause: error });
    }
    throw error;
  }
}
