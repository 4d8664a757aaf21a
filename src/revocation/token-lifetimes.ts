import { setMaxListeners } from "node:events";
import { storagePrefix } from "../apis/resource.ts";
import type { Credential } from "../apis/revocation-index.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { objectOf } from "../registry/entry.ts";

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

interface Life {
  readonly uid: string;
  readonly end: AbortController;
}

const accountsPrefix = storagePrefix({ group: "", plural: "serviceaccounts" });

/**
 * What ends when the ServiceAccount that a user was authenticated as is deleted, or has become another one of its name; undefined for
 * everybody else. What is answered for long, such as a watch, would otherwise outlive the token that it was asked with.
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
    // An impersonated account has no uid, and stands on no token.
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
