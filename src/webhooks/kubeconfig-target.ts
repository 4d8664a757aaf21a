import { readFile } from "node:fs/promises";
import { kubeconfigAccess } from "../client/kubeconfig-access.ts";
import { KubeconfigError, parseKubeconfig } from "../client/kubeconfig.ts";
import { ConnectionError } from "../client/client.ts";
import { remoteClient, type RemoteClient } from "../client/remote.ts";
import { retryAfterMs } from "../client/replies.ts";
import { resolveKubeconfig } from "../client/resolve-kubeconfig.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { systemErrorText } from "../apimachinery/system-error.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import { hubWorld } from "../host/process-world.ts";
import { errorText } from "../apimachinery/error-text.ts";

/** A service that a file in kubeconfig format names: its address, its CA, and the credential of the hub for it. */
export interface KubeconfigTarget {
  /** Sends JSON to the address in the file; resolves to the JSON of the response. Rejects for any status but 200 and 201. */
  post(body: object): Promise<unknown>;
  close(): void;
}

/** An unusable response; the message never contains text of the service. */
export class TargetError extends Error {
  override readonly name = "TargetError";
  readonly code: "status" | "body";
  /** The status of the response. */
  readonly status: number;
  /** How long to wait before another attempt, in milliseconds, where the response has Retry-After. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: TargetError["code"],
    message: string,
    answer: { readonly status: number; readonly retryAfterMs?: number | undefined },
  ) {
    super(message);
    this.code = code;
    this.status = answer.status;
    this.retryAfterMs = answer.retryAfterMs;
  }
}

export interface KubeconfigTargetOptions {
  /** The option that names the file, for messages. */
  readonly flag: string;
  readonly file: string;
  readonly clock: Clock;
  readonly release: string;
  /** The timeout for a whole response, in milliseconds. */
  readonly timeoutMs: number;
  /** The maximum size of a response, in bytes. */
  readonly maxBytes: number;
}

/** Reads the file. Nothing is sent yet. @throws HubError that names option, file and field. */
export async function openKubeconfigTarget(options: KubeconfigTargetOptions): Promise<KubeconfigTarget> {
  const { flag, file } = options;
  try {
    const config = parseKubeconfig(await readFile(file, "utf8"), file);
    const resolved = await resolveKubeconfig(config, { readFile: (path) => readFile(path) });
    const url = new URL(resolved.server);
    const client = remoteClient({
      ...kubeconfigAccess(resolved, hubWorld(options)),
      server: url.origin,
      userAgent: `pratique-hub/${options.release}`,
      timeoutMs: options.timeoutMs,
      clock: options.clock,
      retryBudgetMs: 0,
      maxReplyBytes: options.maxBytes,
    });
    return { post: (body) => post(client, url.pathname, body), close: () => client.close() };
  } catch (error) {
    if (error instanceof ConnectionError)
      throw new HubError("options", `${flag} ${file}: ${error.message}`, { cause: error });
    const why =
      error instanceof KubeconfigError ? error.message : systemErrorText(error, { operation: "read", at: file });
    throw new HubError("options", `${flag}: ${why}`, { cause: error });
  }
}

async function post(client: RemoteClient, path: string, body: object): Promise<unknown> {
  const headers = { "content-type": "application/json", accept: "application/json" };
  const reply = await client.raw("POST", path, { headers, body: Buffer.from(JSON.stringify(body)) });
  if (reply.status < 200 || reply.status > 299) {
    const { status, headers: given } = reply;
    const answer = { status, retryAfterMs: retryAfterMs(status, given["retry-after"]) };
    throw new TargetError("status", `the service answered with status ${status}`, answer);
  }
  try {
    return JSON.parse(reply.body.toString("utf8")) as unknown;
  } catch {
    // The message of the parser would quote the response.
    throw new TargetError("body", "the answer of the service is not JSON", reply);
  }
}

/** The retries of a review. Source: apiserver pkg/util/webhook DefaultRetryBackoffWithInitialDelay. */
const tries = 5;
const pause = { firstMs: 500, factor: 1.5, jitter: 0.2 };
/** No retry after this time, so that a service which fails slowly does not take one timeout for each attempt. */
const againWithinMs = 30_000;
const passingStatus: readonly number[] = [429, 500, 504];

