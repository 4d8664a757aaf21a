import type { Attributes } from "../authorization/authorizer.ts";
import type { AuthorizerChain, ChainDecision } from "../authorization/chain.ts";
import { forbiddenRequest } from "../authorization/forbidden-text.ts";
import type { RequestFacts } from "../authentication/authenticator.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { StatusError, badRequest, unauthorized } from "../apimachinery/status.ts";
import { authenticatedGroup, type UserInfo } from "../apimachinery/user.ts";
import type { Credential } from "../apis/revocation-index.ts";
import type { YamlThread } from "../serializer/yaml/yaml-thread.ts";
import type { Handler, Requester } from "./admitted-request.ts";
import type { Audit } from "./audit/audit.ts";
import { auditTrail, type AuditTrail } from "./audit/audit-trail.ts";
import { bringsBody, discardBody, readBody, requestLimits } from "./body/body.ts";
import { mediaType } from "./body/decode-body.ts";
import { onDisconnect } from "./connections/disconnect.ts";
import { statusOf, statusReply, UndecidedRequest } from "./error-reply.ts";
import {
  header,
  splitTarget,
  type Incoming,
  type Outgoing,
  type Query,
  type Reply,
  type Upgrade,
} from "./http-types.ts";
import { largeBodyBytes, type LargeBodies } from "./flow-control/fair-queue.ts";
import type { PeerCertificates } from "./connections/peer.ts";
import {
  type RequestActivity,
  newProgress,
  type Progress,
  addAnnotation,
  addWarning,
  warningHeaders,
} from "./progress.ts";
import { flowOf, isPrivileged, type FlowControl } from "./flow-control/flow-control.ts";
import { TooManyRequests, type Seat, type InflightLimiter } from "./flow-control/inflight-limiter.ts";
import { requestAttributes, requestInfo, isLongRunning, type RequestInfo } from "./request-info.ts";
import { breakOff, respond, type CommonHeaders } from "./respond.ts";
import type { SendBuffer, SendBuffers } from "./connections/send-buffers.ts";

export interface PipelineOptions {
  /** Anonymous access is decided here: absent credentials result in a user or in `rejected`. */
  readonly authenticate: (
    facts: RequestFacts,
  ) => Promise<({ readonly kind: "authenticated" } & Requester) | { readonly kind: "rejected" }>;
  /** Whether a valid credential has been revoked since; checked again after each wait for the client. */
  readonly isRevoked: (credential: Credential) => boolean;
  /** The impersonated user, from the impersonation headers; undefined without any. @throws StatusError when it is not allowed. */
  readonly impersonate: (request: Incoming, user: UserInfo) => Promise<UserInfo | undefined>;
  readonly authorizer: AuthorizerChain;
  /** Counts a request that may be made, before any of its body is read. @throws StatusError TooManyRequests. */
  readonly limitRate: (asked: {
    readonly info: RequestInfo;
    readonly user: UserInfo;
    readonly address: string;
  }) => void;
  readonly handle: Handler;
  /** Called with each request with a valid credential. */
  readonly authenticated: (request: Incoming) => void;
  readonly peer: PeerCertificates;
  readonly inflight: InflightLimiter;
  /** Flow control by the objects stored now. */
  readonly flowControl: () => FlowControl;
  readonly largeBodies: LargeBodies;
  readonly sendBuffers: SendBuffers;
  /** Called with a request whose answer was ended because its client read nothing of it for too long. */
  readonly abandoned: (progress: Progress) => void;
  /** Waits until the next part of a large answer to this flow may be written. */
  readonly turn: (flow: string) => Promise<void>;
  readonly audit: Audit | undefined;
  readonly activity: RequestActivity;
  /** Reads and writes YAML, bodies for the audit log included. */
  readonly yaml: YamlThread;
  /** Called with every request that has its seat. */
  readonly track: (info: RequestInfo) => { readonly streaming: () => void; readonly end: () => void };
  /** Called with every finished request. */
  readonly observe: (seen: {
    readonly info: RequestInfo;
    readonly code: number;
    readonly ms: number;
    /** How much of that was a wait for a seat. */
    readonly waitedMs: number;
    /** Length of the body that was sent. */
    readonly bytes: number;
  }) => void;
  /**
   * An internal error: what was thrown, with the id in the answer, and the request where its answer was cut off: its status was
   * sent before.
   */
  readonly fault: (error: unknown, requestId: string, brokenOff?: Progress) => void;
  readonly clock: Clock;
  readonly uuid: () => string;
}

