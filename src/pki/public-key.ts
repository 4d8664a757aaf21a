import { createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import {
  contentOf,
  DerError,
  expectNode,
  parseDer,
  rawOf,
  readBitBytes,
  readOid,
  readUnsigned,
  sequenceOf,
  tags,
  type DerNode,
} from "./der.ts";
import { oids } from "./oids.ts";

/** The accepted kinds of keys: RSA of 2048 to 8192 bits, three NIST curves, Ed25519. */
export type KeyKind = "rsa" | "p256" | "p384" | "p521" | "ed25519";

/** Why a key is rejected. */
export type KeyErrorCode = "unsupported" | "malformed" | "weak" | "encrypted" | "missing";

/** Thrown for a key that is not accepted. The message contains no part of the key. */
export class KeyError extends Error {
  readonly code: KeyErrorCode;

  constructor(code: KeyErrorCode, message: string) {
    super(message);
    this.name = "KeyError";
    this.code = code;
  }
}

/** A SubjectPublicKeyInfo whose form is checked; `importPublicKey` checks that an EC point is on its curve. */
export interface PublicKeyInfo {
  readonly kind: KeyKind;
  /** Size of the modulus or of the curve. */
  readonly bits: number;
  /** The SubjectPublicKeyInfo as it was encoded. */
  readonly spki: Uint8Array;
  readonly jwk: JsonWebKey;
}

interface Curve {
  readonly kind: KeyKind;
  readonly bits: number;
  readonly jwkName: string;
}

const curves: ReadonlyMap<string, Curve> = new Map([
  [oids.p256, { kind: "p256", bits: 256, jwkName: "P-256" }],
  [oids.p384, { kind: "p384", bits: 384, jwkName: "P-384" }],
  [oids.p521, { kind: "p521", bits: 521, jwkName: "P-521" }],
]);

const minRsaBits = 2048;
const maxRsaBits = 8192;

/**
 * Reads a SubjectPublicKeyInfo that `parseDer` has already checked.
 * @throws DerError when it is malformed
 * @throws KeyError when it is of a kind or size that is not accepted: other curves, explicit parameters, compressed points, RSA out of bounds
 * @see RFC 3279, RFC 5480, RFC 8410
 */
export function parsePublicKey(node: DerNode | undefined): PublicKeyInfo {
  const whole = expectNode(node, tags.sequence, "the public key");
  const [algorithm, keyNode, extra] = sequenceOf(whole, "the public key");
  const [type, parameters, more] = sequenceOf(algorithm, "the public key's algorithm");
  const key = readBitBytes(keyNode, "the public key's bits");
  if (extra !== undefined || more !== undefined) throw new DerError("value", "the public key has unexpected parts");
  const spki = rawOf(whole);
  const oid = readOid(type, "the public key's algorithm");
  switch (oid) {
    case oids.rsaEncryption:
      return rsaKey(spki, parameters, key);
    case oids.ecPublicKey:
      return ecKey(spki, parameters, key);
    case oids.ed25519:
      return ed25519Key(spki, parameters, key);
    default:
      throw new KeyError("unsupported", `public key algorithm ${oid} is not accepted`);
  }
}

/**
 * The key as node:crypto uses it. Imported as JWK, which is about twice as fast as from DER.
 * @throws KeyError when OpenSSL rejects it, e.g. a point that is not on its curve
 */
export function importPublicKey(info: PublicKeyInfo): KeyObject {
  try {
    return createPublicKey({ key: info.jwk, format: "jwk" });
  } catch {
    throw new KeyError("malformed", `the ${info.kind} public key is not valid`);
  }
}

function rsaKey(spki: Uint8Array, parameters: DerNode | undefined, key: Uint8Array): PublicKeyInfo {
  if (parameters?.tag !== tags.null || contentOf(parameters).length !== 0) {
    throw new DerError("value", "the RSA key's parameters must be NULL");
  }
  const [modulusNode, exponentNode, extra] = sequenceOf(parseDer(key), "the RSA key");
  const modulus = readUnsigned(modulusNode, "the RSA modulus");
  const exponent = readUnsigned(exponentNode, "the RSA exponent");
  if (extra !== undefined) throw new DerError("value", "the RSA key has unexpected parts");
  const bits = bitLength(modulus);
  if (bits < minRsaBits || bits > maxRsaBits) {
    const verdict = bits < minRsaBits ? "weak" : "unsupported";
    throw new KeyError(verdict, `RSA keys must have ${minRsaBits} to ${maxRsaBits} bits, this one has ${bits}`);
  }
  if (!isOdd(modulus) || !isExponent(exponent)) {
    throw new KeyError("weak", "the RSA key's modulus or exponent is not acceptable");
  }
  return { kind: "rsa", bits, spki, jwk: { kty: "RSA", n: base64url(modulus), e: base64url(exponent) } };
}

/** The size in bits of a big-endian number without leading zeros. */
export function bitLength(number: Uint8Array): number {
  return number.length * 8 - Math.clz32(number[0] ?? 0) + 24;
}

/** Whether a big-endian number is odd. */
export function isOdd(number: Uint8Array): boolean {
  return ((number.at(-1) ?? 0) & 1) === 1;
}

/** A large exponent makes each verification expensive; only an attacker uses one. */
function isExponent(number: Uint8Array): boolean {
  return isOdd(number) && number.length <= 4 && (number.length > 1 || (number[0] ?? 0) >= 3);
}

function ecKey(spki: Uint8Array, parameters: DerNode | undefined, key: Uint8Array): PublicKeyInfo {
  if (parameters?.tag !== tags.oid) {
    throw new KeyError("unsupported", "EC keys must name their curve; explicit parameters are not accepted");
  }
  const oid = readOid(parameters, "the EC key's curve");
  const curve = curves.get(oid);
  if (curve === undefined) throw new KeyError("unsupported", `curve ${oid} is not accepted; use P-256, P-384 or P-521`);
  const size = Math.ceil(curve.bits / 8);
  if (key[0] !== 4 || key.length !== 1 + 2 * size) {
    throw new KeyError("malformed", "the EC key is not an uncompressed point of its curve");
  }
  const x = base64url(key.subarray(1, 1 + size));
  const y = base64url(key.subarray(1 + size));
  return { kind: curve.kind, bits: curve.bits, spki, jwk: { kty: "EC", crv: curve.jwkName, x, y } };
}

function ed25519Key(spki: Uint8Array, parameters: DerNode | undefined, key: Uint8Array): PublicKeyInfo {
  if (parameters !== undefined || key.length !== 32) {
    throw new KeyError("malformed", "the Ed25519 key must have 32 bytes and no parameters");
  }
  return { kind: "ed25519", bits: 256, spki, jwk: { kty: "OKP", crv: "Ed25519", x: base64url(key) } };
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64url");
}
