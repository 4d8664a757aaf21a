import { setMaxListeners } from "node:events";
import { join } from "node:path";
import { builtinResources } from "../apis/builtin.ts";
import { managedClusters } from "../apis/managed-cluster.ts";
import { storagePrefix } from "../apis/resource.ts";
import { loadTrustRoots } from "../pki/verify-chain.ts";
import type { ServingApproval } from "../controllers/certificates/serving-approving.ts";
import type { Client } from "../client/client.ts";
import { logEntry } from "../apimachinery/log-entry.ts";
import type { RecordWrite } from "../registry/in-process-call.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import { mastersGroup } from "../apimachinery/user.ts";
import { ownNames } from "./addresses.ts";
import { adminKubeconfigFile } from "../bootstrap/admin-kubeconfig.ts";
import type { Authorities } from "../ca/ca-folder.ts";
import { accessRequestLifetimes, credentialGenerations } from "../revocation/credential-use.ts";
import { checkOptions } from "./check-options.ts";
import { control } from "./controller-manager.ts";
import { openDecisions } from "./api-server.ts";
import { putExtensionAuthentication } from "../bootstrap/extension-authentication.ts";
import { fullDiskError, startError } from "./start-error.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import { putKubernetesService } from "../bootstrap/kubernetes-service.ts";
import type { HubOptions } from "./hub-options.ts";
import { upkeep } from "./upkeep.ts";
import { type Closer, type HubBase, openHubState } from "./hub-state.ts";
import { nodeNames } from "./node-names.ts";
import { putApiServices } from "../bootstrap/api-services.ts";
import { putInitialObjects } from "../bootstrap/initial-objects.ts";
import { privateFolder } from "../host/private-files.ts";
import type { ManagedClusters } from "./admission/managed-clusters.ts";
import { serve } from "./serving.ts";
import { systemClock } from "../host/system-clock.ts";
import { systemRandom } from "../host/system-random.ts";

/** A running hub. */
export interface Hub {
  readonly url: string;
  /** `sha256:<hex>` of the CA's public key. */
  readonly caPin: string;
  /** Path of a kubeconfig with all rights, readable only by its owner. */
  readonly adminKubeconfig: string;
  /** The kind and location of the store. */
  readonly store: string;
  /** Milliseconds from the call to being ready. */
  readonly readyMs: number;
  /** Resolves after `close`; rejects when the hub cannot continue. */
  readonly stopped: Promise<void>;
  /** Lets requests finish, ends watches, closes the store. */
  close(): Promise<void>;
}

/** Opens the store, creates or loads the CA, serves, and runs the controllers. @throws HubError with one sentence for the operator. */
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
  const { signal } = shutdown;
  // Every open watch adds a listener, and there may be thousands.
  setMaxListeners(0, signal);
  await checkOptions(options, { clock });
  const servingApproval = await servingApprovalOf(options);
  const clusters = await clustersOf(options);
  await privateFolder(options.dataDir);
  const at = { dir: join(options.dataDir, "pki"), now: clock.now(), random: systemRandom };
  const phase: Phase = { isBootstrapped: false, isReady: false };
  const base: HubBase = {
    ...(await openHubState(options, closers, at)),
    clock,
    closers,
    clusters,
    isBootstrapped: () => phase.isBootstrapped,
    recordWrite: () => phase.recordWrite,
  };
  const { cache, authorities } = base;
  const decisions = await openDecisions(options, base);
  const loopback = decisions.clientOf({ username: "system:apiserver", groups: [mastersGroup] });
  await bootstrap(options, loopback, base);
  await takeRevocations(options, base, loopback);
  await base.hub.note();
  phase.isBootstrapped = true;

  const parts = { ...base, ...decisions };
  const api = await serve(options, { ...parts, shutdown: signal, isReady: () => phase.isReady, at });
  const { url, metrics } = api;
  closers.push(api.close);
  phase.recordWrite = api.recordWrite;
  const running = control(options, { ...parts, ...credentialIndexes(base), url, metrics, servingApproval, signal });
  decisions.custom.onChange(running.refresh);
  closers.push(() => running.stopped);
  const kubeconfig = adminKubeconfigFile({ ...options, authorities, url, clock, random: systemRandom });
  const changed = async (next: Authorities): Promise<void> => {
    base.take(next);
    await Promise.all([api.renew(), putExtensionAuthentication(loopback, next, clock)]);
    await running.restart();
    await kubeconfig.write();
  };
  upkeep(options, { ...base, dir: at.dir, shutdown, kubeconfig, changed });
  await Promise.all([kubeconfig.write(), announce(options, loopback, url)]);
  await running.ready;
  phase.isReady = true;
  return {
    url,
    caPin: authorities().signer.pin,
    adminKubeconfig: kubeconfig.path,
    store: `lmdb, ${join(options.dataDir, "store")}`,
    readyMs: performance.now() - begun,
    stopped: stopped(cache, signal, close),
    close,
  };
}

