import type { UserInfo } from "../../apimachinery/user.ts";
import { canonicalNodeUser, isNodeUser } from "./node-name-claims.ts";

/** Whether the user that a certificate with this common name would be for is revoked by name; that of a node in whatever case it is written. */
export function isUserRevoked(commonName: string, isRevoked: ((user: UserInfo) => boolean) | undefined): boolean {
  const users = isNodeUser(commonName) ? [commonName, canonicalNodeUser(commonName)] : [commonName];
  return users.some((username) => isRevoked?.({ username, groups: [] }) === true);
}
