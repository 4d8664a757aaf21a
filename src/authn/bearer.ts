import type { UserInfo } from "../core/user.ts";
import type { Authentication, Authenticator } from "./authenticator.ts";
import { headerText } from "./header-text.ts";
import { firstAuthenticated } from "./union.ts";

/** What a token is worth. `until`, in milliseconds since the epoch, is the moment after which it is worth nothing. */
export type TokenAuthentication =
  | { readonly kind: "authenticated"; readonly user: UserInfo; readonly until?: number }
  | { readonly kind: "absent" }
  | { readonly kind: "rejected"; readonly reason: string };

/** Says who a bearer token speaks for; `absent` means that it is not one of ours. A thrown error is an outage. */
export type TokenAuthenticator = (token: string) => Promise<TokenAuthentication>;

/** The reason for which a token that nobody knows is rejected. */
export const invalidBearerToken = "invalid bearer token";

/**
 * Authenticates by the bearer token of a request, asking `members` in order. A request without one is absent; a token that no
 * member accepts is rejected, never absent, so that it cannot end as anonymous. @see RFC 6750
 */
export function bearer(...members: readonly TokenAuthenticator[]): Authenticator {
  const judge = firstAuthenticated(...members);
  return async function bearerToken(request): Promise<Authentication> {
    const token = parseBearer(request.authorization);
    if (token === undefined) {
      return { kind: "absent" };
    }
    const found = await judge(token);
    if (found.kind === "authenticated") {
      return { kind: "authenticated", user: found.user };
    }
    return found.kind === "absent" ? { kind: "rejected", reason: invalidBearerToken } : found;
  };
}

/**
 * The token of an Authorization header, or undefined where it names none: another scheme, an empty token, a doubled blank.
 * The header is trimmed and split at single blanks; what follows a second one is passed over.
 * @see apiserver/pkg/authentication/request/bearertoken
 */
export function parseBearer(authorization: string | undefined): string | undefined {
  const [scheme, token] = headerText(authorization ?? "")
    .trim()
    .split(" ", 2);
  return scheme?.toLowerCase() === "bearer" && token !== "" ? token : undefined;
}
