import type { UserInfo } from "../apimachinery/user.ts";
import { isFields, type Fields } from "../apis/json-fields.ts";
import { credentialOf, type Credential } from "../apis/revocation-index.ts";
import type { Authentication, Authenticator } from "./authenticator.ts";
import { headerText } from "./header-text.ts";
import { firstAuthenticated } from "./union.ts";

/** The verdict on a token. `until`, in milliseconds since the epoch, is the moment after which it is invalid. */
export type TokenAuthentication =
  | {
      readonly kind: "authenticated";
      readonly user: UserInfo;
      readonly until?: number;
      /** The audiences of the token; absent for tokens without audiences, which are meant for the API itself. */
      readonly audiences?: readonly string[];
      /** Identifiers of the token besides the user. */
      readonly credential?: Credential;
    }
  | { readonly kind: "absent" }
  | { readonly kind: "rejected"; readonly reason: string };

/** Authenticates a bearer token; `absent` means that it is not a token of this authenticator. A thrown error is an outage. */
export type TokenAuthenticator = (token: string) => Promise<TokenAuthentication>;

/** The reason for rejecting a token that no member accepts. */
export const invalidBearerToken = "invalid bearer token";

export interface BearerOptions {
  /** The names of the API itself: a token must be meant for one of them, unless the request names others. */
  readonly audiences: readonly string[];
}

/**
 * Authenticates by the bearer token of a request, calling `members` in order. A request without one is absent; a token that no
 * member accepts, or that is meant for others, is rejected, never absent, so that it cannot end as anonymous. @see RFC 6750
 */
export function bearer(options: BearerOptions, ...members: readonly TokenAuthenticator[]): Authenticator {
  const judge = firstAuthenticated(...members);
  return async function bearerToken(request): Promise<Authentication> {
    const token = parseBearer(request.authorization);
    if (token === undefined) return { kind: "absent" };
    const found = await judge(token);
    if (found.kind === "absent") return { kind: "rejected", reason: invalidBearerToken };
    if (found.kind === "rejected") return found;
    const requested = request.audiences ?? options.audiences;
    const audiences = (found.audiences ?? options.audiences).filter((audience) => requested.includes(audience));
    if (audiences.length > 0) return { kind: "authenticated", user: found.user, audiences, ...credentialIn(found) };
    return { kind: "rejected", reason: meantForOthers(found.audiences, requested) };
  };
}

/** The credential with the expiry of the token, where either is known. */
function credentialIn({ user, credential, until }: Extract<TokenAuthentication, { kind: "authenticated" }>): {
  readonly credential?: Credential;
} {
  if (until === undefined) return credential === undefined ? {} : { credential };
  return { credential: { ...(credential ?? credentialOf(user)), until } };
}

function meantForOthers(meant: readonly string[] | undefined, requested: readonly string[]): string {
  if (meant === undefined) return invalidBearerToken;
  return `token audiences ${listed(meant)} is invalid for the target audiences ${listed(requested)}`;
}

function listed(audiences: readonly string[]): string {
  return `[${audiences.map((audience) => JSON.stringify(audience)).join(" ")}]`;
}

/**
 * The token of an Authorization header, or undefined where it names none: another scheme, an empty token, a doubled blank.
 * The header is trimmed and split at single blanks; what follows a second one is ignored.
 * @see apiserver/pkg/authentication/request/bearertoken
 */
export function parseBearer(authorization: string | undefined): string | undefined {
  const [scheme, token] = headerText(authorization ?? "")
    .trim()
    .split(" ", 2);
  return scheme?.toLowerCase() === "bearer" && token !== "" ? token : undefined;
}

/** A header cannot contain longer ones, and those in a review would only cost CPU time. */
const maxTokenLength = 16_384;

/** The three parts of a token that has the form of a compact JWS; undefined for any other. @see RFC 7515 section 7.1 */
export function tokenParts(token: string): readonly string[] | undefined {
  return token.length <= maxTokenLength && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) ? token.split(".") : undefined;
}

/** The header or the claims of a compact JWS, of which nothing is verified; undefined where the part is no JSON object. */
export function jsonPart(part: string | undefined): Fields | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part ?? "", "base64url").toString("utf8"));
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
