import type { Sender } from "../authentication/authenticated.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { nodeReturningAs } from "../apimachinery/expired-credential.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { objectOf } from "../registry/entry.ts";
import { credentialRevocations, type RevocationTarget } from "../apis/credential-revocation.ts";
import { issuedCredentials, type CredentialIssue, type IssuedCredential } from "../apis/issued-credential.ts";
import { storagePrefix } from "../apis/resource.ts";
import { credentialOf, revocationIndex, type Credential, type FoundRevocation } from "../apis/revocation-index.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";

/** A long-running request that a credential started; `signal` aborts when the credential is revoked. */
export interface Followed {
  readonly signal: AbortSignal;
  /** Call it once when the request ends. */
  readonly release: () => void;
}

/** The revocations in force at this moment. */
export interface Revocations {
  readonly find: (credential: Credential) => FoundRevocation | undefined;
  /** As `find`, for the requester of an earlier request; the serial number comes from the IssuedCredential, if there is one. */
  readonly findUser: (user: UserInfo) => FoundRevocation | undefined;
  /** The certificate that is revoked by its fingerprint; undefined without an IssuedCredential. */
  readonly certificateOf: (
    target: Pick<RevocationTarget, "fingerprint" | "credentialID">,
  ) => CredentialIssue | undefined;
  readonly follow: (credential: Credential) => Followed;
  /** Whether the credential or its CA has been revoked since it was authenticated. */
  readonly isOver: (credential: Credential) => boolean;
  /** Aborts what certificates of a revoked CA started; `issuer` is the SHA-256 of the DER of its name in lower-case hexadecimal. */
  readonly revokeIssuer: (issuer: string) => void;
  /** Counts a rejected request, and logs it, at most once a minute for each revocation. */
  readonly refused: (found: FoundRevocation, by: Sender) => void;
  readonly refusals: () => number;
  readonly size: () => number;
  /** Which users deleted revocations. */
  readonly removals: RemovalLog;
}

const logEveryMs = 60_000;
const maxUserAgent = 256;

/**
 * Follows the revocations in the watch cache, which is filled before the hub serves: a revocation is in force before its write is
 * acknowledged, and aborts at once what the revoked credential started.
 */
export function revocations(cache: WatchCache, clock: Pick<Clock, "now">, log: (entry: LogEntry) => void): Revocations {
  const prefix = storagePrefix(credentialRevocations);
  const index = revocationIndex();
  const followed = new Map<AbortController, Credential>();
  const issues = issuesById(cache);
  const loggedAt = new Map<string, number>();
  const revokedIssuers = new Set<string>();
  let refusals = 0;
  const find = (credential: Credential): FoundRevocation | undefined =>
    index.size() === 0 ? undefined : index.find(credential, clock.now());
  cache.observe(prefix, ({ type, entry }) => {
    if (type === "DELETED") {
      const name = entry.key.slice(prefix.length);
      index.remove(name);
      loggedAt.delete(name);
      return;
    }
    index.put(objectOf(entry));
    for (const [end, credential] of followed) if (find(credential) !== undefined) end.abort();
  });
  const isOver = (credential: Credential): boolean =>
    (credential.issuer !== undefined && revokedIssuers.has(credential.issuer)) || find(credential) !== undefined;
  return {
    find,
    removals: removalLog(),
    findUser: (user) => (index.size() === 0 ? undefined : findUser(user, find, issues)),
    size: index.size,
    refusals: () => refusals,
    refused: ({ name, what }, { user, address, userAgent }) => {
      refusals += 1;
      const now = clock.now();
      if (Math.abs(now - (loggedAt.get(name) ?? -logEveryMs)) < logEveryMs) return;
      loggedAt.set(name, now);
      log(
        logEntry("RevokedCredentialUsed", "a client used a revoked credential", {
          revocation: name,
          revoked: what,
          user,
          ...(address === undefined ? {} : { address }),
          ...(userAgent === undefined ? {} : { userAgent: userAgent.slice(0, maxUserAgent) }),
        }),
      );
    },
    certificateOf: ({ fingerprint, credentialID }) =>
      issues(fingerprint === undefined ? (credentialID ?? "") : `X509SHA256=${fingerprint}`),
    isOver,
    revokeIssuer: (issuer) => {
      revokedIssuers.add(issuer);
      for (const [end, credential] of followed) if (credential.issuer === issuer) end.abort();
    },
    follow: (credential) => {
      const end = new AbortController();
      if (isOver(credential)) end.abort();
      followed.set(end, credential);
      return { signal: end.signal, release: () => void followed.delete(end) };
    },
  };
}

function findUser(
  user: UserInfo,
  find: Revocations["find"],
  issues: ReturnType<typeof issuesById>,
): FoundRevocation | undefined {
  const own = credentialOf(user);
  // A client with an expired certificate of a node is revoked with that node.
  const credential = { ...own, username: nodeReturningAs(user) ?? own.username };
  const found = find(credential);
  if (found !== undefined) return found;
  for (const id of credential.ids) {
    const { serialNumber, issuer } = issues(id) ?? {};
    if (serialNumber === undefined || issuer === undefined) continue;
    const numbered = find({ ...credential, serialNumber, issuer });
    if (numbered !== undefined) return numbered;
  }
  return undefined;
}

/** Issued certificates by credential id. */
function issuesById(cache: WatchCache): (id: string) => CredentialIssue | undefined {
  const byRecord = new Map<string, readonly CredentialIssue[]>();
  const byId = new Map<string, CredentialIssue>();
  cache.observe(storagePrefix(issuedCredentials), ({ type, entry }) => {
    for (const { credentialID = "" } of byRecord.get(entry.key) ?? []) byId.delete(credentialID);
    byRecord.delete(entry.key);
    if (type === "DELETED") return;
    const { issued = [] } = (objectOf(entry) as IssuedCredential).status ?? {};
    const certificates = issued.filter(({ serialNumber }) => serialNumber !== undefined);
    byRecord.set(entry.key, certificates);
    for (const issue of certificates) byId.set(issue.credentialID ?? "", issue);
  });
  return (id) => byId.get(id);
}

/** The user who deleted an object, as authenticated at admission; by uid of the object. */
export interface RemovalLog {
  readonly note: (uid: string, username: string) => void;
  readonly userOf: (uid: string) => string | undefined;
}

const maxNoted = 1024;

/** An empty log of at most 1024 deletions; the oldest is dropped. */
function removalLog(): RemovalLog {
  const users = new Map<string, string>();
  return {
    note: (uid, username) => {
      users.delete(uid);
      users.set(uid, username);
      const [oldest] = users.keys();
      if (users.size > maxNoted && oldest !== undefined) users.delete(oldest);
    },
    userOf: (uid) => users.get(uid),
  };
}
