import type { LogEntry } from "../apimachinery/log-entry.ts";
import { jsonText } from "./json-text.ts";
import { printable } from "./printable.ts";

/** How log lines look. */
export type LogFormat = "text" | "json";

/** One line of the log with its line break: `time LEVEL message key=value`, or a JSON object with time, level, message and details. */
export function logLine(format: LogFormat, now: number, entry: LogEntry): string {
  const { level, message, ...details } = entry;
  const time = new Date(now).toISOString();
  if (format === "json") return `${jsonText({ time, level, message, ...details })}\n`;
  const pairs = Object.entries(details)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}=${shown(value)}`);
  return `${time} ${level.toUpperCase().padEnd(5)} ${printable(message)}${pairs.join("")}\n`;
}

function shown(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "undefined");
  return typeof value === "string" && !/^[\w./:@+-]+$/.test(text)
    ? `"${printable(text).replaceAll('"', '\\"')}"`
    : printable(text);
}
