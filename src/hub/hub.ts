import { createHash, randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { join } from "node:path";
import type { Client } from "../client/client.ts";
import type { ServingApproval } from "../controllers/certificates/serving-approving.ts";
import type { Clock } from "../core/clock.ts";
import { mastersGroup, type UserInfo } from "../core/user.ts";
import { loadTrustRoots, type TrustRoot } from "../pki/verify-chain.ts";
import type { Backend } from "../registry/backend.ts";
import { entryVersions } from "../registry/entry-versions.ts";
import { registry, type Registry } from "../registry/registry.ts";
import { builtinResources } from "../resources/builtin.ts";
import { conversionByWebhook } from "../resources/custom/conversion-review.ts";
import { openLmdb } from "../storage/lmdb.ts";
import { StorageError, type Store } from "../storage/store.ts";
import { openWatchCache, type WatchCache } from "../storage/watch-cache.ts";
import { defaultAccessRequestLimits } from "./access-requests.ts";
import { ownNames } from "./addresses.ts";
import { adminKubeconfig } from "./admin-kubeconfig.ts";
import { hubAdmission } from "./admission.ts";
import { authentication, type Authentication } from "./authentication.ts";
import { openAuthorization, type Authorization } from "./authorization.ts";
import { openAuthorities, pinsOf, type Authorities } from "./authority-folder.ts";
import { followAuthorities } from "./authority-follow.ts";
import { accessLives, credentialGenerations } from "./credential-generations.ts";
import { credentialUseLog, type CredentialUseLog } from "./credential-use.ts";
import { customResources, type CustomResources } from "./custom-resources.ts";
import { compactionLoop } from "./compaction-loop.ts";
import { control } from "./control.ts";
import { errorText } from "./error-text.ts";
import { systemRandom } from "./hub-controllers.ts";
import { HubError } from "./hub-error.ts";
import type { HubOptions } from "./hub-options.ts";
import { inProcessClient } from "./in-process-client.ts";
import { putInitialObjects } from "./initial-objects.ts";
import { privateFolder, replaceFile } from "../agent/private-files.ts";
import type { ManagedClusters } from "./managed-clusters.ts";
import type { OutsideIdentity, OutsideIdentityOptions } from "./outside-identity.ts";
import { revocations, type Revocations } from "./revocations.ts";
import { reviews } from "./reviews.ts";
import { openServiceAccountIssuer, type ServiceAccountIssuer } from "./service-account-issuer.ts";
import { serve } from "./serving.ts";
import { systemClock } from "./system-clock.ts";
import { webhookCaller } from "./webhook-caller.ts";
import { tokenObjects, tokenRequests } from "./token-requests.ts";

/** A running hub. */
export interface Hub {
  readonly url: string;
  /** `sha256:<hex>` of the CA's public key. */
  readonly caPin: string;
  /** Path of a kubeconfig with every right, readable by its owner only. */
  readonly adminKubeconfig: string;
  /** Which store, and where it lies. */
  readonly store: string;
  /** Milliseconds from the call to being ready. */
  readonly readyMs: number;
  /** Resolves after `close`; rejects when the hub can go on no longer. */
  readonly stopped: Promise<void>;
  /** Lets requests finish, ends watches, closes the store. */
  close(): Promise<void>;
}

/** What has been opened so far, to be closed in reverse order. */
type Closer = () => Promise<void>;

/** Opens the store, makes or loads the CA, serves, and runs the controllers. @throws HubError with one sentence for the operator. */
export async function startHub(options: HubOptions): Promise<Hub> {
  const closers: Closer[] = [];
  const close = closeOnce(closers);
  try {
    return await start(options, closers, close);
  } catch (error) {
    await close();
    throw startError(error, options);
  }
}

async function start(options: HubOptions, closers: Closer[], close: Closer): Promise<Hub> {
  const begun = performance.now();
  const clock = options.clock ?? systemClock;
  const shutdown = new AbortController();
  // Every open watch listens to it, and there may be thousands.
  setMaxListeners(0, shutdown.signal);
  const servingApproval = await servingApprovalOf(options);
  const clusters = await clustersOf(options);
  await privateFolder(options.dataDir);
  const pkiDir = join(options.dataDir, "pki");
  const at = { dir: pkiDir, now: clock.now(), random: systemRandom };
  let furnished = false;
  const base = { ...(await openBase(options, closers, at)), clock, closers, clusters, isFurnished: () => furnished };
  const { store, cache, authorities, issuer, revoked, credentialUse } = base;
  const parts = await decisions(options, base);
  const { verbs, access, identity, clientOf, custom } = parts;
  const loopback = clientOf({ username: "system:apiserver", groups: [mastersGroup] });
  await putInitialObjects({ client: loopback, nodeAutoapprove: options.nodeAutoapprove });
  await clusters?.furnish(loopback, clock);
  furnished = true;

  let ready = false;
  const api = await serve(options, {
    verbs,
    access,
    identity,
    revoked,
    authorities,
    issuer,
    cache,
    store,
    clock,
    shutdown: shutdown.signal,
    isReady: () => ready,
    at,
  });
  closers.push(api.close);
  const running = control(options, {
    verbs,
    clientOf,
    clock,
    authorities,
    issuer,
    revoked,
    credentialUse,
    lifeOf: accessLives({ cache, use: credentialUse, revocations: revoked }),
    standingOf: credentialGenerations({ cache, use: credentialUse, revocations: revoked }),
    url: api.url,
    metrics: api.metrics,
    servingApproval,
    clusters,
    signal: shutdown.signal,
  });
  custom.onChange(running.refresh);
  closers.push(() => running.stopped);
  const kubeconfig = join(options.dataDir, "admin.kubeconfig");
  const writeKubeconfig = (): Promise<void> =>
    replaceFile(kubeconfig, adminKubeconfig(authorities(), api.url, { ...at, now: clock.now() }));
  upkeep(options, {
    ...base,
    dir: pkiDir,
    shutdown,
    changed: async (next) => {
      base.take(next);
      await api.renew();
      await running.restart();
      await writeKubeconfig();
    },
  });
  await writeKubeconfig();
  await running.ready;
  ready = true;
  return {
    url: api.url,
    caPin: authorities().signer.pin,
    adminKubeconfig: kubeconfig,
    store: `lmdb, ${join(options.dataDir, "store")}`,
    readyMs: performance.now() - begun,
    stopped: stopped(cache, shutdown.signal, close),
    close,
  };
}

/** What is kept on disk, and what is held of it in memory. */
interface Base {
  readonly store: Store;
  readonly cache: WatchCache;
  readonly authorities: () => Authorities;
  /** Puts others in their place. */
  readonly take: (next: Authorities) => void;
  readonly issuer: ServiceAccountIssuer;
  readonly revoked: Revocations;
  readonly credentialUse: CredentialUseLog;
}

async function openBase(
  options: HubOptions,
  closers: Closer[],
  at: { readonly dir: string; readonly now: number; readonly random: typeof systemRandom },
): Promise<Base> {
  // The store and the keys do not wait for each other.
  const [store, found, issuer] = await Promise.all([
    openStore(join(options.dataDir, "store"), closers),
    openAuthorities({ ...at, certFile: options.clusterSigningCertFile, keyFile: options.clusterSigningKeyFile }),
    openServiceAccountIssuer(options, at.dir),
  ]);
  const cache = await openWatchCache({ store, prefix: "/registry/" });
  closers.push(() => cache.close());
  const revoked = revocations(cache, options.clock ?? systemClock, options.log);
  let current = found;
  const take = (next: Authorities): void => {
    const gone = current.trusted.filter(({ pin }) => !pinsOf(next).includes(pin));
    current = next;
    for (const { rawSubject } of gone) revoked.retire(createHash("sha256").update(rawSubject).digest("hex"));
  };
  return {
    store,
    cache,
    authorities: () => current,
    take,
    issuer,
    revoked,
    credentialUse: credentialUseLog(options.clock ?? systemClock),
  };
}

/** What goes on beside the requests until the hub stops: compaction, and the CAs as their folder has them. */
function upkeep(
  options: HubOptions,
  parts: {
    readonly store: Store;
    readonly clock: Clock;
    readonly closers: Closer[];
    readonly authorities: () => Authorities;
    readonly dir: string;
    readonly shutdown: AbortController;
    readonly changed: (next: Authorities) => Promise<void>;
  },
): void {
  const { store, clock, closers, shutdown, dir, authorities, changed } = parts;
  const { signal } = shutdown;
  const compacting = compactionLoop({
    store,
    clock,
    signal,
    failed: (error) => options.log({ level: "error", message: "compaction failed", error: errorText(error) }),
  });
  // The CA of --cluster-signing-cert-file is the operator's to change: whatever lies in the folder is of another time.
  const following =
    options.clusterSigningCertFile === undefined
      ? followAuthorities({ dir, current: authorities(), clock, signal, changed, log: options.log })
      : Promise.resolve();
  closers.push(
    () => compacting,
    () => following,
    async () => shutdown.abort(),
  );
}

/** Who may do what, and the verbs that are done under those rules. */
interface Decisions {
  readonly access: Authorization;
  readonly identity: Authentication;
  readonly verbs: Registry;
  readonly clientOf: (user: UserInfo) => Client;
  readonly custom: CustomResources;
}

/** Who is whom, and whose credentials count no longer. */
async function identification(
  options: HubOptions,
  base: Base & { readonly clock: Clock; readonly closers: Closer[] },
  access: Authorization,
): Promise<Authentication> {
  const { cache, authorities, issuer, clock, revoked, credentialUse } = base;
  const { audiences, issuers } = issuer;
  const outside = await openOutsideIdentity({ hub: options, clock, audiences, issuers });
  base.closers.push(async () => outside.close());
  return authentication({
    roots: rootsOf(authorities),
    cache,
    now: () => clock.now(),
    tokenAuthFile: options.tokenAuthFile,
    issuer,
    outside,
    anonymousAuth: options.anonymousAuth && !access.uses("AlwaysAllow"),
    revocations: revoked,
    saw: credentialUse.saw,
    warn: (message) => options.log({ level: "warn", message }),
  });
}

async function decisions(
  options: HubOptions,
  base: Base & {
    readonly clock: Clock;
    readonly closers: Closer[];
    readonly clusters: ManagedClusters | undefined;
    /** Whether the objects are there that a hub begins with. */
    readonly isFurnished: () => boolean;
  },
): Promise<Decisions> {
  const { store, cache, authorities, issuer, clock } = base;
  const access = await openAuthorization(options, { cache, clock });
  base.closers.push(async () => access.close());
  const identity = await identification(options, base, access);
  const webhooks = webhookCaller();
  base.closers.push(async () => webhooks.close());
  const versions = entryVersions();
  const backend: Backend = {
    store,
    cache,
    admission: hubAdmission({
      access,
      cache,
      clock,
      versions,
      plugins: { enable: options.enableAdmissionPlugins ?? [], disable: options.disableAdmissionPlugins ?? [] },
      resources: () => verbs.resources(),
      call: webhooks.call,
      uuid: randomUUID,
      log: options.log,
      caPins: () => pinsOf(authorities()),
      accessRequests: options.accessRequests ?? defaultAccessRequestLimits,
      revocations: base.revoked.size,
      clusters: base.clusters,
      inForce: base.isFurnished,
    }),
    versions,
    uuid: randomUUID,
    random: systemRandom,
  };
  const custom = customResources({
    cache,
    builtin: [...builtinResources, ...(base.clusters?.resources ?? [])],
    converter: (crd) =>
      crd.spec.conversion?.strategy === "Webhook"
        ? conversionByWebhook(crd, { call: webhooks.call, uuid: randomUUID })
        : base.clusters?.conversionOf(crd.metadata.name ?? ""),
    failed: (name, error) =>
      options.log({ level: "error", message: "a custom kind cannot be served", name, error: errorText(error) }),
  });
  const verbs = registry({
    backend,
    resources: custom.resources,
    lifeOf: custom.lifeOf,
    reviews: {
      ...reviews({
        chain: access.chain,
        rules: access.rules,
        authenticate: identity.credentials,
        explaining: { index: access.index, uses: access.uses, resources: custom.resources },
      }),
      ...base.clusters?.answers((resource, request) => verbs.create(resource, request)),
    },
    created: {
      "serviceaccounts/token": tokenRequests({
        issuer,
        lookup: tokenObjects(cache),
        uuid: randomUUID,
        gave: base.credentialUse.gave,
      }),
    },
  });
  const clientOf = (user: UserInfo): Client => {
    access.enlist(user);
    return inProcessClient({ registry: verbs, authorizer: access.inside, clock, user });
  };
  return { access, identity, verbs, clientOf, custom };
}

/** The same list for the same CAs, as whoever asks remembers what it has verified with them. */
function rootsOf(authorities: () => Authorities): () => readonly TrustRoot[] {
  let known: { readonly of: Authorities; readonly roots: readonly TrustRoot[] } | undefined;
  return () => {
    const of = authorities();
    if (known?.of !== of) known = { of, roots: loadTrustRoots(of.bundlePem) };
    return known.roots;
  };
}

/** Loaded only where it is asked for: most hubs believe nobody else, and start sooner. */
async function openOutsideIdentity(options: OutsideIdentityOptions): Promise<OutsideIdentity> {
  const { authenticationConfigFile, oidc, tokenWebhook } = options.hub;
  if (authenticationConfigFile === undefined && oidc === undefined && tokenWebhook === undefined) {
    return { members: [], anonymous: undefined, close: () => undefined };
  }
  const { outsideIdentity } = await import("./outside-identity.ts");
  return outsideIdentity(options);
}

/** Read before anything is opened, so that a wrong file leaves nothing behind. */
async function servingApprovalOf(options: HubOptions): Promise<ServingApproval | undefined> {
  const { servingApproval } = options;
  if (servingApproval === undefined || servingApproval.providers.length === 0) return undefined;
  const { readServingApproval } = await import("./serving-approval.ts");
  return readServingApproval(servingApproval, ownNames(options));
}

/** Loaded only where clusters join. */
async function clustersOf({ managedClusters }: HubOptions): Promise<ManagedClusters | undefined> {
  if (managedClusters === undefined) return undefined;
  const { openManagedClusters } = await import("./managed-clusters.ts");
  return openManagedClusters(managedClusters.configFile);
}

async function openStore(dir: string, closers: Closer[]): Promise<Store> {
  const store = await openLmdb({ dir });
  closers.push(() => store.close());
  return store;
}

async function stopped(cache: WatchCache, shutdown: AbortSignal, close: Closer): Promise<void> {
  await cache.ended;
  if (!shutdown.aborted) throw new HubError("data-dir", "the store ended its feed of changes; the hub cannot go on");
  await close();
}

function closeOnce(closers: Closer[]): Closer {
  let closing: Promise<void> | undefined;
  return () => (closing ??= closeAll(closers));
}

async function closeAll(closers: Closer[]): Promise<void> {
  for (let next = closers.pop(); next !== undefined; next = closers.pop()) await next();
}

/** The error to tell the operator; a locked or damaged data directory and a taken port each have their sentence. */
function startError(error: unknown, options: HubOptions): unknown {
  if (error instanceof StorageError) return new HubError("data-dir", error.message, { cause: error });
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE") {
    return new HubError(
      "port",
      `${options.bindAddress}:${options.securePort} is in use; choose another --secure-port, or 0 for a free one`,
      { cause: error },
    );
  }
  if (code === "EACCES" || code === "EADDRNOTAVAIL") {
    return new HubError("port", `${options.bindAddress}:${options.securePort} cannot be used: ${errorText(error)}`, {
      cause: error,
    });
  }
  return error;
}
