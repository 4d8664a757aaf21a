import { randomUUID } from "node:crypto";
import { accessRequestRate } from "./admission/access-requests.ts";
import { serviceAccountLifetimes, tokenSecretLifetimes } from "../revocation/token-lifetimes.ts";
import { abortListeners } from "../apimachinery/abort-listeners.ts";
import { StatusError } from "../apimachinery/status.ts";
import type { Clock, RandomBytes } from "../apimachinery/clock.ts";
import { logEntry } from "../apimachinery/log-entry.ts";
import { yamlThread } from "../serializer/yaml/yaml-thread.ts";
import type { Incoming } from "../apiserver/http-types.ts";
import { largeBodies } from "../apiserver/flow-control/fair-queue.ts";
import { peerCertificates } from "../apiserver/connections/peer.ts";
import { type PipelineOptions, pipeline } from "../apiserver/pipeline.ts";
import { type Progress, type RequestActivity, requestActivity } from "../apiserver/progress.ts";
import type { FlowControl } from "../apiserver/flow-control/flow-control.ts";
import { type InflightLimiter, inflightLimiter } from "../apiserver/flow-control/inflight-limiter.ts";
import type { Handler } from "../apiserver/admitted-request.ts";
import { resourceVerbs } from "../apiserver/resource-verbs.ts";
import { type RouteOptions, routes } from "../apiserver/routes.ts";
import { type Server, listen } from "../apiserver/server.ts";
import { defaultStreamLimits, streamLimiter } from "../apiserver/connections/connection-limiter.ts";
import { versionInfo } from "../apiserver/version.ts";
import { hostPort, servingNames } from "./addresses.ts";
import { type WriteAuditOptions, writeAudit } from "../apiserver/audit/audit-trail.ts";
import type { RecordWrite } from "../registry/in-process-call.ts";
import { type OpenAudit, openAudit } from "../audit/audit-backends.ts";
import { type LoopStalls, loopStalls } from "../apiserver/event-loop.ts";
import { impersonation, refusingKubeletCredential } from "./authentication.ts";
import { authenticationMetrics } from "../authentication/metrics.ts";
import { recordCaCheck } from "../ca/ca-check.ts";
import { acceptFailureLog } from "../host/listening.ts";
import { connectionLimitLog, connectionsText, ownConnectionLimits } from "./connection-limits.ts";
import { credentialMetrics } from "../revocation/metrics.ts";
import type { HubBase } from "./hub-state.ts";
import type { Decisions } from "./api-server.ts";
import { storedFlowControl } from "../apiserver/flow-control/flow-control-objects.ts";
import { healthChecks } from "./health-checks.ts";
import type { HubOptions } from "./hub-options.ts";
import { type Metrics, auditText, fairnessText, hubMetrics, unreadText } from "./metrics.ts";
import { defaultKubeletAddressTypes } from "../kubelet/kubelet-address.ts";
import { kubeletClient, kubeletCredential } from "../kubelet/kubelet-client.ts";
import { openApiPublisher } from "../apiserver/open-api.ts";
import { portCertificates } from "../ca/port-certificates.ts";
import { requestAuthorizationMetrics } from "../authorization/request-metrics.ts";
import { revocationDocuments } from "../revocation/revocation-documents.ts";
import { sendBuffers } from "../apiserver/connections/send-buffers.ts";
import { signedTime } from "../ca/signed-time.ts";
import { objectMetrics } from "./object-metrics.ts";
import { type WatchMetrics, watchMetrics } from "../apiserver/request-metrics.ts";

/** The parts of the hub that serving needs. */
export interface ServeParts
  extends
    Pick<HubBase, "revoked" | "authorities" | "issuer" | "cache" | "store" | "clock">,
    Pick<Decisions, "verbs" | "turns" | "counts" | "access" | "identity"> {
  readonly shutdown: AbortSignal;
  readonly isReady: () => boolean;
  /** Where keys are stored. */
  readonly at: { readonly dir: string; readonly now: number; readonly random: RandomBytes };
}

