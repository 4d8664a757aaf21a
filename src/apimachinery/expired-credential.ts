import { nodeUserPrefix, type UserInfo } from "./user.ts";

/** Whoever comes back with a certificate that has expired belongs to it, and to nothing else. */
export const returningGroup = "pratique:returning";

/** For how long after its end the certificate of a node proves that a machine was let in once, in milliseconds: as long as records are kept. */
export const returningMs: number = 400 * 86_400_000;

const returningPrefix = "pratique:returning:";

/** The user that stands for a node whose certificate has expired: not the node, but whoever holds its key. */
export function returningUser(node: string, extra: NonNullable<UserInfo["extra"]>): UserInfo {
  return { username: `${returningPrefix}${node}`, groups: [returningGroup], extra };
}

/** Whether a user is one that only a machine that comes back may be. */
export function isReturning({ username, groups }: Pick<UserInfo, "username" | "groups">): boolean {
  return groups.includes(returningGroup) || username.startsWith(returningPrefix);
}

/** The user name of the node that comes back as this user; undefined for everybody else. */
export function nodeReturningAs({ username, groups }: Pick<UserInfo, "username" | "groups">): string | undefined {
  if (!groups.includes(returningGroup) || !username.startsWith(returningPrefix)) return undefined;
  const node = username.slice(returningPrefix.length);
  return node.startsWith(nodeUserPrefix) && node.length > nodeUserPrefix.length ? node : undefined;
}
