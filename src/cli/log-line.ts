import type { Log, LogEntry } from "../apimachinery/log-entry.ts";
import type { Args } from "./command.ts";
import type { Io } from "./io.ts";
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

const logLevels: readonly LogEntry["level"][] = ["debug", "info", "warn", "error"];

/** Writes log lines to stderr as `--log-format` and `--log-level` say. */
export function logTo(args: Args, io: Io): Log {
  const format = args.text("log-format") === "json" ? "json" : "text";
  const least = logLevels.findIndex((level) => level === args.text("log-level"));
  return (entry) => {
    if (logLevels.indexOf(entry.level) >= least) io.stderr.write(logLine(format, io.clock.now(), entry));
  };
}
