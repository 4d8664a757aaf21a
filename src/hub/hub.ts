import { builtinResources } from "../resources/builtin.ts";
import { managedClusters } from "../resources/managed-cluster.ts";
import { storagePrefix } from "../resources/resource.ts";
import { setMaxListeners } from "node:events";
import { join } from "node:path";
import { loadTrustRoots } from "../pki/verify-chain.ts";
import type { ServingApproval } from "../controllers/certificates/serving-approving.ts";
import type { Client } from "../client/client.ts";
import type { Clock } from "../core/clock.ts";
import { logEntry } from "../core/log-entry.ts";
import type { Store } from "../storage/store.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import { mastersGroup } from "../core/user.ts";
import { ownNames } from "./addresses.ts";
import { adminKubeconfigFile, type AdminKubeconfig } from "./admin-kubeconfig.ts";
import type { Authorities } from "./authority-folder.ts";
import { followAuthorities } from "./authority-follow.ts";
import { accessLives, credentialGenerations } from "./credential-generations.ts";
import { checkOptions } from "./check-options.ts";
import { compactionLoop } from "./compaction-loop.ts";
import { control } from "./control.ts";
import { openDecisions } from "./decisions.ts";
import { putExtensionAuthentication } from "./extension-authentication.ts";
import { fullDiskError } from "./full-disk.ts";
import { HubError } from "./hub-error.ts";
import { putKubernetesService } from "./kubernetes-service.ts";
import type { HubOptions } from "./hub-options.ts";
import { openHubState, type Closer, type HubState } from "./hub-state.ts";
import { nodeNames } from "./node-names.ts";
import { putApiServices } from "./api-services.ts";
import { putInitialObjects } from "./initial-objects.ts";
import { privateFolder } from "../agent/private-files.ts";
import type { ManagedClusters } from "./managed-clusters.ts";
import { serve } from "./serving.ts";
import { watchClock } from "./watch-clock.ts";
import { startError } from "./start-error.ts";
import { keepStoreWritable } from "./store-upkeep.ts";
import { systemClock } from "./system-clock.ts";
import { systemRandom } from "./system-random.ts";

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

/** Opens the store, makes or loads the CA, serves, and runs the controllers. @throws HubError with one sentence for the operator. */
export async function startHub(options: HubOptions): Promise<Hub> {
  const closers: Closer[] = [];
  const close = closeOnce(closers);
  try {
    return await start(options, closers, close);
  } catch (error) {
    await close();
    throw (await fullDiskError(error, options.dataDir)) ?? startError(error, options);
  }
}

async function start(options: HubOptions, closers: Closer[], close: Closer): Promise<Hub> {
  const begun = performance.now();
  const clock = options.clock ?? systemClock;
  const shutdown = new AbortController();
  // Every open watch listens to it, and there may be thousands.
  setMaxListeners(0, shutdown.signal);
  await checkOptions(options, { clock });
  const servingApproval = await servingApprovalOf(options);
  const clusters = await clustersOf(options);
  await privateFolder(options.dataDir);
  const pkiDir = join(options.dataDir, "pki");
  const at = { dir: pkiDir, now: clock.now(), random: systemRandom };
  let furnished = false;
  const kept = await openHubState(options, closers, at);
  const base = { ...kept, clock, closers, clusters, isFurnished: () => furnished };
  const { cache, authorities, issuer, revoked, credentialUse } = kept;
  const { verbs, access, identity, clientOf, custom, counts, turns } = await openDecisions(options, base);
  const shared = { verbs, turns, clock };
  const loopback = clientOf({ username: "system:apiserver", groups: [mastersGroup] });
  await furnish(options, loopback, { cache, clusters, clock, authorities });
  await takeRevocations(options, kept, loopback);
  await kept.hub.note();
  furnished = true;

  let ready = false;
  const api = await serve(options, {
    ...kept,
    ...shared,
    counts,
    access,
    identity,
    shutdown: shutdown.signal,
    isReady: () => ready,
    at,
  });
  closers.push(api.close);
  const running = control(options, {
    ...shared,
    clientOf,
    authorities,
    issuer,
    revoked,
    credentialUse,
    lifeOf: accessLives({ cache, use: credentialUse, revocations: revoked }),
    standingOf: credentialGenerations({ cache, use: credentialUse, revocations: revoked }),
    nodeNames: nodeNames({ cache, clock, revocations: revoked, authorities }),
    url: api.url,
    metrics: api.metrics,
    servingApproval,
    clusters,
    signal: shutdown.signal,
  });
  custom.onChange(running.refresh);
  closers.push(() => running.stopped);
  const kubeconfig = adminKubeconfigFile({ ...options, authorities, url: api.url, clock, random: systemRandom });
  upkeep(options, {
    ...base,
    dir: pkiDir,
    shutdown,
    kubeconfig,
    changed: async (next) => {
      base.take(next);
      await Promise.all([api.renew(), putExtensionAuthentication(loopback, next, clock)]);
      await running.restart();
      await kubeconfig.write();
    },
  });
  await Promise.all([kubeconfig.write(), announce(options, loopback, api.url)]);
  await running.ready;
  ready = true;
  return {
    url: api.url,
    caPin: authorities().signer.pin,
    adminKubeconfig: kubeconfig.path,
    store: `lmdb, ${join(options.dataDir, "store")}`,
    readyMs: performance.now() - begun,
    stopped: stopped(cache, shutdown.signal, close),
    close,
  };
}

