import type { Clock } from "../core/clock.ts";
import { objectOf } from "../registry/entry.ts";
import { credentialRevocations } from "../resources/credential-revocation.ts";
import { storagePrefix } from "../resources/resource.ts";
import { revocationIndex, type Credential, type FoundRevocation } from "../resources/revocation-index.ts";
import type { WatchCache } from "../storage/watch-cache.ts";

/** Something long that was begun with a credential; `signal` aborts when that is revoked. */
export interface Followed {
  readonly signal: AbortSignal;
  /** To be called once at its end. */
  readonly release: () => void;
}

/** What is revoked here, at this moment. */
export interface Revocations {
  readonly find: (credential: Credential) => FoundRevocation | undefined;
  readonly follow: (credential: Credential) => Followed;
  readonly size: () => number;
}

/**
 * Follows the revocations in the watch cache, which is complete before anything is served: a revocation counts before its write is
 * acknowledged. What was begun with a credential that is revoked ends in the same moment.
 */
export function revocations(cache: WatchCache, clock: Pick<Clock, "now">): Revocations {
  const prefix = storagePrefix(credentialRevocations);
  const index = revocationIndex();
  const followed = new Map<AbortController, Credential>();
  const find = (credential: Credential): FoundRevocation | undefined =>
    index.size() === 0 ? undefined : index.find(credential, clock.now());
  cache.observe(prefix, ({ type, entry }) => {
    if (type === "DELETED") {
      index.remove(entry.key.slice(prefix.length));
      return;
    }
    index.put(objectOf(entry));
    for (const [end, credential] of followed) if (find(credential) !== undefined) end.abort();
  });
  return {
    find,
    size: index.size,
    follow: (credential) => {
      const end = new AbortController();
      if (find(credential) !== undefined) end.abort();
      followed.set(end, credential);
      return { signal: end.signal, release: () => void followed.delete(end) };
    },
  };
}