/**
 * Retries a review that was interrupted or temporarily rejected, five attempts in all; never after a timeout, for an unreachable service,
 * or after 30 seconds, so that no request waits much longer than one timeout. Respects Retry-After. Rejects with the last failure.
 */
export function retriedReview<Review extends object>(
  post: (review: Review) => Promise<unknown>,
  clock: Clock,
): (review: Review) => Promise<unknown> {
  return async (review) => {
    const begun = clock.now();
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await post(review);
      } catch (error) {
        const passed = clock.now() - begun;
        if (attempt === tries || !isPassing(error) || passed >= againWithinMs) throw error;
        const { firstMs, factor, jitter } = pause;
        const asked = error instanceof TargetError ? (error.retryAfterMs ?? 0) : 0;
        if (passed + asked >= againWithinMs) throw error;
        await clock.sleep(Math.max(asked, firstMs * factor ** (attempt - 1) * (1 + jitter * Math.random())));
      }
    }
  };
}

function isPassing(error: unknown): boolean {
  if (error instanceof ConnectionError) return error.code === "ECONNRESET";
  if (!(error instanceof TargetError) || error.code !== "status") return false;
  return error.retryAfterMs !== undefined || passingStatus.includes(error.status);
}

/** Why an authorization webhook returned no decision. */
export type WebhookFailureCode = "timeout" | "connection" | "certificate" | "status" | "answer";

/** An authorization webhook returned no decision. The message describes the failure, without text of the webhook and without its address. */
export class WebhookFailure extends Error {
  override readonly name = "WebhookFailure";
  readonly code: WebhookFailureCode;

  constructor(code: WebhookFailureCode, what: string, options: ErrorOptions) {
    super(`the authorization webhook ${what}`, options);
    this.code = code;
  }
}

/** The codes of Node for a certificate of an untrusted CA. */
export const untrusted: ReadonlySet<string> = new Set([
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_SIGNATURE_FAILURE",
  "INVALID_CA",
]);

type Failure = readonly [code: WebhookFailureCode, what: string];

const failures: ReadonlyMap<string, Failure> = new Map<string, Failure>([
  ["ECONNREFUSED", ["connection", "cannot be reached: nothing listens at its address"]],
  ["ENOTFOUND", ["connection", "cannot be reached: the name of its host does not resolve"]],
  ["EAI_AGAIN", ["connection", "cannot be reached: the name of its host does not resolve"]],
  ["EHOSTUNREACH", ["connection", "cannot be reached: there is no way to its host"]],
  ["ENETUNREACH", ["connection", "cannot be reached: there is no way to its host"]],
  ["ECONNRESET", ["connection", "closed the connection without an answer"]],
  ["EPIPE", ["connection", "closed the connection without an answer"]],
  ["EPROTO", ["connection", "does not speak TLS, or not as is needed"]],
  ["ETIMEDOUT", ["timeout", "cannot be reached: no answer to connecting"]],
  ["REPLY_TOO_LARGE", ["answer", "answered with more than is read"]],
  ["CERT_HAS_EXPIRED", ["certificate", "has a certificate that has expired"]],
  ["CERT_NOT_YET_VALID", ["certificate", "has a certificate that is not valid yet"]],
  ["ERR_TLS_CERT_ALTNAME_INVALID", ["certificate", "has a certificate for other names than that of its address"]],
  ...[...untrusted].map((code) => [code, ["certificate", "has a certificate of a CA that is not trusted"]] as const),
]);

/** The error of a webhook call in one sentence for operators: it is written to traces, audit events and responses of code 500. */
export function webhookFailure(error: unknown): WebhookFailure {
  const [code, what] = failureOf(error);
  return new WebhookFailure(code, what, { cause: error });
}

function failureOf(error: unknown): Failure {
  if (error instanceof TargetError) {
    return error.code === "status"
      ? ["status", `answered with status ${error.status}`]
      : ["answer", "answered with something that is not JSON"];
  }
  if (!(error instanceof ConnectionError)) return ["connection", `failed: ${errorText(error)}`];
  const { code, message } = error;
  if (code === "TIMEOUT") return ["timeout", `did not answer ${/within \d+ ms$/.exec(message)?.[0] ?? "in time"}`];
  return failures.get(code) ?? ["connection", `cannot be reached: ${message}`];
}