/** Only the audit log records the trace of a decision. */
const traced = { trace: true };
const auditIdForm = /^[\w.-]{1,64}$/;
/** Milliseconds in which a body must have arrived. Source: apiserver's request timeout of 34 seconds for writes. */
const bodyTimeoutMs = 34_000;

/**
 * Handles one request: request info, authenticate, audit begins, impersonate, a seat, authorize, handle, answer, audit ends. Never rejects; any error
 * becomes a Status, and one that is not a StatusError only an InternalError with an id.
 */
export function pipeline(options: PipelineOptions): (request: Incoming, response: Outgoing, upgrade?: Upgrade) => void {
  return function serve(request, response, upgrade) {
    const progress = newProgress(auditId(request, options.uuid), options.clock.now());
    options.activity.began(progress);
    const trail = auditTrail(options.audit, request, progress, () => options.yaml.of(flowIn(request, progress)));
    const buffer = lazyBuffer(options, { request, response, progress });
    void finish(options, { request, response, upgrade, progress, trail, buffer });
  };
}

interface Passage {
  readonly request: Incoming;
  readonly response: Outgoing;
  readonly upgrade: Upgrade | undefined;
  readonly progress: Progress;
  readonly trail: AuditTrail;
  readonly buffer: () => SendBuffer;
}

/** Opened for the few answers that are large. */
function lazyBuffer(
  { sendBuffers, abandoned }: PipelineOptions,
  { request, response, progress }: Pick<Passage, "request" | "response" | "progress">,
): () => SendBuffer {
  let buffer: SendBuffer | undefined;
  return () => {
    if (buffer !== undefined) return buffer;
    const opened = sendBuffers.open({
      flow: flowIn(request, progress),
      abandon: () => {
        abandoned(progress);
        breakOff(response);
      },
    });
    buffer = opened;
    onDisconnect(response, opened.close);
    return opened;
  };
}

async function finish(options: PipelineOptions, passage: Passage): Promise<void> {
  const { request, response, progress, trail } = passage;
  let reply: Reply | "streamed";
  let bytes = 0;
  try {
    reply = await serveRequest(options, passage);
  } catch (error) {
    reply = failed(options, progress, error);
  }
  if (reply !== "streamed") {
    progress.code = reply.status;
    try {
      if (response.headersSent) response.end();
      else
        bytes = await respond(response, reply, {
          common: commonHeaders(progress),
          acceptEncoding: header(request, "accept-encoding"),
          head: request.method === "HEAD",
          buffer: passage.buffer,
          turn: () => options.turn(flowIn(request, progress)),
        });
    } catch (error) {
      options.fault(error, progress.auditId, progress);
      breakOff(response);
    }
  }
  const now = options.clock.now();
  options.activity.ended(progress, now);
  options.observe({
    info: progress.info,
    code: progress.code,
    ms: now - progress.receivedAt,
    waitedMs: progress.waitedMs,
    bytes,
  });
  try {
    await trail.end(reply, now);
  } catch (error) {
    options.fault(error, progress.auditId);
  }
  progress.whenEnded?.();
  // No handler has read the body, and the connection would receive it without end.
  if (!progress.isBodyTaken && bringsBody(request)) discardBody(request);
}

