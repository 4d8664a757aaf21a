import { ConnectionError } from "../../client/client.ts";
import { inWords, skewSentence, tolerableSkewMs } from "../../host/clock-skew.ts";
import { JoinError, plainText, type JoinErrorCode } from "../join-error.ts";
import { systemErrorCode, systemErrorText } from "../../apimachinery/system-error.ts";
import { hasReason } from "../../client/api-errors.ts";
import { StatusError } from "../../apimachinery/status.ts";

/** The target of a call, for the message about its failure. */
export interface CallTarget {
  readonly server: string;
  /** The source of that address, where it is not the given one. */
  readonly learnedFrom?: "cluster-info" | undefined;
  /** How far this clock is ahead of the hub's, in milliseconds, where that is known. */
  readonly aheadMs?: number | undefined;
}

/** The codes whose message already has the next step. */
const completeErrors: ReadonlyMap<string, JoinErrorCode> = new Map([
  ["EXEC_PLUGIN", "bad-discovery-file"],
  ["PROXY", "unreachable"],
  ["INVALID_PROXY", "unreachable"],
]);

const mismatches: ReadonlySet<string> = new Set([
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "INVALID_CA",
  "INVALID_PURPOSE",
  "PATH_LENGTH_EXCEEDED",
  "HOSTNAME_MISMATCH",
]);

/**
 * Classifies a connection failure: `unreachable`, `not-a-hub`, `tls-mismatch`, `clock-skew`, or `aborted`. The hub's certificate is not
 * trusted, so the message contains only its names.
 */
export function connectionFailure(error: ConnectionError, target: CallTarget): JoinError {
  const { code } = error;
  const options = { cause: error, causeCode: code === "TIMEOUT" ? "ETIMEDOUT" : code };
  const fail = (kind: JoinErrorCode, message: string): JoinError => new JoinError(kind, message, options);
  if (code === "ABORTED" || code === "ABORT_ERR") {
    return fail("aborted", "interrupted; run the same command again to resume");
  }
  const kind = completeErrors.get(code);
  if (kind !== undefined) return fail(kind, error.message);
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") return fail(...validityFailure(code, target));
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return fail("tls-mismatch", nameMismatch(error, target));
  if (isMismatch(code)) {
    return fail(
      "tls-mismatch",
      `the certificate of ${target.server} is not signed by the hub's CA: another server answers there, or the connection is intercepted; nothing secret was sent. Check the address, and the way to it`,
    );
  }
  if (isForeign(code)) {
    return fail(
      "not-a-hub",
      `${target.server} does not speak HTTPS as a hub does: check the host and the port${learned(target)}`,
    );
  }
  return fail(
    "unreachable",
    `${systemErrorText(causeOf(error), { operation: "connect", at: target.server })}${learned(target)}`,
  );
}

function validityFailure(code: string, target: CallTarget): readonly [JoinErrorCode, string] {
  const expired = code === "CERT_HAS_EXPIRED";
  const state = expired ? "has expired" : "is not yet valid";
  const ahead = target.aheadMs ?? 0;
  const explained = expired ? ahead > tolerableSkewMs : ahead < -tolerableSkewMs;
  return explained
    ? [
        "clock-skew",
        `${skewSentence(ahead)}, so the hub's certificate ${state} here; set the clock (for example with NTP) and join again`,
      ]
    : [
        "tls-mismatch",
        `the certificate of ${target.server} ${state} by this machine's clock, which agrees with the hub's${ahead === 0 ? "" : ` to ${inWords(ahead)}`}; renew the hub's certificate`,
      ];
}

function nameMismatch(error: ConnectionError, target: CallTarget): string {
  const host = new URL(target.server).hostname;
  const names = certificateNames(error.cause);
  const has = names === undefined ? "" : `: it is for ${names}`;
  return `the hub's certificate is not valid for ${host}${has}; use one of its names as the address, or start the hub with --tls-san ${host}${learned(target)}`;
}

function certificateNames(cause: unknown): string | undefined {
  const certificate = cause instanceof Error && "cert" in cause ? cause.cert : undefined;
  if (typeof certificate !== "object" || certificate === null || !("subjectaltname" in certificate)) return undefined;
  const names = certificate.subjectaltname;
  return typeof names === "string" && names !== "" ? plainText(names, 300) : undefined;
}

function isMismatch(code: string): boolean {
  return mismatches.has(code) || code.startsWith("UNABLE_TO_") || code.startsWith("CERT_");
}

function isForeign(code: string): boolean {
  return (
    code === "EPROTO" ||
    code === "INVALID_REPLY" ||
    code === "REPLY_TOO_LARGE" ||
    /^(ERR_SSL_|ERR_TLS_|HPE_)/.test(code)
  );
}

/** A timeout of this client counts as one of the system. */
function causeOf(error: ConnectionError): unknown {
  return systemErrorCode(error.cause) === undefined ? error : error.cause;
}

function learned(target: CallTarget): string {
  return target.learnedFrom === undefined
    ? ""
    : "; the address comes from cluster-info, so perhaps the hub must advertise another one";
}

/** The meaning of a failed call, in one sentence without secrets. @throws any error that is no failure of a call */
export function describeError(error: unknown, server: string): string {
  if (error instanceof JoinError) return error.message;
  if (error instanceof ConnectionError) {
    return URL.canParse(server) ? connectionFailure(error, { server }).message : `${server} cannot be reached`;
  }
  if (!(error instanceof StatusError)) throw error;
  const text = plainText(error.message);
  return error.reason === "Unauthorized"
    ? `${server} refuses the credential (401): ${text}`
    : `${server} refuses: ${text}`;
}

/**
 * Whether an update may succeed upon a newer version. A kube-apiserver runs webhooks before it compares versions: a change by the hub,
 * such as a taint, then looks like a change by this client.
 */
export function isRace(error: unknown): boolean {
  return hasReason(error, "Conflict", "BadRequest", "Invalid");
}
