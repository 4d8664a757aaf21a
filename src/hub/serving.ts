import { randomUUID } from "node:crypto";
import { accountLives } from "./account-lives.ts";
import type { Clock } from "../core/clock.ts";
import type { HealthCheck } from "../http/health.ts";
import { peerCertificates } from "../http/peer.ts";
import { pipeline } from "../http/pipeline.ts";
import { requestPlaces } from "../http/request-places.ts";
import { resourceVerbs } from "../http/resource-verbs.ts";
import { routes } from "../http/routes.ts";
import { listen, type Server } from "../http/server.ts";
import { versionInfo } from "../http/version.ts";
import type { CertificateAuthority } from "../pki/ca.ts";
import type { Registry } from "../registry/registry.ts";
import type { Store } from "../storage/store.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import { hostPort, servingNames } from "./addresses.ts";
import { openAudit, type OpenAudit } from "./audit-backends.ts";
import { impersonation, type Authentication } from "./authentication.ts";
import type { Authorization } from "./authorization.ts";
import { servingCertificate } from "./authority.ts";
import { errorText } from "./error-text.ts";
import type { systemRandom } from "./hub-controllers.ts";
import { HubError } from "./hub-error.ts";
import type { HubOptions } from "./hub-options.ts";
import { nameOnlyCertificate } from "./name-only-certificate.ts";
import { hubMetrics, type Metrics } from "./metrics.ts";
import { openApiPublisher } from "./open-api.ts";
import type { Revocations } from "./revocations.ts";
import type { ServiceAccountIssuer } from "./service-account-issuer.ts";
import { servingRenewal } from "./serving-renewal.ts";

/** What serving needs of the parts made before. */
export interface ServeParts {
  readonly verbs: Registry;
  readonly access: Authorization;
  readonly identity: Authentication;
  readonly revoked: Revocations;
  readonly authority: CertificateAuthority;
  readonly issuer: ServiceAccountIssuer;
  readonly cache: WatchCache;
  readonly store: Store;
  readonly clock: Clock;
  readonly shutdown: AbortSignal;
  readonly isReady: () => boolean;
  readonly at: { readonly dir: string; readonly now: number; readonly random: typeof systemRandom };
}

/** The API on its port. */
export interface Serving {
  readonly url: string;
  readonly metrics: Metrics;
  readonly close: () => Promise<void>;
}

/** How long a stop waits for requests under way, in milliseconds. */
const drainMs = 5_000;

/** Opens the audit backends and the port. Health says `controllers` until `isReady`. */
export async function serve(options: HubOptions, parts: ServeParts): Promise<Serving> {
  const recording = await openAudit(options, parts.clock);
  try {
    return await serveRecorded(options, parts, recording);
  } catch (error) {
    await recording.close();
    throw error;
  }
}

function resourcesOf({ verbs, clock, shutdown, cache, revoked }: ServeParts): ReturnType<typeof resourceVerbs> {
  const { follow } = revoked;
  return resourceVerbs({ registry: verbs, clock, chance: Math.random, shutdown, lifeOf: accountLives(cache), follow });
}

async function serveRecorded(options: HubOptions, parts: ServeParts, recording: OpenAudit): Promise<Serving> {
  const { verbs, access, identity, authority, issuer, cache, store, clock } = parts;
  const names = servingNames(options);
  const pair = await servingCertificate(authority, names, parts.at);
  const places = requestPlaces({
    places: options.maxRequestsInflight + (options.maxMutatingRequestsInflight ?? 0),
    watchesOfOne: options.maxWatchesPerUser ?? 10_000,
    clock,
  });
  let server: Server | undefined;
  const metrics = hubMetrics({
    revision: cache.revision,
    connections: () => server?.connections() ?? 0,
    levels: places.counts,
    audit: recording.counts,
    authorization: access.metrics.text,
    isResource: (plural) => verbs.resources().some((resource) => resource.plural === plural),
  });
  const stored: HealthCheck = { name: "store", check: async () => void (await store.currentRevision()) };
  const started: HealthCheck = {
    name: "controllers",
    check: async () => {
      if (!parts.isReady()) throw new HubError("options", "still starting");
    },
  };
  const notResources = routes({
    resources: verbs.resources,
    openApi: openApiPublisher(`v${options.release}`),
    health: { healthz: [stored, started], livez: [], readyz: [stored, started] },
    metrics: metrics.text,
    version: versionInfo(options.release, platform()),
    issuer: { issuer: issuer.issuers[0], keys: issuer.keys },
    serverAddress: () => hostPort(options, server?.port ?? options.securePort),
  });
  const resources = resourcesOf(parts);
  server = await listen({
    ...pair,
    clientCaPem: nameOnlyCertificate(authority, parts.at),
    host: options.bindAddress,
    port: options.securePort,
    now: () => clock.now(),
    handle: pipeline({
      authenticate: identity.request,
      isRevoked: (credential) => parts.revoked.find(credential) !== undefined,
      impersonate: impersonation(access.chain),
      authorizer: access.chain,
      handle: (admitted) => (admitted.info.isResource ? resources(admitted) : notResources(admitted)),
      peer: peerCertificates(),
      places,
      audit: recording.audit,
      observe: metrics.observeRequest,
      fault: (error, requestId) =>
        options.log({ level: "error", message: "request failed", requestId, error: errorText(error) }),
      clock,
      uuid: randomUUID,
    }),
  });
  const { close, port, renew } = server;
  const renewal = servingRenewal({
    ...parts.at,
    authority,
    names,
    current: pair,
    clock,
    signal: parts.shutdown,
    renew: ({ certPem, keyPem }) => renew(certPem, keyPem),
    failed: (error) =>
      options.log({ level: "error", message: "the serving certificate cannot be renewed", error: errorText(error) }),
  });
  return {
    url: `https://${hostPort(options, port)}`,
    metrics,
    close: async () => {
      await renewal;
      await close(drainMs);
      await recording.close();
    },
  };
}

/** As Go names it. */
function platform(): string {
  return `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`;
}