/** The API on its port. */
export interface Serving {
  readonly url: string;
  readonly metrics: Metrics;
  /** Records the writes of the clients inside the hub in the audit log; undefined where there is none. */
  readonly recordWrite: RecordWrite | undefined;
  /** Serves with a certificate of the active CA. Call it after the CAs change. */
  readonly renew: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** How long a stop waits for requests under way, in milliseconds. */
const drainMs = 5_000;

/** Opens the audit backends and the port. Health checks report `controllers` until `isReady`. */
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
  { watches, otherPaths }: { readonly watches: WatchMetrics; readonly otherPaths: Handler },
): Handler {
  const { follow } = revoked;
  const { watched, terminated } = watches;
  const own = {
    registry: verbs,
    clock,
    turns,
    chance: Math.random,
    shutdown,
    onAbort: abortListeners(),
    lifeOf: serviceAccountLifetimes(cache),
    secretLifeOf: tokenSecretLifetimes(cache),
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
  };
  return resourceVerbs(own, otherPaths);
}

function metricsOf(
  options: HubOptions,
  parts: ServeParts,
  port: {
    readonly connections: () => number;
    readonly clients: () => string;
    readonly texts: readonly (() => string)[];
  },
): Metrics {
  const { verbs, access, cache, clock, counts, revoked, at } = parts;
  const now = (): number => clock.now();
  const objects = objectMetrics({
    ...parts,
    resources: verbs.resources,
    pkiDir: at.dir,
    dataDir: options.dataDir,
    version: versionInfo(options.release, platform()),
    now,
  });
  const credentials = credentialMetrics(cache, { now, revoked });
  return hubMetrics({
    connections: port.connections,
    revision: cache.revision,
    isResource: (group, version, plural) =>
      verbs
        .resources()
        .some((resource) => resource.plural === plural && resource.group === group && resource.version === version),
    texts: [...port.texts, counts.admission.text, port.clients, credentials, objects, access.metrics.text],
  });
}

