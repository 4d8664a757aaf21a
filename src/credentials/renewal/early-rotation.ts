import { CertificateError } from "../../pki/certificate.ts";
import { DerError, sameBytes } from "../../pki/der.ts";
import { spkiPin } from "../../pki/keys.ts";
import { parseCertificate } from "../../pki/parse-certificate.ts";
import { verifySignature } from "../../pki/signature.ts";
import { loadTrustRoots } from "../../pki/verify-chain.ts";

/** An early rotation, because another CA signs. */
export interface EarlyRotation {
  /** The pin of that CA. */
  readonly signer: string;
  /** When it was decided, in milliseconds since the epoch. */
  readonly at: number;
  /** How many in a row were decided for that CA. */
  readonly tries: number;
}

/** The inputs of the decision; times in milliseconds since the epoch. */
export interface HasteView {
  /** The CA of the certificate in use. */
  readonly own: BundledIssuer;
  /** The CA of the certificate that the hub presents. */
  readonly signer: BundledIssuer;
  /** When the certificate is rotated in any case. */
  readonly deadline: number;
  /** The last early rotation, for this certificate or one before it. */
  readonly last: EarlyRotation | undefined;
  readonly now: number;
  /** In [0, 1). */
  readonly random: number;
}

const windowMs = 4 * 3_600_000;
const pauseMs = 24 * 3_600_000;
/** Limits the doubling of the pauses: the longest is 256 days. */
const doublings = 8;

/**
 * Decides whether a certificate is rotated early: when the hub presents one of a CA that is trusted and not older, at a random moment of
 * the next four hours, never later than the regular rotation. If the new certificate still has the previous CA, the next early rotation
 * comes only after a day, then after two, four and so on; for another CA after a day. A hub can so cause at most one a day, and a retired
 * CA cannot bring machines back to it.
 */
export function earlyRotation(view: HasteView): (EarlyRotation & { readonly deadline: number }) | undefined {
  const { own, signer, deadline, last, now, random } = view;
  if (own.pin === signer.pin || signer.notBefore < own.notBefore || deadline <= now) return undefined;
  const tried = last?.signer === signer.pin ? last.tries : 0;
  const leastMs = pauseMs * 2 ** Math.min(Math.max(tried - 1, 0), doublings);
  // The absolute distance counts, so that a clock that was set back for good causes no more than a correct one.
  if (last !== undefined && Math.abs(now - last.at) < leastMs) return undefined;
  const at = now + Math.floor(Math.min(windowMs, deadline - now) * random);
  return { signer: signer.pin, at: now, tries: tried + 1, deadline: at };
}

/** A CA of a bundle that has signed something. */
export interface BundledIssuer {
  /** The pin of its key. */
  readonly pin: string;
  /** The beginning of its validity, in milliseconds since the epoch. */
  readonly notBefore: number;
}

/**
 * The CA of a bundle whose key has signed a certificate (DER) directly, without an intermediate; undefined where none has, or the
 * certificate cannot be parsed. Compares only name and signature.
 */
export function issuerInBundle(certificate: Uint8Array | undefined, bundle: string): BundledIssuer | undefined {
  if (certificate === undefined) return undefined;
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
