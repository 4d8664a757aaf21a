import { setMaxListeners } from "node:events";
import { storagePrefix } from "../apis/resource.ts";
import type { Credential } from "../apis/revocation-index.ts";
import type { WatchCache } from "../storage/watch-cache.ts";

const prefix = storagePrefix({ group: "", plural: "secrets" });

/**
 * What ends when the Secret that a token stands on is changed or deleted: bootstrap tokens, and tokens of ServiceAccounts in Secrets;
 * undefined for other credentials. A change ends it as well, since the token may be another one; a client that may go on opens its watch again.
 */
export function tokenSecretLifetimes(cache: WatchCache): (credential: Credential) => AbortSignal | undefined {
  const lifetimes = new Map<string, AbortController>();
  cache.observe(prefix, ({ entry }) => {
    const life = lifetimes.get(entry.key);
    lifetimes.delete(entry.key);
    life?.abort();
  });
  return ({ secret, secretVersion }) => {
    if (secret === undefined) return undefined;
    const key = `${prefix}${secret}`;
    const entry = cache.get(key);
    // It may have changed since the token was judged, while the request waited.
    const isSame = entry !== undefined && (secretVersion === undefined || secretVersion === String(entry.revision));
    if (!isSame) return AbortSignal.abort();
    const life = lifetimes.get(key) ?? new AbortController();
    // One for each watch.
    setMaxListeners(0, life.signal);
    lifetimes.set(key, life);
    return life.signal;
  };
}