async function serveRecorded(options: HubOptions, parts: ServeParts, recording: OpenAudit): Promise<Serving> {
  const { access, identity, authorities, cache, clock, at, shutdown: signal } = parts;
  const names = servingNames(options);
  const certificates = await portCertificates({ ...at, authorities, names, clock, signal, log: options.log });
  const steered = storedFlowControl(cache);
  const places = placesOf(options, steered, clock);
  const [activity, yaml] = [requestActivity(), yamlThread()];
  const stalls = stallsOf(options, clock, activity);
  const authentications = authenticationMetrics(() => clock.now(), monotonic);
  const requestAuthorizations = requestAuthorizationMetrics(monotonic);
  const [watches, unread] = [watchMetrics(), sendBuffers(every)];
  let server: Server | undefined;
  const serverAddress = (): string => hostPort(options, server?.port ?? options.securePort);
  const metrics = metricsOf(options, parts, {
    connections: () => server?.connections() ?? 0,
    clients: () => parts.counts.clients.text(serverAddress()),
    texts: [
      () => fairnessText(places.counts()),
      stalls.text,
      () => auditText(recording.counts()),
      () => authentications.text() + requestAuthorizations.text(),
      () => watches.text() + unreadText(unread) + connectionsText(server),
    ],
  });
  const check = await recordCaCheck({ ...parts, dir: at.dir, signal, log: options.log });
  const own = { health: healthChecks(parts, certificates), metrics: metrics.text, answer: check.answer, serverAddress };
  const otherPaths = otherPathsOf(options, parts, own);
  const handle = handlerOf(options, parts, {
    authenticated: (request) => server?.authenticated(request),
    authenticate: authentications.counted(refusingKubeletCredential(identity.request, options)),
    authorizer: requestAuthorizations.counted(access.chain),
    handle: resourcesOf(options, parts, { watches, otherPaths }),
    inflight: places,
    flowControl: steered,
    sendBuffers: unread,
    abandoned: abandonedLog(options, watches),
    audit: recording.audit,
    activity,
    yaml,
    track: metrics.trackRequest,
    observe: metrics.observeRequest,
  });
  const { bindAddress: host, securePort: port } = options;
  server = await listen({ ...certificates.first, host, port, ...(await connectionsOf(options)), handle });
  const [{ close }, kept] = [server, certificates.keep(server)];
  return {
    url: `https://${serverAddress()}`,
    metrics,
    recordWrite: recorderOf(options, recording, { yaml, clock }),
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

/** Handles non-resource paths. */
function otherPathsOf(
  options: HubOptions,
  { verbs, turns, issuer, cache, revoked, authorities, clock }: ServeParts,
  {
    answer,
    ...own
  }: Pick<RouteOptions, "health" | "metrics" | "serverAddress"> &
    Pick<Awaited<ReturnType<typeof recordCaCheck>>, "answer">,
): Handler {
  const time = signedTime(authorities, clock);
  return routes({
    ...own,
    resources: verbs.resources,
    openApi: openApiPublisher(`v${options.release}`, turns),
    version: versionInfo(options.release, platform()),
    issuer: { issuer: issuer.issuers[0], keys: issuer.keys },
    revocations: revocationDocuments({ cache, revocations: revoked, authorities, issuer, clock }),
    // The requester itself verified the certificate, not the user that it impersonates.
    wellKnown: (path, { query, requester, request }) =>
      time(path, query) ?? answer(path, { user: requester.user, serverName: serverNameOf(request) }),
  });
}

type OwnSteps =
  | "isRevoked"
  | "impersonate"
  | "limitRate"
  | "peer"
  | "largeBodies"
  | "turn"
  | "fault"
  | "clock"
  | "uuid";

/** The request pipeline, from the steps of the port and those created here. */
function handlerOf(
  options: HubOptions,
  { access, revoked, turns, clock }: ServeParts,
  steps: Omit<PipelineOptions, OwnSteps>,
): ReturnType<typeof pipeline> {
  return pipeline({
    ...steps,
    isRevoked: (credential) => revoked.isOver(credential),
    impersonate: impersonation(access.chain),
    limitRate: accessRequestRate(options, clock),
    peer: peerCertificates(),
    largeBodies: largeBodies(clock),
    turn: turns.next,
    fault: faultLog(options),
    clock,
    uuid: randomUUID,
  });
}

/** The server name (SNI) that the client sent; empty where it sent none. */
function serverNameOf({ socket }: Incoming): string {
  const { servername } = socket as { readonly servername?: string | false };
  return typeof servername === "string" ? servername : "";
}

function placesOf(options: HubOptions, steered: () => FlowControl, clock: Clock): InflightLimiter {
  return inflightLimiter({
    levels: () => steered().levels,
    places: options.maxRequestsInflight + (options.maxMutatingRequestsInflight ?? 0),
    watchesOfOne: options.maxWatchesPerUser ?? 10_000,
    clock,
  });
}

/** Connection limits, and the logs of refused connections. */
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

function recorderOf(
  options: HubOptions,
  { audit }: OpenAudit,
  tools: Pick<WriteAuditOptions, "yaml" | "clock">,
): RecordWrite | undefined {
  return audit && writeAudit({ ...tools, audit, uuid: randomUUID, fault: faultLog(options) });
}

/** Logs a fault of the hub with the request id that the client received. */
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

/** Logs a request whose client read nothing of the response; a watch is counted as in kube-apiserver. */
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

/** Milliseconds of a monotonic clock. */
const monotonic = (): number => performance.now();

function every(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms).unref();
  return () => clearInterval(timer);
}

/** Measures how long this process blocks its event loop. */
function stallsOf({ log }: HubOptions, clock: Clock, activity: RequestActivity): LoopStalls {
  return loopStalls({
    now: () => clock.now(),
    monotonic,
    every,
    requestsDuring: (from, to) => activity.during(from, to).map(requestText),
    log,
  });
}

/** A request in a log line: verb, path, user, audit id. */
function requestText({ info, user, impersonated, auditId }: Progress): string {
  const name = JSON.stringify((impersonated ?? user)?.username.slice(0, maxShownCharacters) ?? "");
  return `${info.verb} ${info.path.slice(0, maxShownCharacters)} by ${name} (audit id ${auditId})`;
}

const maxShownCharacters = 200;

/** As Go names it. */
function platform(): string {
  return `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`;
}
