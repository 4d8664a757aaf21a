import { DerError, parseDer, rawOf, readUnsigned, sequenceOf } from "./der.ts";
import { derBitBytes, derSequence, derUnsigned } from "./der-writer.ts";
import type { ParsedCertificate } from "./parse-certificate.ts";
import type { KeyKind } from "./public-key.ts";

/** How many points a curve has. Source: FIPS 186-5 and SP 800-186, appendix of the NIST curves. */
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
 * The DER of the only other certificate that whoever holds this one can make of it without the key of its issuer: an ECDSA signature
 * (r, s) is as good as (r, n - s). Undefined where the key of the issuer is of a kind whose signatures have one form, and for a
 * signature that cannot be read. @see SEC 1 section 4.1; RFC 3279 section 2.2.3
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
