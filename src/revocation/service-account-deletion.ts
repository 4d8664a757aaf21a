import { setMaxListeners } from "node:events";
import type { UserInfo } from "../apimachinery/user.ts";
import { objectOf } from "../registry/entry.ts";
import { storagePrefix } from "../apis/resource.ts";
import type { WatchCache } from "../storage/watch-cache.ts";

interface Life {
  readonly uid: string;
  readonly end: AbortController;
}

const prefix = storagePrefix({ group: "", plural: "serviceaccounts" });

/**
 * What ends when the ServiceAccount that a user was authenticated as is deleted, or has become another one of its name; undefined for
 * everybody else. What is answered for long, such as a watch, would otherwise outlive the token that it was asked with.
 */
export function serviceAccountLifetimes(cache: WatchCache): (user: UserInfo) => AbortSignal | undefined {
  const lifetimes = new Map<string, Life>();
  cache.observe(prefix, ({ type, entry }) => {
    const life = lifetimes.get(entry.key);
    if (life === undefined || (type !== "DELETED" && objectOf(entry).metadata.uid === life.uid)) return;
    lifetimes.delete(entry.key);
    life.end.abort();
  });
  return ({ username, uid = "" }) => {
    const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username) ?? [];
    // An impersonated account has no uid, and stands on no token.
    if (namespace === undefined || name === undefined || uid === "") return undefined;
    const key = `${prefix}${namespace}/${name}`;
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
