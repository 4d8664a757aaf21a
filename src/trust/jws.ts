import { createHmac } from "node:crypto";
import { secretsEqual, type BootstrapToken } from "./token.ts";

/**
 * The detached JWS over the exact bytes of `content` in UTF-8, keyed by the characters of the token's secret.
 * The header is `{"alg":"HS256","kid":"<id>"}` and nothing else; the middle part is empty.
 * @see RFC 7515 appendix F; cluster-bootstrap/token/jws
 */
export function detachedJws(content: string, token: BootstrapToken): string {
  const header = base64url(`{"alg":"HS256","kid":${JSON.stringify(token.id)}}`);
  const mac = createHmac("sha256", Buffer.from(token.secret, "utf8")).update(`${header}.${base64url(content)}`);
  return `${header}..${mac.digest("base64url")}`;
}

/**
 * Whether `jws` is exactly the detached JWS over `content` under the token, compared as a whole in constant time.
 * Nothing of it is parsed, so no other spelling of the header can pass.
 */
export function verifyDetachedJws(jws: string, content: string, token: BootstrapToken): boolean {
  return secretsEqual(jws, detachedJws(content, token));
}

function base64url(text: string): string {
  return Buffer.from(text, "utf8").toString("base64url");
}
