import { anonymousUser, unauthenticatedGroup, type UserInfo } from "../core/user.ts";
import type { Authentication, Authenticator, RequestFacts } from "./authenticator.ts";

/** Who a request without any credential comes from. */
export const anonymous: UserInfo = { username: anonymousUser, groups: [unauthenticatedGroup] };

/** The end of authentication: somebody, or a 401. The reason is for the log; a client is never told. */
export type Authenticated = Exclude<Authentication, { kind: "absent" }>;

/**
 * Completes an authenticator: a request without credentials is anonymous where that is allowed, and rejected otherwise. A
 * rejected credential stays rejected, whatever is allowed. @see apiserver/pkg/authentication/request/anonymous
 */
export function authenticate(
  member: Authenticator,
  options: { readonly allowAnonymous: (request: RequestFacts) => boolean },
): (request: RequestFacts) => Promise<Authenticated> {
  return async function authenticateRequest(request) {
    const result = await member(request);
    if (result.kind !== "absent") {
      return result;
    }
    return options.allowAnonymous(request)
      ? { kind: "authenticated", user: anonymous }
      : { kind: "rejected", reason: "no credentials, and anonymous requests are not allowed" };
  };
}
