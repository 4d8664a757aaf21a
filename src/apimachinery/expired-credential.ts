import { nodeUserPrefix, type UserInfo } from "./user.ts";

/** The only group of a client with an expired certificate. */
export const returningGroup = "pratique:returning";

/** For how long after its expiry the certificate of a node proves that a machine was accepted once, in milliseconds: as long as records are kept. */
export const returningMs: number = 400 * 86_400_000;

const returningPrefix = "pratique:returning:";

/** The user for the expired certificate of a node: not the node itself, but the holder of its key. */
export function returningUser(node: string, extra: NonNullable<UserInfo["extra"]>): UserInfo {
  return { username: `${returningPrefix}${node}`, groups: [returningGroup], extra };
}

/** Whether a user is reserved for machines with an expired certificate. */
export function isReturning({ username, groups }: Pick<UserInfo, "username" | "groups">): boolean {
  return groups.includes(returningGroup) || username.startsWith(returningPrefix);
}

/** The user name of the node of such a user; undefined for all other users. */
export function nodeReturningAs({ username, groups }: Pick<UserInfo, "username" | "groups">): string | undefined {
  if (!groups.includes(returningGroup) || !username.startsWith(returningPrefix)) return undefined;
  const node = username.slice(returningPrefix.length);
  return node.startsWith(nodeUserPrefix) && node.length > nodeUserPrefix.length ? node : undefined;
}
