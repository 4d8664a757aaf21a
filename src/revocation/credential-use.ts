import type { CredentialUse } from "../controllers/credentials/issued-credentials.ts";
import type { TokenOrder } from "../authentication/service-account-claims.ts";
import { type Clock, rfc3339 } from "../apimachinery/clock.ts";
import { type Credential, credentialOf } from "../apis/revocation-index.ts";
import type { AccessRecoveryView } from "../controllers/access/access-recovery.ts";
import {
  recordName,
  findCredentialStatus,
  type FoundCredentialStatus,
} from "../controllers/credentials/credential-record.ts";
import { nodeReturningAs } from "../apimachinery/expired-credential.ts";
import { nodeNameOf, serviceAccountUser, type UserInfo } from "../apimachinery/user.ts";
import { objectOf } from "../registry/entry.ts";
import { issuedCredentials, type CredentialIssue, type IssuedCredential } from "../apis/issued-credential.ts";
import { storagePrefix } from "../apis/resource.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import type { Revocations } from "./revocations.ts";

/** Keeps which users were seen, and which tokens were issued, until the records are written. */
export interface CredentialUseLog extends CredentialUse {
  readonly recordUse: (credential: Pick<Credential, "username" | "ids">) => void;
  readonly recordToken: (
    username: string,
    order: Pick<TokenOrder, "id" | "issuedAt" | "expiresAt">,
    by: string,
  ) => void;
}

/** More identities than a hub serves; beyond, the ones seen first are dropped first. */
const maxUsers = 65_536;

/** An empty memory. A note costs one map lookup and one map write, as it is on the path of every request. */
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

/** The credential status of a requester; `record` is that of its node. */
export interface RequesterCredential extends FoundCredentialStatus {
  readonly record: IssuedCredential | undefined;
}

/** The state of the access of a machine's account: when its last token expires, and whether it is revoked. */
export function accessRequestLifetimes({
  cache,
  use,
  revocations,
}: {
  readonly cache: WatchCache;
  readonly use: Pick<CredentialUse, "lastToken">;
  readonly revocations: Pick<Revocations, "find">;
}): AccessRecoveryView["lifeOf"] {
  return ({ namespace, serviceAccount }) => {
    const { username } = serviceAccountUser(namespace, serviceAccount);
    const entry = cache.get(storagePrefix(issuedCredentials) + recordName({ username, purpose: "Access" }));
    const { issued = [] } = entry === undefined ? {} : ((objectOf(entry) as IssuedCredential).status ?? {});
    const ends = [...issued, use.lastToken(username) ?? {}].flatMap(({ notAfter = "" }) => {
      const end = Date.parse(notAfter);
      return Number.isNaN(end) ? [] : [end];
    });
    const isRevoked = revocations.find({ username, ids: [] }) !== undefined;
    return { isRevoked, ends: ends.length === 0 ? undefined : Math.max(...ends) };
  };
}

export interface CredentialGenerationsOptions {
  readonly cache: WatchCache;
  readonly use: Pick<CredentialUse, "firstUsed">;
  readonly revocations: Pick<Revocations, "find">;
}

/** A kubelet checks every ten seconds whether to move its connections to a new certificate, and may send requests with an old one meanwhile. */
const handoverMs = 60_000;

/**
 * The status of the client certificate of a node that requests its next one, also after expiry, among those issued to the node, at the
 * time of the request. Undefined for requesters that are no node: theirs is no renewal.
 */
export function credentialGenerations({
  cache,
  use,
  revocations,
}: CredentialGenerationsOptions): (
  requester: UserInfo,
  key: string,
  askedAt: number,
) => RequesterCredential | undefined {
  const prefix = storagePrefix(issuedCredentials);
  const usedSince = ({ firstUsed = "", credentialID = "" }: CredentialIssue): number => {
    const since = use.firstUsed(credentialID) ?? Date.parse(firstUsed);
    return Number.isNaN(since) ? Infinity : since;
  };
  const isRevoked = ({ credentialID, serialNumber, issuer }: CredentialIssue): boolean =>
    revocations.find({
      username: "",
      ids: credentialID === undefined ? [] : [credentialID],
      ...(serialNumber === undefined ? {} : { serialNumber }),
      ...(issuer === undefined ? {} : { issuer }),
    }) !== undefined;
  return (requester, key, askedAt) => {
    const node = nodeReturningAs(requester) ?? (nodeNameOf(requester) === undefined ? undefined : requester.username);
    if (node === undefined) return undefined;
    const entry = cache.get(prefix + recordName({ username: node, purpose: "Client" }));
    const found = entry === undefined ? undefined : (objectOf(entry) as IssuedCredential);
    // A record is named after its identity if that is a valid name, else after its digest.
    const record = found?.spec.identity.username === node ? found : undefined;
    const { ids } = credentialOf(requester);
    const isUsed = (issue: CredentialIssue): boolean => usedSince(issue) + handoverMs < askedAt;
    return { record, ...findCredentialStatus({ record, ids, key, isUsed, isRevoked }) };
  };
}
