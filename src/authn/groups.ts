import { anonymousUser, authenticatedGroup, unauthenticatedGroup, type UserInfo } from "../core/user.ts";
import type { Authenticator } from "./authenticator.ts";

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
