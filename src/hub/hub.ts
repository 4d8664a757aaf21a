import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { join } from "node:path";
import type { Client } from "../client/client.ts";
import type { ServingApproval } from "../controllers/serving-approving.ts";
import type { Clock } from "../core/clock.ts";
import { mastersGroup, type UserInfo } from "../core/user.ts";
import type { CertificateAuthority } from "../pki/ca.ts";
import { loadTrustRoots } from "../pki/verify-chain.ts";
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
import { openAuthority } from "./authority.ts";
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
  await privateFolder(options.dataDir);
  const pkiDir = join(options.dataDir, "pki");
  const at = { dir: pkiDir, now: clock.now(), random: systemRandom };
  // The store and the keys do not wait for each other.
  const [store, authority, issuer] = await Promise.all([
    openStore(join(options.dataDir, "store"), closers),
    openAuthority({ ...at, certFile: options.clusterSigningCertFile, keyFile: options.clusterSigningKeyFile }),
    openServiceAccountIssuer(options, pkiDir),
  ]);
  const cache = await openWatchCache({ store, prefix: "/registry/" });
  closers.push(() => cache.close());
  let furnished = false;
  const revoked = revocations(cache, clock);
  const base = { store, cache, authority, issuer, clock, closers, revoked, isFurnished: () => furnished };
  const parts = await decisions(options, base);
  const { verbs, access, identity, clientOf, custom } = parts;
  const loopback = clientOf({ username: "system:apiserver", groups: [mastersGroup] });
  await putInitialObjects({ client: loopback, nodeAutoapprove: options.nodeAutoapprove });
  furnished = true;

  let ready = false;
  const api = await serve(options, {
    verbs,
    access,
    identity,
    revoked,
    authority,
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
    authority,
    issuer,
    url: api.url,
    metrics: api.metrics,
    servingApproval,
    signal: shutdown.signal,
  });
  custom.onChange(running.refresh);
  closers.push(() => running.stopped);
  const compacting = compactionLoop({
    store,
    clock,
    signal: shutdown.signal,
    failed: (error) => options.log({ level: "error", message: "compaction failed", error: errorText(error) }),
  });
  closers.push(
    () => compacting,
    async () => shutdown.abort(),
  );

  const kubeconfig = join(options.dataDir, "admin.kubeconfig");
  await replaceFile(kubeconfig, adminKubeconfig(authority, api.url, at));
  await running.ready;
  ready = true;
  return {
    url: api.url,
    caPin: authority.pin,
    adminKubeconfig: kubeconfig,
    store: `lmdb, ${join(options.dataDir, "store")}`,
    readyMs: performance.now() - begun,
    stopped: stopped(cache, shutdown.signal, close),
    close,
  };
}

/** Who may do what, and the verbs that are done under those rules. */
interface Decisions {
  readonly access: Authorization;
  readonly identity: Authentication;
  readonly verbs: Registry;
  readonly clientOf: (user: UserInfo) => Client;
  readonly custom: CustomResources;
}

async function decisions(
  options: HubOptions,
  base: {
    readonly store: Store;
    readonly cache: WatchCache;
    readonly authority: CertificateAuthority;
    readonly issuer: ServiceAccountIssuer;
    readonly clock: Clock;
    readonly closers: Closer[];
    readonly revoked: Revocations;
    /** Whether the objects are there that a hub begins with. */
    readonly isFurnished: () => boolean;
  },
): Promise<Decisions> {
  const { store, cache, authority, issuer, clock } = base;
  const access = await openAuthorization(options, { cache, clock });
  base.closers.push(async () => access.close());
  const outside = await openOutsideIdentity({
    hub: options,
    clock,
    audiences: issuer.audiences,
    issuers: issuer.issuers,
  });
  base.closers.push(async () => outside.close());
  const identity = await authentication({
    roots: loadTrustRoots(authority.pem),
    cache,
    now: () => clock.now(),
    tokenAuthFile: options.tokenAuthFile,
    issuer,
    outside,
    anonymousAuth: options.anonymousAuth && !access.uses("AlwaysAllow"),
    revocations: base.revoked,
    warn: (message) => options.log({ level: "warn", message }),
  });
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
      caPin: authority.pin,
      accessRequests: options.accessRequests ?? defaultAccessRequestLimits,
      inForce: base.isFurnished,
    }),
    versions,
    uuid: randomUUID,
    random: systemRandom,
  };
  const custom = customResources({
    cache,
    builtin: builtinResources,
    converter: (crd) => conversionByWebhook(crd, { call: webhooks.call, uuid: randomUUID }),
    failed: (name, error) =>
      options.log({ level: "error", message: "a custom kind cannot be served", name, error: errorText(error) }),
  });
  const verbs = registry({
    backend,
    resources: custom.resources,
    lifeOf: custom.lifeOf,
    reviews: reviews({ chain: access.chain, rules: access.rules, authenticate: identity.credentials }),
    created: { "serviceaccounts/token": tokenRequests({ issuer, lookup: tokenObjects(cache), uuid: randomUUID }) },
  });
  const clientOf = (user: UserInfo): Client =>
    inProcessClient({ registry: verbs, authorizer: access.inside, clock, user });
  return { access, identity, verbs, clientOf, custom };
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
