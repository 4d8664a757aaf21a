import { createHash, type KeyObject } from "node:crypto";

const p = 2n ** 255n - 19n;

/**
 * The X25519 public key on the curve's other form that belongs to an Ed25519 public key of 32 bytes: u = (1 + y) / (1 - y).
 * Undefined for the neutral element, which has none.
 * @see RFC 7748 section 4.1
 */
export function x25519PublicOf(ed25519: Uint8Array): Uint8Array | undefined {
  const y = fromLittleEndian(ed25519) & (2n ** 255n - 1n);
  const denominator = modulo(1n - y);
  if (denominator === 0n) return undefined;
  return toLittleEndian(modulo((1n + y) * power(denominator, p - 2n)));
}

/** The X25519 private key of the same pair: the clamped first half of the seed's SHA-512. @see RFC 8032 section 5.1.5 */
export function x25519PrivateOf(ed25519: KeyObject): Uint8Array {
  const seed = Buffer.from(ed25519.export({ format: "jwk" }).d ?? "", "base64url");
  const half = createHash("sha512").update(seed).digest().subarray(0, 32);
  half[0] = (half[0] ?? 0) & 248;
  half[31] = ((half[31] ?? 0) & 127) | 64;
  return half;
}

function modulo(value: bigint): bigint {
  const rest = value % p;
  return rest < 0n ? rest + p : rest;
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let square = modulo(base);
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = modulo(result * square);
    square = modulo(square * square);
  }
  return result;
}

function fromLittleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`);
}

function toLittleEndian(value: bigint): Uint8Array {
  return Buffer.from(value.toString(16).padStart(64, "0"), "hex").reverse();
}
