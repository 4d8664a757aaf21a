import { compactVerify } from "jose/jws/compact/verify";
import { isFields, numberAt, stringAt, type Fields } from "../apis/json-fields.ts";
import { leewayMs } from "./service-account-claims.ts";
import type { TokenKey } from "./service-account-keys.ts";

/** The claims of a token whose signature is right. Nothing that they say has been checked, not even whether their time is over. */
export type SignedClaims =
  | { readonly kind: "authenticated"; readonly claims: Fields; readonly until?: number }
  | { readonly kind: "absent" }
  | { readonly kind: "rejected"; readonly reason: string };

export interface SignatureOptions {
  /** Tokens that name another issuer are not ours. */
  readonly issuers: readonly string[];
  readonly keys: readonly TokenKey[];
}

/** Longer ones cannot come in a header, and those in a review would only keep the hub busy. */
const maxLength = 16_384;
const tokenForm = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * Verifies who signed a compact JWS. The token's `kid` chooses among the keys, and the key alone chooses the algorithm; without a
 * `kid` every key is tried. Whatever is no such token, or is of another issuer, is `absent`.
 * @see RFC 7515; RFC 8725; kubernetes pkg/serviceaccount/jwt.go
 */
export function signedClaims({ issuers, keys }: SignatureOptions): (token: string) => Promise<SignedClaims> {
  return async function verifySignature(token) {
    if (token.length > maxLength || !tokenForm.test(token)) return { kind: "absent" };
    const parts = token.split(".");
    const [header, claims] = parts.slice(0, 2).map(jsonPart);
    if (header === undefined || claims === undefined) return { kind: "absent" };
    if (!issuers.includes(stringAt(claims, "iss"))) return { kind: "absent" };
    // One spelling for each token: what decodes to the same bytes is still another text.
    if (!parts.every(isCanonical)) return { kind: "rejected", reason: "the token is not encoded as it should be" };
    const candidates = keysFor(header, keys);
    if (candidates.length === 0) return { kind: "rejected", reason: "invalid signature, no keys found" };
    for (const key of candidates) {
      if (await isSignedBy(token, key)) return { kind: "authenticated", claims, ...untilOf(claims) };
    }
    return { kind: "rejected", reason: "the signature of the token is not valid" };
  };
}

/** Those that may have signed it by what the header says; none where the header names another algorithm than the key's own. */
function keysFor(header: Fields, keys: readonly TokenKey[]): readonly TokenKey[] {
  const named = Object.hasOwn(header, "kid") ? keys.filter(({ kid }) => kid === header["kid"]) : keys;
  return named.filter(({ alg }) => alg === header["alg"]);
}

async function isSignedBy(token: string, { key, alg }: TokenKey): Promise<boolean> {
  try {
    await compactVerify(token, key, { algorithms: [alg] });
    return true;
  } catch {
    // Whatever the library finds wrong, the token is not signed by this key.
    return false;
  }
}

function untilOf(claims: Fields): { readonly until?: number } {
  const exp = numberAt(claims, "exp");
  return exp === undefined ? {} : { until: exp * 1000 + leewayMs };
}

function jsonPart(part: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isCanonical(part: string): boolean {
  return Buffer.from(part, "base64url").toString("base64url") === part;
}
