import { anonymousUser, authenticatedGroup, unauthenticatedGroup, type UserInfo } from "../apimachinery/user.ts";
import { credentialOf, type Credential, type FoundRevocation } from "../apis/revocation-index.ts";
import type { Authentication, Authenticator, RequestFacts } from "./authenticator.ts";

/** Who sent what was refused, as far as that is known. */
export interface Sender {
  readonly user: string;
  readonly address: string | undefined;
  readonly userAgent: string | undefined;
}

/**
 * Rejects what `revocationOf` finds to be revoked, whoever else the request could be: it ends as 401. It is asked with each request,
 * as nothing of its answer may be remembered, and throws where it cannot know. The credential comes along in the result, and
 * `recordUse` is told of whoever may come in, `refused` of what keeps somebody out.
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
      // With an expired certificate nobody comes in as its holder.
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

/** Puts everybody whom `member` authenticates into `system:authenticated`. */
export function withAuthenticatedGroup(member: Authenticator): Authenticator {
  return async function authenticatedGroupAdder(request) {
    const result = await member(request);
    return result.kind === "authenticated" ? { ...result, user: addAuthenticatedGroup(result.user) } : result;
  };
}

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
    if (result.kind !== "absent") return result;
    return options.allowAnonymous(request)
      ? { kind: "authenticated", user: anonymous }
      : { kind: "rejected", reason: "no credentials, and anonymous requests are not allowed" };
  };
}
