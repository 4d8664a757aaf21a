import type { ApiObject, ObjectKey } from "../apimachinery/object.ts";
import { StatusError, type StatusReason } from "../apimachinery/status.ts";
import { ConnectionError, type Client, type ResourceRef } from "./client.ts";
import { keyOf } from "./paths.ts";
import { errorText } from "../apimachinery/error-text.ts";

const reasonOfCode: Readonly<Record<number, StatusReason>> = { 403: "Forbidden", 404: "NotFound", 409: "Conflict" };

/**
 * Whether the API rejected a call for one of these reasons; without a known reason, 403, 404 and 409 count as Forbidden, NotFound and
 * Conflict. Source: apimachinery pkg/api/errors.
 */
export function hasReason(error: unknown, ...reasons: readonly StatusReason[]): error is StatusError {
  if (!(error instanceof StatusError)) return false;
  const reason = error.reason === "" ? reasonOfCode[error.code] : error.reason;
  return reason !== undefined && reasons.includes(reason);
}

/** Whether a create was rejected because its namespace is terminating. */
export function isTerminating(error: unknown): boolean {
  return (
    hasReason(error, "Forbidden") &&
    (error.details?.causes ?? []).some((cause) => cause.reason === "NamespaceTerminating")
  );
}

/** Whether the API rejected a write, so that it certainly has no effect; after any other failure the effect is unknown. */
export function isRefusal(error: unknown): error is StatusError {
  return error instanceof StatusError && error.code < 500;
}

/** The result of a call, or undefined where the API rejected it for one of these reasons. @throws every other error of the call */
export async function ignoreReasons<T>(call: Promise<T>, ...reasons: readonly StatusReason[]): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (hasReason(error, ...reasons)) return undefined;
    throw error;
  }
}

/** The object of this key, or undefined where there is none or its kind is not served. @throws StatusError, ConnectionError */
export function getOrUndefined<T extends ApiObject>(
  client: Pick<Client, "get">,
  resource: ResourceRef,
  key: ObjectKey,
): Promise<T | undefined> {
  return ignoreReasons(client.get<T>(resource, key), "NotFound");
}

/** Creates an object, or reads the existing one of its name. @throws StatusError, ConnectionError */
export async function createOrGet<T extends ApiObject>(
  client: Pick<Client, "create" | "get">,
  resource: ResourceRef,
  object: T,
): Promise<{ readonly object: T; readonly created: boolean }> {
  const created = await ignoreReasons(client.create<T>(resource, object), "AlreadyExists");
  if (created !== undefined) return { object: created, created: true };
  return { object: await client.get<T>(resource, keyOf(object)), created: false };
}

export interface ConflictRetries {
  /** The limit on tries; default 5. */
  readonly tries?: number;
  /** Which errors are retried; default: Conflict. */
  readonly isRace?: (error: unknown) => boolean;
  /** Runs before a retry; what it throws ends the retries. */
  readonly pause?: (error: unknown) => Promise<unknown>;
}

/**
 * Repeats a read and the write that follows from it until no conflict occurs. @throws the error of the last try Source: client-go
 * util/retry RetryOnConflict.
 */
export async function retryOnConflict<T>(
  readAndWrite: (attempt: number) => Promise<T>,
  { tries = 5, isRace = isConflict, pause }: ConflictRetries = {},
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await readAndWrite(attempt);
    } catch (error) {
      if (attempt >= tries || !isRace(error)) throw error;
      await pause?.(error);
    }
  }
}

function isConflict(error: unknown): boolean {
  return hasReason(error, "Conflict");
}

/** The cause of a failed call to a server, for a log line or a person. Nothing is escaped yet. */
export function failureMessage(error: unknown): string {
  if (error instanceof StatusError && error.code === 401)
    return "the server does not accept the credentials (401 Unauthorized)";
  if (error instanceof ConnectionError && error.code === "TIMEOUT") return "the server did not answer in time";
  return errorText(error);
}
