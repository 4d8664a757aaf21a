import { rfc3339, type Clock } from "../apimachinery/clock.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";
import type { LogReason } from "../apimachinery/reasons.ts";

/** A credential, and the path of the file from which other programs read it. */
export interface CredentialName {
  readonly kind: "token" | "client-certificate" | "serving-certificate";
  readonly path: string;
}

/** The subject of an event: a credential, or the CAs of the hub. */
export interface KeptName {
  readonly kind: CredentialName["kind"] | "ca";
  readonly path: string;
}

/** What an agent reports of a credential while it runs. Times in milliseconds since the epoch; texts contain no secret. */
export interface AgentEvent extends KeptName {
  readonly reason: LogReason;
  readonly message: string;
  /** Further fields of the log line. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Absent where there is no credential yet, or the event is not about its end. */
  readonly expiresAt?: number | undefined;
  /** When the agent renews the credential, or retries. */
  readonly at?: number | undefined;
}

/** Receives the events of an agent as they happen; must not throw. */
export type AgentReport = (event: AgentEvent) => void;

/** The dependencies of every manager of an agent. */
export interface AgentWorld {
  /** No retry in this run: a failure ends it. */
  readonly once: boolean;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly fraction: () => number;
  readonly userAgent: string;
  readonly report: AgentReport;
}

/** A credential as messages name it. */
export const nouns: Readonly<Record<KeptName["kind"], string>> = {
  token: "the token",
  "client-certificate": "the client certificate",
  "serving-certificate": "the serving certificate",
  ca: "the CA",
};

/** The log line of an event; `now` in milliseconds since the epoch. A failure after the credential has expired has level error. */
export function agentEntry({ reason, message, path: file, details, expiresAt, at }: AgentEvent, now: number): LogEntry {
  const isFailure = reason === "RenewalFailed";
  const isOver = isFailure && expiresAt !== undefined && expiresAt <= now;
  return logEntry(reason, message, {
    ...(isOver ? { level: "error" } : {}),
    file,
    ...details,
    ...(expiresAt === undefined ? {} : { validUntil: rfc3339(expiresAt) }),
    ...(at === undefined ? {} : { [isFailure ? "triedAgainAt" : "renewsAt"]: rfc3339(at) }),
  });
}
