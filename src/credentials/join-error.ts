import {
  systemErrorCode,
  systemErrorText,
  systemErrorWords,
  type FailedOperation,
} from "../apimachinery/system-error.ts";
import { truncate } from "../apimachinery/truncate.ts";

/** Why a join failed. */
export type JoinErrorCode =
  | "bad-endpoint"
  | "bad-token-format"
  | "bad-pin-format"
  | "missing-pin"
  | "bad-node-name"
  | "bad-key"
  | "bad-discovery-file"
  | "unreachable"
  | "not-a-hub"
  | "no-cluster-info"
  | "bad-cluster-info"
  | "token-unknown"
  | "bad-signature"
  | "pin-mismatch"
  | "tls-mismatch"
  | "changed-between-reads"
  | "clock-skew"
  | "unauthorized"
  | "forbidden"
  | "refused"
  | "csr-conflict"
  | "denied"
  | "failed"
  | "deleted"
  | "timeout-waiting"
  | "bad-certificate"
  | "write-failed"
  | "already-joined"
  | "no-access"
  | "aborted";

/** A join that ended without a credential. The message has the cause and the next step; it contains no secret and no control character. */
export class JoinError extends Error {
  readonly code: JoinErrorCode;
  /** The underlying code of the operating system, TLS or the API, e.g. ECONNREFUSED, CERT_HAS_EXPIRED, Forbidden. */
  readonly causeCode: string | undefined;

  constructor(
    code: JoinErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly causeCode?: string | undefined } = {},
  ) {
    super(plainText(message, 4000), options.cause === undefined ? {} : { cause: options.cause });
    this.name = "JoinError";
    this.code = code;
    this.causeCode = options.causeCode;
  }
}

/** The result of an optional step, or undefined where it fails with a JoinError: nothing depends on its file. */
export async function unlessUnusable<T>(step: Promise<T>): Promise<T | undefined> {
  try {
    return await step;
  } catch (error) {
    if (error instanceof JoinError) return undefined;
    throw error;
  }
}

/** Ends a join that was aborted. @throws JoinError aborted */
export function stopIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) {
    throw new JoinError("aborted", "interrupted; run the same command again to resume");
  }
}

/** `text` for a terminal: without control characters, at most `length` characters. Servers choose some of it. */
export function plainText(text: string, length = 500): string {
  // oxlint-disable-next-line no-control-regex -- finding them is the purpose
  const plain = text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, " ").trim();
  return truncate(plain, length);
}

/** Runs a step on a file; `advice` replaces the next step of a system error. @throws JoinError write-failed that names the path */
export async function onFile<T>(
  operation: FailedOperation,
  step: () => Promise<T>,
  advice?: (code: string | undefined) => string,
): Promise<T> {
  try {
    return await step();
  } catch (error) {
    const causeCode = systemErrorCode(error);
    const message =
      advice === undefined
        ? systemErrorText(error, operation)
        : `${systemErrorWords(error, operation).what}: ${advice(causeCode)}`;
    throw new JoinError("write-failed", message, { cause: error, causeCode });
  }
}
