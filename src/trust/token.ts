import { timingSafeEqual, createHash, createHmac } from "node:crypto";
import type { RandomBytes } from "../apimachinery/clock.ts";

/** A bootstrap token: a public id and a secret. Source: cluster-bootstrap/token/api. */
export interface BootstrapToken {
  /** Six characters of `[a-z0-9]`; names the Secret and may be shown. */
  readonly id: string;
  /** Sixteen characters of `[a-z0-9]`; must never be shown, logged or compared with `===`. */
  readonly secret: string;
}

/** What a token may be used for: signing cluster-info, authenticating a request. */
export type TokenUsage = "signing" | "authentication";

/** Every usage that exists, in the order in which kubeadm writes them. */
export const tokenUsages: readonly TokenUsage[] = ["signing", "authentication"];

/** Why a token, or an option of one, cannot be accepted. */
export type TokenErrorCode = "malformed-token" | "malformed-id" | "unknown-usage" | "malformed-group" | "bad-ttl";

/** A token that cannot be generated or parsed; the message never contains a secret. */
export class TokenError extends Error {
  readonly code: TokenErrorCode;

  constructor(code: TokenErrorCode, message: string) {
    super(message);
    this.name = "TokenError";
    this.code = code;
  }
}

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz";
const tokenPattern = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const idPattern = /^[a-z0-9]{6}$/;
const groupPattern = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

/** The token in `text`, or undefined when it is not one; nothing is trimmed or lower-cased. */
export function parseToken(text: string): BootstrapToken | undefined {
  const match = tokenPattern.exec(text);
  const [, id, secret] = match ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/** The token in `text`. @throws TokenError malformed-token, without the text in its message. */
export function requireToken(text: string): BootstrapToken {
  const token = parseToken(text);
  if (token === undefined) {
    throw new TokenError(
      "malformed-token",
      "the bootstrap token is not of the form <id>.<secret>: 6 and 16 characters of a-z and 0-9, lower case",
    );
  }
  return token;
}

/** The token as people type it. The result is a secret. */
export function formatToken(token: BootstrapToken): string {
  return `${token.id}.${token.secret}`;
}

/** Whether `id` is a token id, the public part alone. */
export function isTokenId(id: string): boolean {
  return idPattern.test(id);
}

/** The id in `text`, which is an id or a full token, as `kubeadm token delete` takes it. @throws TokenError malformed-id. */
export function requireTokenId(text: string): string {
  const id = isTokenId(text) ? text : parseToken(text)?.id;
  if (id === undefined) {
    throw new TokenError("malformed-id", "neither a token id (6 characters of a-z and 0-9) nor a full token was given");
  }
  return id;
}

/** Whether `group` may be one of a token's extra groups; the bare `system:bootstrappers` may not. */
export function isBootstrapGroup(group: string): boolean {
  return groupPattern.test(group);
}

/** Whether `usage` is one of the two known usages. */
export function isTokenUsage(usage: string): usage is TokenUsage {
  return tokenUsages.some((known) => known === usage);
}

/**
 * A new token, each character uniform over 36: bytes of 252 and above are discarded, the rest taken modulo 36.
 * `random` must be cryptographically secure. @throws TypeError when `random` keeps returning bytes that cannot be used.
 * @see cluster-bootstrap/token/util
 */
export function generateToken(random: RandomBytes): BootstrapToken {
  const text = randomText(random, 22);
  return { id: text.slice(0, 6), secret: text.slice(6) };
}

/** Compares two secrets in a time that depends on neither, nor on their lengths beyond one hash of each. */
export function secretsEqual(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text, "utf8").digest();
}

function randomText(random: RandomBytes, length: number): string {
  let text = "";
  // A working source needs a second draw once in about three calls; a hundred draws mean that it is broken.
  for (let draw = 0; draw < 100 && text.length < length; draw += 1) {
    for (const byte of random(length - text.length)) {
      if (byte < 252 && text.length < length) {
        text += alphabet.charAt(byte % 36);
      }
    }
  }
  if (text.length < length) {
    throw new TypeError("the random source gives no usable bytes");
  }
  return text;
}

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
 * It is not parsed, so no other encoding of the header can pass.
 */
export function verifyDetachedJws(jws: string, content: string, token: BootstrapToken): boolean {
  return secretsEqual(jws, detachedJws(content, token));
}

function base64url(text: string): string {
  return Buffer.from(text, "utf8").toString("base64url");
}
