import { randomUUID } from "node:crypto";
import type { Client } from "../client/client.ts";
import { environmentProxy } from "../client/environment-proxy.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { logEntry } from "../apimachinery/log-entry.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { loadTrustRoots, type TrustRoot } from "../pki/verify-chain.ts";
import type { Backend } from "../registry/backend.ts";
import { entryVersions } from "../registry/conversion.ts";
import { registry, type Registry } from "../registry/registry.ts";
import type { RecordWrite } from "../registry/in-process-call.ts";
import type { Turns } from "../registry/turns.ts";
import { builtinResources } from "../apis/builtin.ts";
import { conversionByWebhook } from "../apis/custom/conversion-review.ts";
import { defaultAccessRequestLimits } from "./admission/access-requests.ts";
import { hubAdmission } from "./admission/admission.ts";
import { admissionMetrics, type AdmissionMetrics } from "../admission/metrics.ts";
import { authentication, type Authentication } from "./authentication.ts";
import { pinsOf, type Authorities } from "../ca/ca-folder.ts";
import { openAuthorization, type Authorization } from "./authorization.ts";
import { clientMetrics, type ClientMetrics } from "../client/metrics.ts";
import { customResources, type CustomResources } from "./custom-resources.ts";
import type { HubOptions } from "./hub-options.ts";
import type { Closer, HubState } from "./hub-state.ts";
import { hubWorld } from "../host/kubeconfig-environment.ts";
import { inProcessClient } from "../registry/in-process-client.ts";
import { loopTurns } from "../apiserver/event-loop.ts";
import type { ManagedClusters } from "./admission/managed-clusters.ts";
import type { OutsideIdentity, OutsideIdentityOptions } from "./outside-identity.ts";
import { reviews } from "../registry/reviews.ts";
import { systemRandom } from "../host/system-random.ts";
import { tokenObjects, tokenRequests } from "./token-requests.ts";
import { webhookCaller } from "../webhooks/webhook-caller.ts";

/** Who may do what, and the verbs that are done under those rules. */
export interface Decisions {
  readonly access: Authorization;
  readonly identity: Authentication;
  readonly verbs: Registry;
  readonly clientOf: (user: UserInfo) => Client;
  readonly custom: CustomResources;
  /** What is counted of admission and of the clients inside the hub. */
  readonly counts: { readonly admission: AdmissionMetrics; readonly clients: ClientMetrics };
  /** For the parts of large work, over the event loop of this process. */
  readonly turns: Turns;
}

/** Puts together authorization, authentication, admission and the verbs over what is kept; what must be closed is in `closers`. @throws HubError */
export async function openDecisions(
  options: HubOptions,
  base: HubState & {
    readonly clock: Clock;
    readonly closers: Closer[];
    readonly clusters: ManagedClusters | undefined;
    /** Whether the objects are there that a hub begins with. */
    readonly isBootstrapped: () => boolean;
    /** Records the writes of clients inside the hub; undefined before the audit log is open. */
    readonly recordWrite: () => RecordWrite | undefined;
  },
): Promise<Decisions> {
  const { store, cache, authorities, clock, recordWrite } = base;
  const turns = loopTurns();
  const access = await openAuthorization(options, { cache, clock, turn: turns.next });
  base.closers.push(async () => access.close());
  const identity = await identification(options, base, access);
  const { env } = hubWorld(base);
  const webhooks = webhookCaller({ proxyOf: (server) => environmentProxy(server, env) });
  base.closers.push(async () => webhooks.close());
  const versions = entryVersions();
  const counts = { admission: admissionMetrics(monotonic), clients: clientMetrics(monotonic) };
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
      metrics: counts.admission,
      caPins: () => pinsOf(authorities()),
      accessRequests: options.accessRequests ?? defaultAccessRequestLimits,
      maxUndecidedCertificateRequests: options.maxUndecidedCertificateRequests,
      revocations: base.revoked,
      clusters: base.clusters,
      inForce: base.isBootstrapped,
      turns,
    }),
    versions,
    turns,
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
      options.log(logEntry("CustomResourceNotServed", "the hub cannot serve a custom resource", { name, error })),
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
        explaining: { index: access.index, uses: access.uses, resources: custom.resources, turn: turns.next },
      }),
      ...base.clusters?.answers((resource, request) => verbs.create(resource, request)),
    },
    created: { "serviceaccounts/token": issuingTokens(base) },
  });
  const clientOf = (user: UserInfo): Client => {
    access.enlist(user);
    const inside = { registry: verbs, authorizer: access.inside, clock, user, recordWrite };
    return counts.clients.counted(inProcessClient({ ...inside, turn: () => turns.next(user.username) }));
  };
  return { access, identity, verbs, clientOf, custom, counts, turns };
}

/** In milliseconds, of a clock that is not set back. */
const monotonic = (): number => performance.now();

function issuingTokens({ issuer, cache, credentialUse }: HubState): ReturnType<typeof tokenRequests> {
  return tokenRequests({
    issuer,
    lookup: tokenObjects(cache),
    uuid: randomUUID,
    recordToken: credentialUse.recordToken,
  });
}

/** Who is whom, and whose credentials count no longer. */
async function identification(
  options: HubOptions,
  base: HubState & { readonly clock: Clock; readonly closers: Closer[] },
  access: Authorization,
): Promise<Authentication> {
  const { cache, authorities, issuer, clock, revoked, credentialUse } = base;
  const { audiences, issuers } = issuer;
  const outside = await openOutsideIdentity({ hub: options, clock, audiences, issuers, env: hubWorld(base).env });
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
    recordUse: credentialUse.recordUse,
    warn: (message) => options.log(logEntry("ConfigurationWarning", message)),
  });
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
