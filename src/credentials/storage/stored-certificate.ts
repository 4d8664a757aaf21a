import { CertificateError } from "../../pki/certificate.ts";
import { DerError, sameBytes } from "../../pki/der.ts";
import { loadPrivateKey, spkiOf } from "../../pki/keys.ts";
import { subjectOf } from "../../pki/names.ts";
import { parseCertificate } from "../../pki/parse-certificate.ts";
import { decodePem, encodePem, PemError } from "../../pki/pem.ts";
import { KeyError } from "../../pki/public-key.ts";
import { PinError } from "../../trust/pins.ts";
import type { ServingNames } from "../request/certificate-request.ts";
import type { CertificateTimes } from "../renewal/rotation-plan.ts";

/** Certificate and key of a file, which belong together. Nothing is verified. The key is secret. */
export interface StoredCertificate extends CertificateTimes {
  readonly serial: string;
  readonly spki: Uint8Array;
  readonly commonName: string;
  readonly names: ServingNames;
  /** Leaf first. */
  readonly certificatesPem: string;
  readonly keyPem: string;
}

/** Reads a file as a kubelet writes it, or undefined where it has another format. */
export function readStoredCertificate(text: string): StoredCertificate | undefined {
  return readable(() => {
    const key = loadPrivateKey(text);
    const blocks = decodePem(text, { surroundingText: "ignore" });
    const certificates = blocks.filter(({ label }) => label === "CERTIFICATE");
    const [leaf] = certificates;
    const keyBlock = blocks.find(({ label }) => label.endsWith("PRIVATE KEY"));
    if (leaf === undefined || keyBlock === undefined) return undefined;
    const { serialNumber: serial, publicKey, subject, sans, notBefore, notAfter } = parseCertificate(leaf.bytes);
    const spki = spkiOf(key);
    if (!sameBytes(publicKey.spki, spki)) return undefined;
    return {
      serial,
      spki,
      commonName: subjectOf(subject, "certificate: the subject").commonName,
      names: { dns: sans.dns, ip: sans.ip },
      notBefore,
      notAfter,
      certificatesPem: certificates.map(({ bytes }) => encodePem("CERTIFICATE", bytes)).join(""),
      keyPem: encodePem(keyBlock.label, keyBlock.bytes),
    };
  });
}

/** The result of `read` on keys and certificates, or undefined where one cannot be parsed. */
export function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    const isUnreadable = [PemError, KeyError, CertificateError, DerError, PinError].some(
      (kind) => error instanceof kind,
    );
    if (isUnreadable) return undefined;
    throw error;
  }
}
