import { logReasons, reasons, type LogReason } from "./reasons.ts";

/** The severity of a log line. */
type LogLevel = "debug" | "info" | "warn" | "error";

/** One log line of any program here; details contain no secrets. */
export interface LogEntry {
  readonly level: LogLevel;
  readonly message: string;
  /** A reason of `apimachinery/reasons.ts`. */
  readonly reason: LogReason;
  readonly [detail: string]: unknown;
}

/** Writes a line of the log; must not throw. */
export type Log = (entry: LogEntry) => void;

/** A line of the log at the level of its reason, or that of `details`; `details.error`, a thrown value, is replaced by its message. */
export function logEntry(
  reason: LogReason,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): LogEntry {
  const { error } = details;
  const text = error === undefined ? {} : { error: error instanceof Error ? error.message : textOf(error) };
  return { level: levelOf(reason), message, reason, ...details, ...text };
}

function textOf(thrown: unknown): string {
  return typeof thrown === "string" ? thrown : (JSON.stringify(thrown) ?? typeof thrown);
}

function levelOf(reason: LogReason): LogLevel {
  if (reason in logReasons) return logReasons[reason as keyof typeof logReasons];
  return reasons[reason as keyof typeof reasons] === "Warning" ? "warn" : "info";
}
