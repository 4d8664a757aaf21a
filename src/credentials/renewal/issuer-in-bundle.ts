import { CertificateError } from "../../pki/certificate.ts";
import { DerError, sameBytes } from "../../pki/der.ts";
import { spkiPin } from "../../pki/keys.ts";
import { parseCertificate } from "../../pki/parse-certificate.ts";
import { verifySignature } from "../../pki/signature.ts";
import { loadTrustRoots } from "../../pki/verify-chain.ts";

/** A CA of a bundle that has signed something. */
export interface BundledIssuer {
  /** Of its key. */
  readonly pin: string;
  /** When it begins, in milliseconds since the epoch. */
  readonly notBefore: number;
}

/**
 * The CA of a bundle whose key has signed a certificate (DER) itself, without another CA between them; undefined where none of them has,
 * or nothing of it can be read. Nothing but name and signature is looked at.
 */
export function issuerInBundle(certificate: Uint8Array, bundle: string): BundledIssuer | undefined {
  try {
    const { rawIssuer, signatureAlgorithm, tbs: data, signature } = parseCertificate(certificate);
    if (signatureAlgorithm === undefined) return undefined;
    const root = loadTrustRoots(bundle).find(
      (one) =>
        sameBytes(one.certificate.subject.raw, rawIssuer) &&
        verifySignature(signatureAlgorithm, one.publicKey, { data, signature }),
    );
    if (root === undefined) return undefined;
    const { publicKey, notBefore } = root.certificate;
    return { pin: spkiPin(publicKey.spki), notBefore };
  } catch (error) {
    if (error instanceof CertificateError || error instanceof DerError) return undefined;
    throw error;
  }
}
