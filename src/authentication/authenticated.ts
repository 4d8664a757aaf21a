import { anonymousUser, authenticatedGroup, unauthenticatedGroup, type UserInfo } from "../apimachinery/user.ts";
import { credentialOf, type Credential, type FoundRevocation } from "../apis/revocation-index.ts";
import type { Authentication, Authenticator, RequestFacts } from "./authenticator.ts";

/** The sender of a rejected credential, as far as it is known. */
export interface Sender {
  readonly user: string;
  readonly address: string | undefined;
  readonly userAgent: string | undefined;
}

/**
 * Rejects what `revocationOf` finds to be revoked with 401, whatever other credential the request has. It is called for each request,
 * since its result must not be cached, and throws where it cannot decide. The result contains the credential;
 * `recordUse` receives each accepted user, `refused` each reason for a rejection.
 */
export function unlessRevoked(
  member: Authenticator,
  revocationOf: (credential: Credential) => FoundRevocation | undefined,
  reported: {
    readonly recordUse: (credential: Credential) => void;
    readonly refused: (found: FoundRevocation, by: Sender) => void;
  },
): Authenticator {
  return async function unrevoked(request) {
    const result = await member(request);
    if (result.kind !== "authenticated") return result;
    const credential = result.credential ?? credentialOf(result.user);
    const found = revocationOf(credential);
    if (found === undefined) {
      // A request with an expired certificate does not count as a use of it.
      if (credential.username === result.user.username) reported.recordUse(credential);
      return result.credential === undefined ? { ...result, credential } : result;
    }
    reported.refused(found, { user: credential.username, address: request.address, userAgent: request.userAgent });
    return { kind: "rejected", reason: `the credential is revoked: ${found.name}` };
  };
}

/**
 * The user with `system:authenticated` as the last group; unchanged when it is anonymous or is in that group or in
 * `system:unauthenticated` already. @see apiserver/pkg/authentication/group
 */
export function addAuthenticatedGroup(user: UserInfo): UserInfo {
  const settled =
    user.username === anonymousUser ||
    user.groups.includes(authenticatedGroup) ||
    user.groups.includes(unauthenticatedGroup);
  return settled ? user : { ...user, groups: [...user.groups, authenticatedGroup] };
}

/** Adds every user that `member` authenticates to `system:authenticated`. */
export function withAuthenticatedGroup(member: Authenticator): Authenticator {
  return async function authenticatedGroupAdder(request) {
    const result = await member(request);
    return result.kind === "authenticated" ? { ...result, user: addAuthenticatedGroup(result.user) } : result;
  };
}

/** The user of a request without any credential. */
export const anonymous: UserInfo = { username: anonymousUser, groups: [unauthenticatedGroup] };

/** The result of authentication: a user, or a 401. The reason is for the log; the client never sees it. */
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
    if (result.kind !== "absent") return result;
    return options.allowAnonymous(request)
      ? { kind: "authenticated", user: anonymous }
      : { kind: "rejected", reason: "no credentials, and anonymous requests are not allowed" };
  };
}
