import type { CredentialUse } from "../controllers/issued-credentials.ts";
import type { TokenOrder } from "../authn/service-account-claims.ts";
import type { Clock } from "../core/clock.ts";
import { rfc3339 } from "../core/clock.ts";

/** Remembers who was seen, and which tokens were given out, until the records are written. */
export interface CredentialUseLog extends CredentialUse {
  readonly saw: (username: string) => void;
  readonly gave: (username: string, order: Pick<TokenOrder, "id" | "issuedAt" | "expiresAt">, by: string) => void;
}

/** More identities than a hub serves; beyond, the ones that were first seen are forgotten first. */
const mostUsers = 65_536;

/** Nothing has been seen yet. Both notes cost one write into a map: they stand in the way of every request. */
export function credentialUseLog(clock: Pick<Clock, "now">): CredentialUseLog {
  const seen = new Map<string, number>();
  const tokens = new Map<string, NonNullable<ReturnType<CredentialUse["lastToken"]>>>();
  return {
    saw: (username) => {
      seen.set(username, clock.now());
      dropOldest(seen);
    },
    gave: (username, { id, issuedAt, expiresAt }, by) => {
      tokens.set(username, {
        credentialID: `JTI=${id}`,
        notBefore: rfc3339(issuedAt * 1000),
        notAfter: rfc3339(expiresAt * 1000),
        requestedBy: by,
        request: "token",
      });
      dropOldest(tokens);
    },
    lastSeen: (username) => seen.get(username),
    lastToken: (username) => tokens.get(username),
  };
}

function dropOldest(entries: Map<string, unknown>): void {
  if (entries.size <= mostUsers) return;
  for (const oldest of entries.keys()) {
    entries.delete(oldest);
    return;
  }
}