/** The progress of a start. */
interface Phase {
  isBootstrapped: boolean;
  isReady: boolean;
  /** Absent until the port is open: writes of the start are not recorded. */
  recordWrite?: RecordWrite | undefined;
}

/** The credential state for controllers that is not in objects. */
function credentialIndexes({ cache, authorities, revoked: revocations, credentialUse: use, clock }: HubBase) {
  const about = { cache, use, revocations };
  return {
    lifeOf: accessRequestLifetimes(about),
    statusOf: credentialGenerations(about),
    nodeNames: nodeNames({ cache, clock, revocations, authorities }),
  };
}

/** Before the port opens, so that no revoked credential is accepted even briefly. */
async function takeRevocations(
  { revocationsFile: file, log }: HubOptions,
  { issuer, authorities, clock }: HubBase,
  client: Client,
): Promise<void> {
  if (file === undefined) return;
  const { revocationsFromFile } = await import("../config-files/revocations-from-file.ts");
  const trust = {
    keys: async () => issuer.keys,
    roots: async () => loadTrustRoots(authorities().bundlePem),
  };
  const taken = await revocationsFromFile(file, { trust, client, now: clock.now() });
  log(logEntry("RevocationsImported", "the hub imported revocations", { file, ...taken }));
}

/** A URL omits it. */
const httpsPort = 443;

/** A read-only store must not prevent a start. */
async function announce(options: HubOptions, client: Client, url: string): Promise<void> {
  try {
    await putKubernetesService(client, options, Number(new URL(url).port || httpsPort));
  } catch (error) {
    options.log(logEntry("ServiceWriteFailed", "the hub cannot write the Service default/kubernetes", { error }));
  }
}

/** Read before anything is opened, so that a wrong file leaves no traces. */
async function servingApprovalOf(options: HubOptions): Promise<ServingApproval | undefined> {
  const { servingApproval } = options;
  if (servingApproval === undefined || servingApproval.providers.length === 0) return undefined;
  const { readServingApproval } = await import("../config-files/serving-approval.ts");
  return readServingApproval(servingApproval, ownNames(options));
}

/** Loaded only with managed clusters. */
async function clustersOf({ managedClusters }: HubOptions): Promise<ManagedClusters | undefined> {
  if (managedClusters === undefined) return undefined;
  const { openManagedClusters } = await import("./admission/managed-clusters.ts");
  return openManagedClusters(managedClusters.configFile);
}

/** Creates the initial objects, and warns about options without effect in this start. */
async function bootstrap(options: HubOptions, client: Client, base: HubBase): Promise<void> {
  const { cache, clusters, clock, authorities } = base;
  const warn = (message: string): void => options.log(logEntry("ConfigurationWarning", message));
  await putInitialObjects({ client, nodeAutoapprove: options.nodeAutoapprove, warn });
  await putExtensionAuthentication(client, authorities(), clock);
  await putApiServices(client, [...builtinResources, ...(clusters?.resources ?? [])], clock);
  await clusters?.bootstrap(client, clock);
  if (clusters === undefined) warnOfClusters(cache, warn);
}

/** Clusters that joined while `--managed-clusters` was set remain in the store without it. */
function warnOfClusters(cache: WatchCache, warn: (message: string) => void): void {
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
