import { peerCertificates } from "../../apiserver/connections/peer.ts";
import { readBody } from "../../apiserver/body/body.ts";
import type { Incoming, Outgoing } from "../../apiserver/http-types.ts";
import { endWith, writeHead } from "../../apiserver/respond.ts";
import { type Server, listen } from "../../apiserver/server.ts";
import { x509 } from "../../authentication/x509.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import { jsonProblem } from "../../apimachinery/json-value.ts";
import { StatusError, badRequest } from "../../apimachinery/status.ts";
import type { KeyPair } from "../../ca/hub-certificates.ts";
import { loadTrustRoots } from "../../pki/verify-chain.ts";
import { OptionError } from "../../apimachinery/option-error.ts";
import { systemErrorText } from "../../apimachinery/system-error.ts";
import { failureMessage } from "../../client/api-errors.ts";
import { logEntry } from "../../apimachinery/log-entry.ts";
import { acceptFailureLog } from "../../host/listening.ts";
import { renewalCheckMs, repeat } from "../../host/repeat.ts";
import type { World } from "../world.ts";
import { type SecureServing, type ServingPair, clientCaOf } from "./secure-serving.ts";

/** Handles one request, parsed JSON, and returns the reply. The client receives a StatusError that it rejects with. */
export type JsonAnswer = (asked: unknown) => Promise<unknown>;

export interface JsonServerOptions {
  readonly certPem: string;
  readonly keyPem: string;
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** The CA of client certificates; undefined: every client is served. */
  readonly clientCaPem: string | undefined;
  /** The CA whose name the TLS handshake sends to clients where `clientCaPem` is undefined. */
  readonly caPem: string;
  /** The handler of a path; undefined: 404. */
  readonly answerTo: (path: string) => JsonAnswer | undefined;
  /** Whether requests to a path are handled with any keys and depth: those that contain stored objects. Default: never. */
  readonly takesAnyJson?: (path: string) => boolean;
  /** Whether requests can be handled; until then they get 503. */
  readonly isReady: () => boolean;
  /** Why clients would reject the serving certificate now; undefined while they would accept it. Absent: never. */
  readonly certificateProblem?: () => string | undefined;
  /** Handles requests before it is ready too: for a handler that denies until then. */
  readonly answersEarly?: boolean;
  /** Prometheus text for GET /metrics, for permitted clients; absent: 404. */
  readonly metrics?: () => Promise<string>;
  readonly clock: Clock;
  readonly onFault: (error: unknown) => void;
  /** Called when a connection could not be accepted; the server continues. */
  readonly acceptFailed?: (error: Error) => void;
}

const maxInFlight = 256;
const bodyTimeoutMs = 10_000;

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** A server whose certificate can be replaced. */
export interface JsonServer extends Omit<Server, "renew"> {
  /** Replaces the serving certificate for new connections. */
  readonly renew: (pair: KeyPair) => void;
}

/** Serves POST requests, and GET /livez, /healthz and /readyz, over HTTPS. Bodies, waits and requests in flight are bounded. @throws OptionError */
export async function serveJson(options: JsonServerOptions): Promise<JsonServer> {
  const isTrusted = clientCheck(options);
  let inFlight = 0;

  async function checkClient(request: Incoming): Promise<void> {
    if (await isTrusted(request)) return;
    throw new StatusError("Unauthorized", "a client certificate of the CA in --client-ca-file is needed");
  }

  async function review(request: Incoming, path: string, answerer: JsonAnswer): Promise<Answer> {
    if (request.method !== "POST") throw new StatusError("MethodNotAllowed", "reviews are sent with POST");
    await checkClient(request);
    if (options.answersEarly !== true && !options.isReady())
      throw new StatusError("ServiceUnavailable", "still starting");
    if (inFlight >= maxInFlight) throw new StatusError("TooManyRequests", "too many reviews at once");
    inFlight += 1;
    try {
      const asked = parsed(await readBody(request, { timeoutMs: bodyTimeoutMs }));
      const problem = options.takesAnyJson?.(path) === true ? undefined : jsonProblem(asked);
      if (problem !== undefined) throw badRequest(problem);
      return { status: 200, type: "application/json", body: JSON.stringify(await answerer(asked)) };
    } finally {
      inFlight -= 1;
    }
  }

  const gets: Readonly<Record<string, (request: Incoming) => Promise<Answer>>> = {
    "/livez": async () => text(200, "ok"),
    "/healthz": async () => text(200, "ok"),
    "/readyz": async () => {
      const problem = options.isReady() ? options.certificateProblem?.() : "still starting";
      return problem === undefined ? text(200, "ok") : text(503, problem);
    },
    "/metrics": async (request) => {
      if (options.metrics === undefined) return text(404, "not found");
      await checkClient(request);
      return { status: 200, type: "text/plain; version=0.0.4; charset=utf-8", body: await options.metrics() };
    },
  };

  async function answer(request: Incoming): Promise<Answer> {
    const [path = ""] = (request.url ?? "").split("?", 1);
    const answerer = options.answerTo(path);
    if (answerer !== undefined) return review(request, path, answerer);
    return Object.hasOwn(gets, path) ? (gets[path]?.(request) ?? text(404, "not found")) : text(404, "not found");
  }

  async function handle(request: Incoming, response: Outgoing): Promise<void> {
    const { status, type, body } = await answer(request).catch((error: unknown) => {
      if (!(error instanceof StatusError)) options.onFault(error);
      const code = error instanceof StatusError ? error.code : 500;
      return text(code, error instanceof StatusError ? error.message : "internal error");
    });
    writeHead(response, status, { "content-type": type, "content-length": Buffer.byteLength(body) });
    endWith(response, body);
  }

  return listenFor(options, (request, response) => {
    request.on("error", () => undefined);
    handle(request, response).catch(options.onFault);
  });
}

