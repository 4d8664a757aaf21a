import { ConnectionError } from "../client/client.ts";
import { errorText } from "../apimachinery/error-text.ts";
import { TargetError } from "./kubeconfig-target.ts";

/** Why an authorization webhook gave no answer. */
export type WebhookFailureCode = "timeout" | "connection" | "certificate" | "status" | "answer";

/** An authorization webhook that gave no answer. The message says what it did, without its words and without where it is. */
export class WebhookFailure extends Error {
  override readonly name = "WebhookFailure";
  readonly code: WebhookFailureCode;

  constructor(code: WebhookFailureCode, what: string, options: ErrorOptions) {
    super(`the authorization webhook ${what}`, options);
    this.code = code;
  }
}

const connections: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "cannot be reached: nothing listens at its address"],
  ["ENOTFOUND", "cannot be reached: the name of its host does not resolve"],
  ["EAI_AGAIN", "cannot be reached: the name of its host does not resolve"],
  ["EHOSTUNREACH", "cannot be reached: there is no way to its host"],
  ["ENETUNREACH", "cannot be reached: there is no way to its host"],
  ["ECONNRESET", "closed the connection without an answer"],
  ["EPIPE", "closed the connection without an answer"],
  ["EPROTO", "does not speak TLS, or not as is needed"],
]);

const certificates: ReadonlyMap<string, string> = new Map([
  ["CERT_HAS_EXPIRED", "has a certificate that has expired"],
  ["CERT_NOT_YET_VALID", "has a certificate that is not valid yet"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "has a certificate for other names than that of its address"],
]);

/** The codes by which Node says that a certificate is of no CA that is trusted. */
export const untrusted: ReadonlySet<string> = new Set([
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_SIGNATURE_FAILURE",
  "INVALID_CA",
]);

/** What asking a webhook threw, in one sentence for operators: it stands in traces, audit events and answers of code 500. */
export function webhookFailure(error: unknown): WebhookFailure {
  const options = { cause: error };
  if (error instanceof TargetError) {
    return error.code === "status"
      ? new WebhookFailure("status", `answered with status ${error.status}`, options)
      : new WebhookFailure("answer", "answered with something that is not JSON", options);
  }
  if (!(error instanceof ConnectionError))
    return new WebhookFailure("connection", `failed: ${errorText(error)}`, options);
  const { code, message } = error;
  if (code === "TIMEOUT") {
    const within = /within \d+ ms$/.exec(message)?.[0] ?? "in time";
    return new WebhookFailure("timeout", `did not answer ${within}`, options);
  }
  if (code === "ETIMEDOUT") return new WebhookFailure("timeout", "cannot be reached: no answer to connecting", options);
  if (code === "REPLY_TOO_LARGE") return new WebhookFailure("answer", "answered with more than is read", options);
  const certificate =
    certificates.get(code) ?? (untrusted.has(code) ? "has a certificate of a CA that is not trusted" : undefined);
  if (certificate !== undefined) return new WebhookFailure("certificate", certificate, options);
  return new WebhookFailure("connection", connections.get(code) ?? `cannot be reached: ${message}`, options);
}
