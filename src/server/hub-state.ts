import { createHash } from "node:crypto";
import { join } from "node:path";
import type { RecordWrite } from "../registry/in-process-call.ts";
import type { ManagedClusters } from "./admission/managed-clusters.ts";
import type { Clock, RandomBytes } from "../apimachinery/clock.ts";
import { logEntry } from "../apimachinery/log-entry.ts";
import { defaultQuotaBytes, memoryLimits, openLmdb } from "../storage/lmdb.ts";
import type { Store } from "../storage/store.ts";
import { type WatchCache, openWatchCache } from "../storage/watch-cache.ts";
import { type Authorities, openAuthorities, pinsOf } from "../ca/ca-folder.ts";
import { type CredentialUseLog, credentialUseLog } from "../revocation/credential-use.ts";
import { type HubIdentity, beginHub, identifyHub, knownHub } from "./hub-identity.ts";
import type { HubOptions } from "./hub-options.ts";
import { type Revocations, revocations } from "../revocation/revocations.ts";
import { checkFolders, checkSecretPermissions } from "./secret-permissions.ts";
import { type ServiceAccountIssuer, openServiceAccountIssuer, ownKeyId } from "../ca/service-account-issuer.ts";
import { systemClock } from "../host/system-clock.ts";

/** Close functions of what has been opened so far, to be called in reverse order. */
export type Closer = () => Promise<void>;

/** The state on disk and its caches in memory. */
export interface HubState {
  readonly store: Store;
  readonly cache: WatchCache;
  readonly authorities: () => Authorities;
  /** Replaces them. */
  readonly take: (next: Authorities) => void;
  readonly issuer: ServiceAccountIssuer;
  readonly revoked: Revocations;
  readonly credentialUse: CredentialUseLog;
  readonly hub: HubIdentity;
}

/** The inputs for the parts of a start. */
export interface HubBase extends HubState {
  readonly clock: Clock;
  readonly closers: Closer[];
  /** Undefined without managed clusters. */
  readonly clusters: ManagedClusters | undefined;
  /** Whether the initial objects of a hub exist. */
  readonly isBootstrapped: () => boolean;
  /** Records the writes of clients inside the hub; undefined before the audit log is open. */
  readonly recordWrite: () => RecordWrite | undefined;
}

/** Opens the store, the CAs and the token keys concurrently; each is in `closers` as soon as it is open. @throws StorageError, HubError */
export async function openHubState(
  options: HubOptions,
  closers: Closer[],
  at: { readonly dir: string; readonly now: number; readonly random: RandomBytes },
): Promise<HubState> {
  const { dataDir, clusterSigningCertFile: certFile, clusterSigningKeyFile: keyFile, log } = options;
  const clock = options.clock ?? systemClock;
  const quotaBytes = options.quotaBackendBytes || defaultQuotaBytes(memoryLimits());
  const halves = { dataDir, pkiDir: at.dir, storeDir: join(dataDir, "store"), caFile: certFile };
  await checkFolders(options, at.dir);
  await checkSecretPermissions(options, at.dir);
  const known = await knownHub(halves);
  // Before anything is created: the lock of the store prevents a second hub from creating the same.
  const begun = known === undefined ? await openStore(halves.storeDir, quotaBytes, closers) : undefined;
  const record = begun === undefined ? known?.record : await beginHub(halves, begun, clock);
  const isNew = record?.phase === "new";
  // The store and the keys do not wait for each other.
  const opening = [
    begun === undefined ? openStore(halves.storeDir, quotaBytes, closers) : Promise.resolve(begun),
    openAuthorities({ ...at, certFile, keyFile, mayCreate: isNew }),
    openServiceAccountIssuer(options, at.dir, isNew),
  ] as const;
  // A failure must not leave a store that opens later and that nothing closes.
  await Promise.allSettled(opening);
  const [store, found, issuer] = await Promise.all(opening);
  const isGiven = options.serviceAccountSigningKeyFile !== undefined;
  const tokenKeys = { own: await ownKeyId(at.dir), signing: issuer.keys[0]?.kid, isGiven };
  const hub = await identifyHub(halves, record, {
    store,
    clock,
    log,
    tokenKeys,
    revocationsFile: options.revocationsFile,
  });
  closers.push(() => hub.note());
  if (isNew) log(logEntry("HubCreated", "new hub", { dataDir, caPin: found.signer.pin }));
  const cache = await openWatchCache({ store, prefix: "/registry/" });
  closers.push(() => cache.close());
  const revoked = revocations(cache, clock, log);
  let current = found;
  const take = (next: Authorities): void => {
    const gone = current.trusted.filter(({ pin }) => !pinsOf(next).includes(pin));
    current = next;
    for (const { rawSubject } of gone) revoked.revokeIssuer(createHash("sha256").update(rawSubject).digest("hex"));
  };
  return {
    store,
    cache,
    authorities: () => current,
    take,
    issuer,
    revoked,
    credentialUse: credentialUseLog(clock),
    hub,
  };
}

async function openStore(dir: string, quotaBytes: number, closers: Closer[]): Promise<Store> {
  const store = await openLmdb({ dir, quotaBytes });
  closers.push(() => store.close());
  return store;
}
