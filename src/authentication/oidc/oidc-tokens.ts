import { compactVerify } from "jose/jws/compact/verify";
import { numberAt, stringAt, stringsAt, valueAt, type Fields } from "../../apis/json-fields.ts";
import { jsonPart, tokenParts, type TokenAuthentication, type TokenAuthenticator } from "../bearer.ts";
import { cachedTokens } from "../token-cache.ts";
import type { ClaimMapping } from "./claim-mapping.ts";
import { IssuerKeysError, type IssuerKeys, type KeyFinder } from "./issuer-keys.ts";

/** The signature algorithms that an issuer may use; none with a shared secret, and never `none`. */
export const oidcAlgorithms: readonly string[] = [
  "RS256",
  "RS384",
  "RS512",
  "ES256",
  "ES384",
  "ES512",
  "PS256",
  "PS384",
  "PS512",
];

export interface OidcOptions {
  readonly issuer: string;
  /** The audiences; a token must be meant for one of them. */
  readonly audiences: readonly string[];
  readonly algorithms: readonly string[];
  readonly keys: IssuerKeys;
  readonly mapping: ClaimMapping;
  /** The audiences of the API, which a valid token then has. */
  readonly apiAudiences: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** How far the clock of an issuer may be ahead. Source: go-oidc. */
const notBeforeLeewaySeconds = 300;

/**
 * Authenticates the ID tokens of one issuer: signature, time, audience, rules over claims and over the resulting user. A token of
 * another issuer is absent. Successes are cached for ten seconds, never past the expiry of the token.
 * @see OpenID Connect Core 1.0 section 3.1.3.7; apiserver plugin/pkg/authenticator/token/oidc
 */
export function oidcTokens(options: OidcOptions): TokenAuthenticator {
  return cachedTokens((token) => verdictOn(token, options), { now: options.now });
}

async function verdictOn(token: string, options: OidcOptions): Promise<TokenAuthentication> {
  const claims = jsonPart(tokenParts(token)?.[1]);
  // Its issuer claim is not verified yet; it only selects the keys.
  if (claims === undefined || stringAt(claims, "iss") !== options.issuer) return { kind: "absent" };
  const why =
    (await wrongSignature(token, options)) ??
    wrongTime(claims, options.now() / 1000) ??
    wrongAudience(claims, options.audiences);
  if (why !== undefined) return { kind: "rejected", reason: `oidc: ${why}` };
  const mapped = options.mapping(claims);
  if (mapped.kind === "refused") return { kind: "rejected", reason: `oidc: ${mapped.reason}` };
  return {
    kind: "authenticated",
    user: mapped.user,
    audiences: options.apiAudiences,
    until: (numberAt(claims, "exp") ?? 0) * 1000,
  };
}

async function wrongSignature(token: string, { keys, algorithms }: OidcOptions): Promise<string | undefined> {
  try {
    if (await isSigned(token, await keys.current(), algorithms)) return undefined;
    const renewed = await keys.renewed();
    if (renewed !== undefined && (await isSigned(token, renewed, algorithms))) return undefined;
    return "verify token: failed to verify id token signature";
  } catch (error) {
    // An issuer that is down must not affect other authenticators: only its own tokens are rejected.
    if (error instanceof IssuerKeysError) return `authenticator not initialized: ${error.message}`;
    throw error;
  }
}

async function isSigned(token: string, find: KeyFinder, algorithms: readonly string[]): Promise<boolean> {
  try {
    await compactVerify(token, find, { algorithms: [...algorithms] });
    return true;
  } catch (error) {
    return isSeveralKeys(error) ? signedByOneOf(token, error, algorithms) : false;
  }
}

type SeveralKeys = AsyncIterable<Parameters<typeof compactVerify>[1]>;

/** Without a `kid` several keys may match, and jose yields them one after the other. */
function isSeveralKeys(error: unknown): error is SeveralKeys {
  return error instanceof Error && "code" in error && error.code === "ERR_JWKS_MULTIPLE_MATCHING_KEYS";
}

async function signedByOneOf(token: string, candidates: SeveralKeys, algorithms: readonly string[]): Promise<boolean> {
  for await (const key of candidates) {
    try {
      await compactVerify(token, key as Exclude<typeof key, (...args: never[]) => unknown>, {
        algorithms: [...algorithms],
      });
      return true;
    } catch {
      // The next key may match.
    }
  }
  return false;
}

function wrongTime(claims: Fields, now: number): string | undefined {
  const exp = valueAt(claims, "exp");
  if (typeof exp !== "number") return "verify token: the token has no expiry";
  if (now >= exp) return "verify token: token is expired";
  const notBefore = valueAt(claims, "nbf") ?? Number.NEGATIVE_INFINITY;
  if (typeof notBefore !== "number" || now + notBeforeLeewaySeconds < notBefore) {
    return "verify token: token is not valid yet";
  }
  return undefined;
}

function wrongAudience(claims: Fields, audiences: readonly string[]): string | undefined {
  const aud = claims["aud"];
  const named = typeof aud === "string" ? [aud] : stringsAt(claims, "aud");
  if (named.some((one) => audiences.includes(one))) return undefined;
  return `verify token: expected audience in [${audiences.join(" ")}] got [${named.join(" ")}]`;
}
