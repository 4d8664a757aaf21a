import { createHash, createPublicKey, type KeyObject } from "node:crypto";
import { CompactSign } from "jose/jws/compact/sign";
import { keyKindOf, spkiOf } from "../pki/keys.ts";
import { KeyError, type KeyKind } from "../pki/public-key.ts";

/** The signature algorithms of ServiceAccount tokens. */
export type TokenAlgorithm = "RS256" | "ES256" | "ES384" | "ES512";

/** A public key with its only algorithm, so that a token can choose neither. */
export interface TokenKey {
  /** The SHA-256 of the key's SubjectPublicKeyInfo in base64url, as Kubernetes names keys. */
  readonly kid: string;
  readonly alg: TokenAlgorithm;
  readonly key: KeyObject;
}

const algorithms: Readonly<Record<KeyKind, TokenAlgorithm | undefined>> = {
  rsa: "RS256",
  p256: "ES256",
  p384: "ES384",
  p521: "ES512",
  ed25519: undefined,
};

/**
 * The public key that verifies tokens.
 * @throws KeyError for a key that no algorithm of these tokens supports
 * @see kubernetes pkg/serviceaccount/jwt.go
 */
export function tokenKey(key: KeyObject): TokenKey {
  const alg = algorithms[keyKindOf(key)];
  if (alg === undefined) throw new KeyError("unsupported", "tokens are signed with RSA or EC keys, not with Ed25519");
  const kid = createHash("sha256").update(spkiOf(key)).digest("base64url");
  return { kid, alg, key: key.type === "private" ? createPublicKey(key) : key };
}

/** The keys without repetition; the first of two equal ones counts. */
export function distinctKeys(keys: readonly TokenKey[]): readonly TokenKey[] {
  return keys.filter(({ kid }, index) => keys.findIndex((other) => other.kid === kid) === index);
}

/** The JSON Web Key Set that others verify tokens with. @see RFC 7517 section 5 */
export function jsonWebKeySet(keys: readonly TokenKey[]): {
  readonly keys: readonly Readonly<Record<string, string>>[];
} {
  return {
    keys: keys.map(({ kid, alg, key }) => {
      const { kty = "", crv, x, y, n, e } = key.export({ format: "jwk" });
      const numbers = Object.entries({ x, y, n, e }).filter(
        (entry): entry is [string, string] => entry[1] !== undefined,
      );
      return { use: "sig", kty, kid, ...(crv === undefined ? {} : { crv }), alg, ...Object.fromEntries(numbers) };
    }),
  };
}

/** Signs the claims of a token, which are not checked; `type` is set where it is not a token of a ServiceAccount. */
export type TokenSigner = (claims: Readonly<Record<string, unknown>>, type?: string) => Promise<string>;

/** A signer with a private key; its header names the key, and the type where it is set. @throws KeyError as `tokenKey`. @see RFC 7515 section 7.1 */
export function tokenSigner(key: KeyObject): TokenSigner {
  const { kid, alg } = tokenKey(key);
  return async function signToken(claims, type) {
    const payload = new TextEncoder().encode(JSON.stringify(claims));
    const header = type === undefined ? { alg, kid } : { alg, kid, typ: type };
    return new CompactSign(payload).setProtectedHeader(header).sign(key);
  };
}