async function listenFor(
  { certPem, keyPem, host, port, clientCaPem, caPem, acceptFailed }: JsonServerOptions,
  handle: (request: Incoming, response: Outgoing) => void,
): Promise<JsonServer> {
  const shownCa = { clientCaPem: clientCaPem ?? caPem };
  const monotonic = (): number => performance.now();
  const listening = listen({ certPem, keyPem, host, port, ...shownCa, monotonic, acceptFailed, handle });
  const server = await listening.catch((error: unknown) => {
    throw startError(error, host, port);
  });
  return { ...server, renew: (pair) => server.renew({ ...pair, ...shownCa }) };
}

/** Why the server cannot listen, in the words of the options. */
function startError(error: unknown, host: string, port: number): unknown {
  const place = `${host}:${port}`;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "EADDRINUSE")
    return new OptionError("failed", `${place} is in use; choose another --secure-port, or 0 for a free one`);
  if (code === "ENOTFOUND" || code === "EAI_AGAIN" || code === "EINVAL")
    return new OptionError("usage", `--bind-address ${host}: must be an address of this machine`);
  if (code === "EACCES" || code === "EADDRNOTAVAIL")
    return new OptionError("failed", systemErrorText(error, { operation: "listen", at: place }));
  if (!/^ERR_(OSSL|SSL|TLS)/.test(code)) return error;
  const files = "--tls-cert-file and --tls-private-key-file";
  return new OptionError("usage", `${files} hold no certificate and key in PEM that belong together`);
}

function text(status: number, body: string): Answer {
  return { status, type: "text/plain; charset=utf-8", body };
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    throw badRequest("the body is not JSON");
  }
}

function rootsOf(pem: string): ReturnType<typeof loadTrustRoots> {
  try {
    return loadTrustRoots(pem);
  } catch (error) {
    throw new OptionError("usage", `--client-ca-file: ${error instanceof Error ? error.message : "cannot be read"}`);
  }
}

function clientCheck({ clientCaPem, clock }: JsonServerOptions): (request: Incoming) => Promise<boolean> {
  if (clientCaPem === undefined) return async () => true;
  const roots = rootsOf(clientCaPem);
  const authenticate = x509({ roots: () => roots, now: () => clock.now() });
  const presented = peerCertificates();
  return async (request) => {
    const verdict = await authenticate({ authorization: undefined, peerCertificates: presented(request) });
    return verdict.kind === "authenticated";
  };
}

type Answers = "answerTo" | "takesAnyJson" | "isReady" | "answersEarly" | "metrics";

interface ReviewServing extends Pick<JsonServerOptions, Answers> {
  /** The name of the server for log lines: `the webhook`. */
  readonly program: string;
  readonly serving: SecureServing;
  readonly pair: ServingPair;
  readonly world: World;
  readonly signal: AbortSignal;
  /** Runs once the port is open, until `signal` aborts. */
  readonly whileServing: () => Promise<unknown>;
}

const drainMs = 5_000;

/** Answers reviews over HTTPS until `signal` aborts; reviews in progress then have five seconds. @throws OptionError */
export async function serveReviews(options: ReviewServing): Promise<void> {
  const { program, serving, pair, world, signal, whileServing, ...answers } = options;
  const { clock, log } = world;
  const listening = await serveJson({
    ...answers,
    ...pair.current(),
    caPem: pair.caPem,
    host: serving.bindAddress,
    port: serving.port,
    clientCaPem: await clientCaOf(serving, world),
    certificateProblem: pair.problem,
    clock,
    onFault: (error) =>
      log(logEntry("ReviewFailed", `${program} cannot answer a review`, { error: failureMessage(error) })),
    acceptFailed: acceptFailureLog({ log, now: () => performance.now(), server: program }),
  });
  log(logEntry("Listening", `${program} listens`, { port: listening.port }));
  const running = whileServing();
  await repeat({
    clock,
    signal,
    everyMs: renewalCheckMs,
    work: () => pair.look(listening.renew),
    failed: (error) =>
      log(
        logEntry(
          "CertificateRenewalFailed",
          `${program} cannot renew its serving certificate; it keeps the previous one`,
          { error },
        ),
      ),
  });
  log(logEntry("Stopping", `${program} stops: reviews in progress may finish; a second signal ends it at once`));
  await listening.close(drainMs);
  await running;
}
