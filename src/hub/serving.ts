import { randomUUID } from "node:crypto";
import { accessRequestRate, defaultAccessRequestLimits } from "./access-requests.ts";
import { accountLives } from "./account-lives.ts";
import { secretLives } from "./secret-lives.ts";
import { abortListeners } from "../core/abort-listeners.ts";
import { StatusError } from "../core/status.ts";
import type { Clock, RandomBytes } from "../core/clock.ts";
import { logEntry } from "../core/log-entry.ts";
import { yamlThread } from "../formats/yaml-thread.ts";
import type { Incoming } from "../http/exchange.ts";
import { largeBodies } from "../http/large-bodies.ts";
import { peerCertificates } from "../http/peer.ts";
import { pipeline, type PipelineOptions } from "../http/pipeline.ts";
import type { Progress } from "../http/progress.ts";
import type { FlowControl } from "../http/flow-control.ts";
import { requestPlaces, type RequestPlaces } from "../http/request-places.ts";
import { resourceVerbs } from "../http/resource-verbs.ts";
import { routes } from "../http/routes.ts";
import { requestActivity, type RequestActivity } from "../http/request-activity.ts";
import { listen, type Server } from "../http/server.ts";
import { defaultStreamLimits, streamLimiter } from "../http/stream-limiter.ts";
import { versionInfo } from "../http/version.ts";
import type { Registry } from "../registry/registry.ts";
import type { Turns } from "../registry/turns.ts";
import type { Store } from "../storage/store.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import { hostPort, servingNames } from "./addresses.ts";
import { openAudit, type OpenAudit } from "./audit-backends.ts";
import { loopStalls, type LoopStalls } from "./loop-stalls.ts";
import { impersonation, type Authentication } from "./authentication.ts";
import { authenticationMetrics } from "./authentication-metrics.ts";
import type { Authorization } from "./authorization.ts";
import type { Authorities } from "./authority-folder.ts";
import { recordCaCheck } from "./ca-check.ts";
import { acceptFailureLog, connectionLimitLog, connectionsText, ownConnectionLimits } from "./connection-limits.ts";
import { credentialMetrics } from "./credential-metrics.ts";
import type { Decisions } from "./decisions.ts";
import { storedFlowControl } from "./flow-control.ts";
import { healthChecks } from "./health-checks.ts";
import type { HubOptions } from "./hub-options.ts";
import { unreadText } from "./load-metrics.ts";
import { defaultKubeletAddressTypes } from "./kubelet-address.ts";
import { kubeletClient } from "./kubelet-client.ts";
import { isKubeletCredential, kubeletCredential } from "./kubelet-credential.ts";
import { hubMetrics, type Metrics } from "./metrics.ts";
import { openApiPublisher } from "./open-api.ts";
import { portCertificates, type PortCertificates } from "./port-certificates.ts";
import { requestAuthorizationMetrics } from "./request-authorization-metrics.ts";
import { revocationDocuments } from "./revocation-documents.ts";
import type { Revocations } from "./revocations.ts";
import type { ServiceAccountIssuer } from "./service-account-issuer.ts";
import { sendBuffers } from "../http/send-buffers.ts";
import { signedTime } from "./signed-time.ts";
import { standingMetrics } from "./standing-metrics.ts";
import { watchMetrics, type WatchMetrics } from "./watch-metrics.ts";

/** What serving needs of the parts made before. */
export interface ServeParts {
  readonly verbs: Registry;
  readonly turns: Turns;
  readonly counts: Decisions["counts"];
  readonly access: Authorization;
  readonly identity: Authentication;
  readonly revoked: Revocations;
  /** Asked at each look, as they can change. */
  readonly authorities: () => Authorities;
  readonly issuer: ServiceAccountIssuer;
  readonly cache: WatchCache;
  readonly store: Store;
  readonly clock: Clock;
  readonly shutdown: AbortSignal;
  readonly isReady: () => boolean;
  readonly at: { readonly dir: string; readonly now: number; readonly random: RandomBytes };
}

