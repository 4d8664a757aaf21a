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

/** Something long that was begun with a credential; `signal` aborts when that is revoked. */
export interface Followed {
  readonly signal: AbortSignal;
  /** To be called once at its end. */
  readonly release: () => void;
}

/** What is revoked here, at this moment. */
export interface Revocations {
  readonly find: (credential: Credential) => FoundRevocation | undefined;
  /** As `find`, of somebody who asked earlier; a certificate's serial number is known where its record is. */
  readonly findUser: (user: UserInfo) => FoundRevocation | undefined;
  /** The certificate that is revoked by its fingerprint, where its record is. */
  readonly certificateOf: (
    target: Pick<RevocationTarget, "fingerprint" | "credentialID">,
  ) => CredentialIssue | undefined;
  readonly follow: (credential: Credential) => Followed;
  /** Whether a credential that was valid is so no longer: it was revoked, or its CA was. */
  readonly isOver: (credential: Credential) => boolean;
  /** Ends what was begun with certificates of a CA that was revoked, by the SHA-256 of its name's DER in lower-case hexadecimal. */
  readonly revokeIssuer: (issuer: string) => void;
  /** Counts a request that was refused, and says so in the log, at most once a minute for each revocation. */
  readonly refused: (found: FoundRevocation, by: Sender) => void;
  readonly refusals: () => number;
  readonly size: () => number;
  /** Who deleted revocations, which keep no trace of it themselves. */
  readonly removals: RemovalLog;
}

const logEveryMs = 60_000;
const maxUserAgent = 256;

/**
 * Follows the revocations in the watch cache, which is complete before anything is served: a revocation counts before its write is
 * acknowledged. What was begun with a credential that is revoked ends in the same moment.
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
    findUser: (user) => {
      if (index.size() === 0) return undefined;
      const own = credentialOf(user);
      // Whoever comes back as a node is revoked with it.
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
    },
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

/** What was given out, by the id of the credential. */
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

/** Who deleted an object that keeps no trace of it, as authenticated at admission; by uid. */
export interface RemovalLog {
  readonly note: (uid: string, username: string) => void;
  readonly userOf: (uid: string) => string | undefined;
}

const maxNoted = 1024;

/** Nothing is noted yet; of more than a thousand the one that was noted least lately is forgotten. */
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
