import { logReasons, reasons, type LogReason } from "./reasons.ts";

/** How much a line of the log matters. */
type LogLevel = "debug" | "info" | "warn" | "error";

/** One line of the log of any of our programs; details hold no secrets. */
export interface LogEntry {
  readonly level: LogLevel;
  readonly message: string;
  /** A reason of `apimachinery/reasons.ts`. */
  readonly reason: LogReason;
  readonly [detail: string]: unknown;
}

/** Writes a line of the log; must not throw. */
export type Log = (entry: LogEntry) => void;

/** A line of the log at the level of its reason, or that of `details`; of `details.error`, whatever was thrown, it has the message. */
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
