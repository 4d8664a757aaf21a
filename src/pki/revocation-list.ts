import type { Issuer } from "./certificate.ts";
import { derBitBytes, derElement, derSequence, derTime, derUnsigned } from "./der-writer.ts";
import { buildExtension } from "./extensions.ts";
import { oids } from "./oids.ts";
import { signData, signingAlgorithm } from "./signature.ts";

/** What a revocation list says; times in milliseconds since the epoch. */
export interface RevocationListInput {
  readonly issuer: Issuer;
  readonly thisUpdate: number;
  readonly nextUpdate: number;
  /** Grows from list to list. */
  readonly number: number;
  readonly revoked: readonly {
    /** Hexadecimal, two digits a byte. */
    readonly serialNumber: string;
    readonly at: number;
  }[];
}

/** A signed list of revoked certificates of one CA, version 2, as DER. @see RFC 5280 section 5 */
export function revocationList(input: RevocationListInput): Uint8Array {
  const { issuer, thisUpdate, nextUpdate, revoked } = input;
  const algorithm = signingAlgorithm(issuer.keyKind);
  const entries = revoked.map(({ serialNumber, at }) =>
    derSequence(derUnsigned(Buffer.from(serialNumber, "hex")), derTime(at)),
  );
  const authorityKey =
    issuer.keyId === undefined
      ? []
      : [{ oid: oids.authorityKeyIdentifier, critical: false, value: derSequence(derElement(0x80, issuer.keyId)) }];
  const extensions = [
    ...authorityKey,
    { oid: oids.crlNumber, critical: false, value: derUnsigned(bytesOf(input.number)) },
  ];
  const tbs = derSequence(
    derUnsigned(Uint8Array.of(1)),
    algorithm,
    issuer.rawSubject,
    derTime(thisUpdate),
    derTime(nextUpdate),
    // A list without entries must not have an empty sequence.
    ...(entries.length === 0 ? [] : [derSequence(...entries)]),
    derElement(0xa0, derSequence(...extensions.map(buildExtension))),
  );
  return derSequence(tbs, algorithm, derBitBytes(signData(issuer.keyKind, issuer.key, tbs)));
}

function bytesOf(number: number): Uint8Array {
  const hex = number.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
}
