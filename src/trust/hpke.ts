import { createHash, type KeyObject } from "node:crypto";
import type { CipherSuite } from "@hpke/core";

/** The kinds of keys that HPKE seals to here; an Ed25519 key is used in its X25519 form. */
export type HpkeKind = "p256" | "ed25519";

/** The names of the algorithms for a kind of key, as RFC 9180 section 7 has them. */
export const hpkeNames: Readonly<
  Record<HpkeKind, { readonly kem: string; readonly kdf: string; readonly aead: string }>
> = {
  p256: { kem: "DHKEM(P-256, HKDF-SHA256)", kdf: "HKDF-SHA256", aead: "AES-256-GCM" },
  ed25519: { kem: "DHKEM(X25519, HKDF-SHA256)", kdf: "HKDF-SHA256", aead: "AES-256-GCM" },
};

/** Seals in base mode; the result is the encapsulated key followed by the ciphertext. Rejects for a key that cannot agree on a secret. @see RFC 9180 */
export async function hpkeSeal(
  recipient: { readonly kind: HpkeKind; readonly key: KeyObject },
  info: Uint8Array,
  plaintext: Uint8Array,
): Promise<Buffer> {
  const suite = await suiteFor(recipient.kind);
  const recipientPublicKey = await suite.kem.deserializePublicKey(exact(publicBytes(recipient)));
  const { enc, ct } = await suite.seal({ recipientPublicKey, info: exact(info) }, exact(plaintext));
  return Buffer.concat([Buffer.from(enc), Buffer.from(ct)]);
}

/** Opens what `hpkeSeal` sealed to the public key of this private key with the same `info`. Rejects otherwise. */
export async function hpkeOpen(
  recipient: { readonly kind: HpkeKind; readonly key: KeyObject },
  info: Uint8Array,
  sealed: Uint8Array,
): Promise<Buffer> {
  const suite = await suiteFor(recipient.kind);
  const recipientKey = await suite.kem.deserializePrivateKey(exact(privateBytes(recipient)));
  const { encSize } = suite.kem;
  const enc = exact(sealed.subarray(0, encSize));
  return Buffer.from(await suite.open({ recipientKey, enc, info: exact(info) }, exact(sealed.subarray(encSize))));
}

/** Loaded with the first sealed answer: most hubs and agents never need it. */
async function suiteFor(kind: HpkeKind): Promise<CipherSuite> {
  const { Aes256Gcm, CipherSuite, DhkemP256HkdfSha256, DhkemX25519HkdfSha256, HkdfSha256 } = await import("@hpke/core");
  const kem = kind === "p256" ? new DhkemP256HkdfSha256() : new DhkemX25519HkdfSha256();
  return new CipherSuite({ kem, kdf: new HkdfSha256(), aead: new Aes256Gcm() });
}

function publicBytes({ kind, key }: { readonly kind: HpkeKind; readonly key: KeyObject }): Uint8Array {
  const { x = "", y = "" } = key.export({ format: "jwk" });
  if (kind === "p256")
    return Buffer.concat([Buffer.from([4]), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]);
  const point = x25519PublicOf(Buffer.from(x, "base64url"));
  // All zeros are not a shared secret, and the suite rejects them.
  return point ?? new Uint8Array(32);
}

function privateBytes({ kind, key }: { readonly kind: HpkeKind; readonly key: KeyObject }): Uint8Array {
  return kind === "p256" ? Buffer.from(key.export({ format: "jwk" }).d ?? "", "base64url") : x25519PrivateOf(key);
}

/** A copy with its own buffer: the suite reads whole buffers. */
function exact(bytes: Uint8Array): ArrayBuffer {
  return Uint8Array.from(bytes).buffer;
}

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
