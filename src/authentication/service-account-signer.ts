import type { KeyObject } from "node:crypto";
import { CompactSign } from "jose/jws/compact/sign";
import { tokenKey } from "./service-account-keys.ts";

/** Signs the claims of a token, which are taken as they are; `type` is said where it is no token of a ServiceAccount. */
export type TokenSigner = (claims: Readonly<Record<string, unknown>>, type?: string) => Promise<string>;

/** A signer with a private key; its header names the key, and the type where one is given. @throws KeyError as `tokenKey`. @see RFC 7515 section 7.1 */
export function tokenSigner(key: KeyObject): TokenSigner {
  const { kid, alg } = tokenKey(key);
  return async function signToken(claims, type) {
    const payload = new TextEncoder().encode(JSON.stringify(claims));
    const header = type === undefined ? { alg, kid } : { alg, kid, typ: type };
    return new CompactSign(payload).setProtectedHeader(header).sign(key);
  };
}