/** What goes on beside the requests until the hub stops: compaction, the CAs as their folder has them, the operator's kubeconfig, the clock. */
function upkeep(
  options: HubOptions,
  parts: {
    readonly store: Store;
    readonly cache: WatchCache;
    readonly clock: Clock;
    readonly closers: Closer[];
    readonly authorities: () => Authorities;
    readonly dir: string;
    readonly shutdown: AbortController;
    readonly kubeconfig: AdminKubeconfig;
    readonly hub: HubState["hub"];
    readonly changed: (next: Authorities) => Promise<void>;
  },
): void {
  const { store, cache, clock, closers, shutdown, dir, authorities, changed, kubeconfig, hub } = parts;
  const { signal } = shutdown;
  const compacting = compactionLoop({
    store,
    cache,
    clock,
    signal,
    failed: (error) => options.log(logEntry("CompactionFailed", "compaction failed", { error })),
  });
  // The CA of --cluster-signing-cert-file is the operator's to change: whatever lies in the folder is of another time.
  const following =
    options.clusterSigningCertFile === undefined
      ? followAuthorities({ dir, current: authorities(), clock, signal, changed, log: options.log })
      : Promise.resolve();
  const watching = [
    keepStoreWritable({ store, clock, signal, log: options.log }),
    noting(hub, clock, signal),
    kubeconfig.keep(signal),
    watchClock({ clock, monotonic: () => performance.now(), signal, log: options.log }),
  ];
  closers.push(
    () => compacting,
    () => following,
    async () => void (await Promise.all(watching)),
    async () => shutdown.abort(),
  );
}

/** Before the port opens, so that nothing that was revoked is accepted for a moment. */
async function takeRevocations(
  { revocationsFile: file, log, clock = systemClock }: HubOptions,
  { issuer, authorities }: Pick<HubState, "issuer" | "authorities">,
  client: Client,
): Promise<void> {
  if (file === undefined) return;
  const { revocationsFromFile } = await import("./revocations-from-file.ts");
  const trust = {
    keys: async () => issuer.keys,
    roots: async () => loadTrustRoots(authorities().bundlePem),
  };
  const taken = await revocationsFromFile(file, { trust, client, now: clock.now() });
  log(logEntry("RevocationsImported", "the hub imported revocations", { file, ...taken }));
}

/** A URL does not show it. */
const httpsPort = 443;

/** A store that takes no writes is no reason not to start. */
async function announce(options: HubOptions, client: Client, url: string): Promise<void> {
  try {
    await putKubernetesService(client, options, Number(new URL(url).port || httpsPort));
  } catch (error) {
    options.log(logEntry("ServiceWriteFailed", "the hub cannot write the Service default/kubernetes", { error }));
  }
}

/** How often the revision of the store is recorded beside the CA, in milliseconds. */
const noteMs = 60_000;

async function noting(hub: HubState["hub"], clock: Clock, signal: AbortSignal): Promise<void> {
  for (;;) {
    await clock.sleep(noteMs, signal);
    if (signal.aborted) return;
    await hub.note();
  }
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

interface Furnishing {
  readonly cache: HubState["cache"];
  readonly clusters: ManagedClusters | undefined;
  readonly clock: Clock;
  readonly authorities: () => Authorities;
}

/** Puts the initial objects in place, and warns of what this start leaves undone. */
async function furnish(options: HubOptions, client: Client, given: Furnishing): Promise<void> {
  const { cache, clusters, clock, authorities } = given;
  const warn = (message: string): void => options.log(logEntry("ConfigurationWarning", message));
  await putInitialObjects({ client, nodeAutoapprove: options.nodeAutoapprove, warn });
  await putExtensionAuthentication(client, authorities(), clock);
  await putApiServices(client, [...builtinResources, ...(clusters?.resources ?? [])], clock);
  await clusters?.furnish(client, clock);
  if (clusters === undefined) warnOfClusters(cache, warn);
}

/** Clusters that joined while the hub was told `--managed-clusters` stay in the store without it. */
function warnOfClusters(cache: HubState["cache"], warn: (message: string) => void): void {
  const { length } = cache.list(storagePrefix(managedClusters));
  if (length === 0) return;
  warn(
    `the store holds ${length} ManagedClusters, and the hub was started without --managed-clusters: it accepts and denies none, renews no certificate of their agents, and does not check their leases; start it with --managed-clusters, or delete them`,
  );
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
