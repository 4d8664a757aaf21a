import type { CredentialUse } from "../controllers/credentials/issued-credentials.ts";
import type { TokenOrder } from "../authentication/service-account-claims.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { rfc3339 } from "../apimachinery/clock.ts";
import type { Credential } from "../apis/revocation-index.ts";

/** Remembers who was seen, and which tokens were given out, until the records are written. */
export interface CredentialUseLog extends CredentialUse {
  readonly recordUse: (credential: Pick<Credential, "username" | "ids">) => void;
  readonly recordToken: (
    username: string,
    order: Pick<TokenOrder, "id" | "issuedAt" | "expiresAt">,
    by: string,
  ) => void;
}

/** More identities than a hub serves; beyond, the ones that were first seen are forgotten first. */
const maxUsers = 65_536;

/** Nothing has been seen yet. The notes cost a write into a map and a look: they stand in the way of every request. */
export function credentialUseLog(clock: Pick<Clock, "now">): CredentialUseLog {
  const seen = new Map<string, number>();
  const used = new Map<string, number>();
  const tokens = new Map<string, NonNullable<ReturnType<CredentialUse["lastToken"]>>>();
  return {
    recordUse: ({ username, ids }) => {
      const now = clock.now();
      seen.set(username, now);
      dropOldest(seen);
      for (const id of ids) {
        if (used.has(id)) continue;
        used.set(id, now);
        dropOldest(used);
      }
    },
    recordToken: (username, { id, issuedAt, expiresAt }, by) => {
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
    firstUsed: (id) => used.get(id),
    lastToken: (username) => tokens.get(username),
  };
}

function dropOldest(entries: Map<string, unknown>): void {
  if (entries.size <= maxUsers) return;
  for (const oldest of entries.keys()) {
    entries.delete(oldest);
    return;
  }
}