/** The API on its port. */
export interface Serving {
  readonly url: string;
  readonly metrics: Metrics;
  /** Serves with a certificate of the CA that signs now. Call it when the CAs have changed. */
  readonly renew: () => Promise<void>;
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

function resourcesOf(
  options: HubOptions,
  { verbs, authorities, at, clock, shutdown, cache, revoked, turns }: ServeParts,
  { watched, terminated }: Pick<WatchMetrics, "watched" | "terminated">,
): ReturnType<typeof resourceVerbs> {
  const { follow } = revoked;
  const [chance, lifeOf, onAbort] = [Math.random, accountLives(cache), abortListeners()];
  return resourceVerbs({
    registry: verbs,
    clock,
    turns,
    chance,
    shutdown,
    onAbort,
    lifeOf,
    secretLifeOf: secretLives(cache),
    follow,
    watched,
    terminated,
    kubelet: {
      limit: streamLimiter(options.streamLimits ?? defaultStreamLimits),
      ask: kubeletClient({
        addressTypes: options.kubeletPreferredAddressTypes ?? defaultKubeletAddressTypes,
        certificateAuthorityFile: options.kubeletCertificateAuthority,
        bindAddress: options.bindAddress,
        credential: kubeletCredential(authorities, { now: () => clock.now(), random: at.random }),
        clock,
      }),
    },
  });
}

function metricsOf(
  options: HubOptions,
  parts: ServeParts,
  port: Pick<
    Parameters<typeof hubMetrics>[0],
    "connections" | "levels" | "stalls" | "audit" | "authentication" | "watches" | "clients"
  >,
): Metrics {
  const { verbs, access, cache, clock } = parts;
  return hubMetrics({
    ...port,
    revision: cache.revision,
    admission: parts.counts.admission.text,
    authorization: access.metrics.text,
    credentials: credentialMetrics(cache, { now: () => clock.now(), revoked: parts.revoked }),
    standing: standingMetrics({
      ...parts,
      resources: verbs.resources,
      pkiDir: parts.at.dir,
      dataDir: options.dataDir,
      version: versionInfo(options.release, platform()),
      now: () => clock.now(),
    }),
    isResource: (group, version, plural) =>
      verbs
        .resources()
        .some((resource) => resource.plural === plural && resource.group === group && resource.version === version),
  });
}

function certificatesOf(
  options: HubOptions,
  { at, authorities, clock, shutdown }: ServeParts,
): Promise<PortCertificates> {
  const names = servingNames(options);
  return portCertificates({ ...at, authorities, names, clock, signal: shutdown, log: options.log });
}

async function serveRecorded(options: HubOptions, parts: ServeParts, recording: OpenAudit): Promise<Serving> {
  const { verbs, access, identity, authorities, issuer, cache, clock } = parts;
  const certificates = await certificatesOf(options, parts);
  const steered = storedFlowControl(cache);
  const places = placesOf(options, steered, clock);
  const [activity, yaml] = [requestActivity(), yamlThread()];
  const stalls = stallsOf(options, clock, activity);
  const authentications = authenticationMetrics(() => clock.now(), monotonic);
  const requestAuthorizations = requestAuthorizationMetrics(monotonic);
  const [watches, unread] = [watchMetrics(), sendBuffers(every)];
  let server: Server | undefined;
  const metrics = metricsOf(options, parts, {
    connections: () => server?.connections() ?? 0,
    levels: places.counts,
    stalls: stalls.text,
    audit: recording.counts,
    authentication: () => authentications.text() + requestAuthorizations.text(),
    watches: () => watches.text() + unreadText(unread) + connectionsText(server),
    clients: () => parts.counts.clients.text(hostPort(options, server?.port ?? options.securePort)),
  });
  const time = signedTime(authorities, clock);
  const check = await recordCaCheck({ ...parts, dir: parts.at.dir, signal: parts.shutdown, log: options.log });
  const notResources = routes({
    resources: verbs.resources,
    openApi: openApiPublisher(`v${options.release}`, parts.turns),
    health: healthChecks(parts, certificates),
    metrics: metrics.text,
    version: versionInfo(options.release, platform()),
    issuer: { issuer: issuer.issuers[0], keys: issuer.keys },
    revocations: revocationDocuments({ cache, revocations: parts.revoked, authorities, issuer, clock }),
    // Whoever really asks has verified the certificate, and nobody whom it impersonates.
    wellKnown: (path, { query, requester, request }) =>
      time(path, query) ?? check.answer(path, { user: requester.user, serverName: serverNameOf(request) }),
    serverAddress: () => hostPort(options, server?.port ?? options.securePort),
  });
  const resources = resourcesOf(options, parts, watches);
  server = await listen({
    ...certificates.first,
    host: options.bindAddress,
    port: options.securePort,
    ...(await connectionsOf(options)),
    handle: pipeline({
      authenticated: (request) => server?.authenticated(request),
      authenticate: authentications.counted(refusingKubeletCredential(identity.request, options)),
      isRevoked: (credential) => parts.revoked.isOver(credential),
      impersonate: impersonation(access.chain),
      authorizer: requestAuthorizations.counted(access.chain),
      limitRate: accessRequestRate(options.accessRequests ?? defaultAccessRequestLimits, clock),
      handle: (admitted) => (admitted.info.isResource ? resources(admitted) : notResources(admitted)),
      peer: peerCertificates(),
      places,
      flowControl: steered,
      largeBodies: largeBodies(clock),
      sendBuffers: unread,
      abandoned: abandonedLog(options, watches),
      turn: parts.turns.next,
      audit: recording.audit,
      activity,
      yaml,
      track: metrics.trackRequest,
      observe: metrics.observeRequest,
      fault: faultLog(options),
      clock,
      uuid: randomUUID,
    }),
  });
  const [{ close, port }, kept] = [server, certificates.keep(server)];
  return {
    url: `https://${hostPort(options, port)}`,
    metrics,
    renew: kept.renew,
    close: async () => {
      stalls.close();
      await kept.stopped;
      await check.stopped;
      await close(drainMs);
      await yaml.close();
      await recording.close();
    },
  };
}

/** Authenticates all but the hub's own certificate for kubelets. */
function refusingKubeletCredential(
  authenticate: Authentication["request"],
  { log }: HubOptions,
): Authentication["request"] {
  return async (facts) => {
    const found = await authenticate(facts);
    if (found.kind === "rejected" || !isKubeletCredential(found)) return found;
    const message = "the hub's own certificate for kubelets was presented to the hub: a Node has the hub's address";
    log(logEntry("KubeletCredentialPresented", message, { path: facts.path }));
    return { kind: "rejected", reason: message };
  };
}

/** The name by which a client has called this server in TLS; empty where it named none. */
function serverNameOf({ socket }: Incoming): string {
  const { servername } = socket as { readonly servername?: string | false };
  return typeof servername === "string" ? servername : "";
}

function placesOf(options: HubOptions, steered: () => FlowControl, clock: Clock): RequestPlaces {
  return requestPlaces({
    levels: () => steered().levels,
    places: options.maxRequestsInflight + (options.maxMutatingRequestsInflight ?? 0),
    watchesOfOne: options.maxWatchesPerUser ?? 10_000,
    clock,
  });
}

/** How many connections are taken, and what is said of those that are closed. */
async function connectionsOf({
  connectionLimits,
  log,
}: HubOptions): Promise<Pick<Parameters<typeof listen>[0], "monotonic" | "limits" | "refused" | "acceptFailed">> {
  const limits = connectionLimits ?? (await ownConnectionLimits());
  return {
    monotonic,
    limits,
    refused: connectionLimitLog({ limits, log, now: monotonic }),
    acceptFailed: acceptFailureLog({ log, now: monotonic }),
  };
}

/** Logs a fault of ours under the id that the client was given. */
function faultLog({ log }: HubOptions): PipelineOptions["fault"] {
  return (error, requestId, brokenOff) => {
    if (brokenOff === undefined) {
      return log(logEntry("RequestFailed", "the hub failed to answer a request", { requestId, error }));
    }
    log(
      logEntry(
        "AnswerBrokenOff",
        "the answer broke off behind what was sent; the stream or connection was closed with an error",
        { level: error instanceof StatusError ? "warn" : "error", request: requestText(brokenOff), error },
      ),
    );
  };
}

/** Logs a request whose client read nothing of the answer; a watch is counted as kube-apiserver counts it. */
function abandonedLog(
  { log }: HubOptions,
  { terminated }: Pick<WatchMetrics, "terminated">,
): PipelineOptions["abandoned"] {
  return (progress) => {
    const { info } = progress;
    if (info.verb === "watch") terminated({ group: info.group, plural: info.resource });
    const message = "the client read nothing of the answer for a minute; the connection or stream was closed";
    log(logEntry("AnswerAbandoned", message, { request: requestText(progress) }));
  };
}

/** In milliseconds, of a clock that is not set back. */
const monotonic = (): number => performance.now();

function every(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms).unref();
  return () => clearInterval(timer);
}

/** How long this process holds its event loop. */
function stallsOf({ log }: HubOptions, clock: Clock, activity: RequestActivity): LoopStalls {
  return loopStalls({
    now: () => clock.now(),
    monotonic,
    every,
    requestsDuring: (from, to) => activity.during(from, to).map(requestText),
    log,
  });
}

/** A request in a log line: who asked for what. */
function requestText({ info, user, impersonated, auditId }: Progress): string {
  const name = JSON.stringify((impersonated ?? user)?.username.slice(0, maxShownCharacters) ?? "");
  return `${info.verb} ${info.path.slice(0, maxShownCharacters)} by ${name} (audit id ${auditId})`;
}

const maxShownCharacters = 200;

/** As Go names it. */
function platform(): string {
  return `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`;
}
