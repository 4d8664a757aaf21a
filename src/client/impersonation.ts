import type { OutgoingHttpHeaders } from "node:http";

/** As whom a client asks to act; the server decides whether it may. */
export interface Impersonation {
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
}

/** The headers of a request that is to be done as somebody else. @see client-go transport/round_trippers.go */
export function impersonationHeaders({ user, uid, groups, extra }: Impersonation): OutgoingHttpHeaders {
  return {
    "impersonate-user": user,
    ...(uid === undefined ? {} : { "impersonate-uid": uid }),
    ...(groups.length === 0 ? {} : { "impersonate-group": [...groups] }),
    ...Object.fromEntries([...extra].map(([key, values]) => [`impersonate-extra-${escapedKey(key)}`, [...values]])),
  };
}

/** Bytes that no header name may hold are written as in URLs. */
function escapedKey(key: string): string {
  return [...Buffer.from(key.toLowerCase(), "utf8")]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[!#$&'*+\-.^_`|~0-9a-z]/.test(character)
        ? character
        : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    })
    .join("");
}