function failed(options: PipelineOptions, progress: Progress, error: unknown): Reply {
  if (error instanceof TooManyRequests) return tooMany;
  if (error instanceof UndecidedRequest) {
    return { status: 500, contentType: "text/plain; charset=utf-8", body: `${error.message}\n` };
  }
  if (error instanceof StatusError) progress.failure = error;
  else {
    progress.faulted = true;
    options.fault(error, progress.auditId);
  }
  return statusReply(statusOf(error, progress.auditId));
}

const tooMany: Reply = {
  status: 429,
  contentType: "text/plain; charset=utf-8",
  body: "Too many requests, please try again later.",
  headers: { "retry-after": "1" },
};

async function serveRequest(options: PipelineOptions, passage: Passage): Promise<Reply | "streamed"> {
  const { request, progress } = passage;
  const { path, query } = splitTarget(request.url ?? "/");
  progress.info = infoOf(request, path, query);
  const facts: RequestFacts = {
    authorization: header(request, "authorization"),
    peerCertificates: options.peer(request),
    path: progress.info.path,
    ...senderOf(request),
  };
  const authentication = await options.authenticate(facts);
  if (authentication.kind === "rejected") throw unauthorized();
  progress.user = authentication.user;
  if (authentication.user.groups.includes(authenticatedGroup)) options.authenticated(request);
  passage.trail.begin(progress.receivedAt);
  progress.impersonated = await options.impersonate(request, authentication.user);
  const user = progress.impersonated ?? authentication.user;
  const entered = enter(options, passage, user);
  const seat = entered instanceof Promise ? await waited(entered, progress, options) : entered;
  const tracked = options.track(progress.info);
  try {
    return await admit(options, passage, { user, requester: authentication, query, seat, tracked });
  } finally {
    seat.leave();
    tracked.end();
  }
}

function senderOf(request: Incoming): Pick<RequestFacts, "address" | "userAgent"> {
  const [address, userAgent] = [request.socket?.remoteAddress, header(request, "user-agent")];
  return { ...(address === undefined ? {} : { address }), ...(userAgent === undefined ? {} : { userAgent }) };
}

/** Counts a wait, however it ends. */
async function waited(
  seat: Promise<Seat>,
  progress: Progress,
  { clock }: Pick<PipelineOptions, "clock">,
): Promise<Seat> {
  const begun = clock.now();
  try {
    return await seat;
  } finally {
    // A clock may be set back meanwhile.
    progress.waitedMs = Math.max(0, clock.now() - begun);
  }
}

function enter(
  { inflight, flowControl }: Pick<PipelineOptions, "inflight" | "flowControl">,
  { request, response, progress }: Passage,
  user: UserInfo,
): Seat | Promise<Seat> {
  const sender = flowIn(request, progress);
  const classified = flowControl().classify(progress.info, user, sender);
  progress.classified = classified;
  return inflight.enter({
    level: classified.level,
    flow: classified.flow,
    sender,
    senderClass: classified.senderClass,
    longRunning: isLongRunning(progress.info),
    whenGone: (gone) => onDisconnect(response, gone),
  });
}

/** The flow of a request whose user is known; before that, of its address. */
function flowIn(request: Incoming, { user, impersonated }: Progress): string {
  const address = request.socket?.remoteAddress ?? "";
  const asks = impersonated ?? user;
  return asks === undefined ? address : flowOf(asks, address);
}

interface Entered {
  readonly user: UserInfo;
  readonly requester: Requester;
  readonly query: Query;
  readonly seat: Seat;
  readonly tracked: ReturnType<PipelineOptions["track"]>;
}

/** @throws StatusError Unauthorized */
function checkStillGood({ isRevoked }: Pick<PipelineOptions, "isRevoked">, { credential }: Requester): void {
  if (credential !== undefined && isRevoked(credential)) throw unauthorized();
}

