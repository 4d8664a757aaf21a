import type { KeyObject } from "node:crypto";
import { CompactSign } from "jose/jws/compact/sign";
import { tokenKey } from "./service-account-keys.ts";

/** Signs the claims of a token, which are taken as they are. */
export type TokenSigner = (claims: Readonly<Record<string, unknown>>) => Promise<string>;

/** A signer with a private key; its header names the key and nothing else. @throws KeyError as `tokenKey`. @see RFC 7515 section 7.1 */
export function tokenSigner(key: KeyObject): TokenSigner {
  const { kid, alg } = tokenKey(key);
  return async function signToken(claims) {
    const payload = new TextEncoder().encode(JSON.stringify(claims));
    return new CompactSign(payload).setProtectedHeader({ alg, kid }).sign(key);
  };
}
