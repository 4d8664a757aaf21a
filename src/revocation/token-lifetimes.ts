import { setMaxListeners } from "node:events";
import { storagePrefix } from "../apis/resource.ts";
import type { Credential } from "../apis/revocation-index.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { objectOf } from "../registry/entry.ts";

const prefix = storagePrefix({ group: "", plural: "secrets" });

/**
 * A lifetime that ends when the Secret of a token is changed or deleted: of bootstrap tokens, and of ServiceAccount tokens in Secrets;
 * undefined for other credentials. A change ends it too, since it may replace the token; an authorized client opens its watch again.
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
    // The Secret may have changed since authentication, while the request waited.
    const isSame = entry !== undefined && (secretVersion === undefined || secretVersion === String(entry.revision));
    if (!isSame) return AbortSignal.abort();
    const life = lifetimes.get(key) ?? new AbortController();
    // One for each watch.
    setMaxListeners(0, life.signal);
    lifetimes.set(key, life);
    return life.signal;
  };
}

interface Life {
  readonly uid: string;
  readonly end: AbortController;
}

const accountsPrefix = storagePrefix({ group: "", plural: "serviceaccounts" });

/**
 * A lifetime that ends when the ServiceAccount of a user is deleted or replaced; undefined for other users. Otherwise long requests such
 * as watches would outlast the token of their request.
 */
export function serviceAccountLifetimes(cache: WatchCache): (user: UserInfo) => AbortSignal | undefined {
  const lifetimes = new Map<string, Life>();
  cache.observe(accountsPrefix, ({ type, entry }) => {
    const life = lifetimes.get(entry.key);
    if (life === undefined || (type !== "DELETED" && objectOf(entry).metadata.uid === life.uid)) return;
    lifetimes.delete(entry.key);
    life.end.abort();
  });
  return ({ username, uid = "" }) => {
    const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username) ?? [];
    // An impersonated account has no uid and no token.
    if (namespace === undefined || name === undefined || uid === "") return undefined;
    const key = `${accountsPrefix}${namespace}/${name}`;
    const entry = cache.get(key);
    if (entry === undefined || objectOf(entry).metadata.uid !== uid) return AbortSignal.abort();
    const known = lifetimes.get(key);
    if (known !== undefined) return known.end.signal;
    const end = new AbortController();
    // One for each watch.
    setMaxListeners(0, end.signal);
    lifetimes.set(key, { uid, end });
    return end.signal;
  };
}