async function admit(
  options: PipelineOptions,
  { request, response, upgrade, progress, trail, buffer }: Passage,
  { user, requester, query, seat, tracked }: Entered,
): Promise<Reply | "streamed"> {
  const attributes = requestAttributes(progress.info, user, query);
  const isTraced = progress.audited !== undefined && options.audit?.omitTrace !== true;
  progress.decision = await options.authorizer.decide(attributes, isTraced ? traced : undefined);
  // The request may have waited for a seat and for remote authorizers.
  checkStillGood(options, requester);
  const uri = request.url ?? "/";
  if (progress.decision.verdict !== "allow") throw refusal(attributes, progress.decision, uri);
  options.limitRate({ info: progress.info, user, address: request.socket?.remoteAddress ?? "" });
  const flow = flowIn(request, progress);
  const limits = requestLimits(progress.info, { user, mediaType: mediaType(header(request, "content-type")) });
  return options.handle({
    request,
    response,
    info: progress.info,
    query,
    user,
    requester,
    now: progress.receivedAt,
    warn: (text) => addWarning((progress.warnings ??= []), text),
    annotate: (key, value) => addAnnotation(progress, key, value),
    flow,
    yaml: options.yaml.of(flow),
    limits,
    body: async () => {
      progress.isBodyTaken = true;
      const admitted = (): Promise<void> => admitLarge(options, { request, response, progress }, user);
      const large = { fromBytes: largeBodyBytes, admitted };
      const reading = { timeoutMs: bodyTimeoutMs, maxBytes: limits.maxBytes, large };
      const body = await seat.whileReading(() => readBody(request, reading));
      checkStillGood(options, requester);
      return body;
    },
    receivedBody: trail.recordBody,
    buffer,
    authorizeVerb: async (verb) => {
      const also = { ...attributes, verb };
      const decision = await options.authorizer.decide(also);
      if (decision.verdict !== "allow") throw refusal(also, decision, uri);
    },
    common: () => commonHeaders(progress),
    upgrade,
    releaseSeat: () => seat.streaming(),
    streaming: (code = 200) => {
      seat.streaming();
      tracked.streaming();
      progress.code = code;
      trail.streaming(options.clock.now());
    },
  });
}

/** Waits until a large body may be read. @throws TooManyRequests where that takes too long. */
async function admitLarge(
  { largeBodies }: PipelineOptions,
  { request, response, progress }: Pick<Passage, "request" | "response" | "progress">,
  user: UserInfo,
): Promise<void> {
  if (isPrivileged(progress.info, user)) return;
  const release = await largeBodies.admit({
    flow: flowIn(request, progress),
    whenGone: (gone) => onDisconnect(response, gone),
  });
  if (release === "refused") throw new TooManyRequests();
  progress.whenEnded = release;
}

/** Refuses a request that is not allowed: Forbidden, or an internal error where an authorizer failed. Source: apiserver endpoints/filters. */
function refusal(attributes: Attributes, decision: ChainDecision, uri: string): StatusError | UndecidedRequest {
  return decision.error === undefined
    ? forbiddenRequest(attributes, decision.reason)
    : new UndecidedRequest(uri, decision.error);
}

function infoOf(request: Incoming, path: string, query: Query): RequestInfo {
  const info = requestInfo(request.method ?? "GET", path, query);
  if (info === undefined)
    throw badRequest(`the path ${JSON.stringify(path.slice(0, 256))} is not valid percent-encoding`);
  return info;
}

function auditId(request: Incoming, uuid: () => string): string {
  const given = header(request, "audit-id");
  return given !== undefined && auditIdForm.test(given) ? given : uuid();
}

/** Source: apiserver pkg/server/filters priority-and-fairness. */
function flowHeaders({ classified }: Progress): Readonly<Record<string, string>> {
  if (classified === undefined) return {};
  return {
    "x-kubernetes-pf-flowschema-uid": classified.schemaUid,
    "x-kubernetes-pf-prioritylevel-uid": classified.levelUid,
  };
}

function commonHeaders(progress: Progress): CommonHeaders {
  const common = { "audit-id": progress.auditId, ...flowHeaders(progress) };
  return progress.warnings === undefined ? common : { ...common, warning: warningHeaders(progress.warnings) };
}
