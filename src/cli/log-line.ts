import { type Log, type LogEntry, logEntry } from "../apimachinery/log-entry.ts";
import { type Args, isGroup, type CommandEntry } from "./command.ts";
import type { Io } from "./io.ts";
import { jsonText, printable } from "./printable.ts";
import { format } from "node:util";
import type { Failure } from "./failure.ts";

/** The format of log lines. */
type LogFormat = "text" | "json";

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

/** Writes log lines to stderr by `--log-format` and `--log-level`. */
export function logTo(args: Args, io: Io): Log {
  const format = args.text("log-format") === "json" ? "json" : "text";
  const least = logLevels.findIndex((level) => level === args.text("log-level"));
  return (entry) => {
    if (logLevels.indexOf(entry.level) >= least) io.stderr.write(logLine(format, io.clock.now(), entry));
  };
}

/** Whether a command line requests log lines as JSON; known before it is parsed, so that its own errors have that format too. */
export function wantsJsonLog(entries: readonly CommandEntry[], words: readonly string[]): boolean {
  const [first, second] = words;
  const entry = entries.find(({ name }) => name === first);
  if (entry === undefined) return false;
  const command = isGroup(entry) ? entry.commands.find(({ name }) => name === `${first} ${second}`) : entry;
  if (command?.options.some(({ name }) => name === "log-format") !== true) return false;
  const at = words.findLastIndex((word) => word === "--log-format" || word.startsWith("--log-format="));
  return words[at] === "--log-format=json" || (words[at] === "--log-format" && words[at + 1] === "json");
}

/** Why a command ended, as one line of the log. */
export function failureLine(io: Io, { message, hints }: Failure): string {
  const details = hints.length === 0 ? {} : { hints };
  return logLine("json", io.clock.now(), logEntry("CommandFailed", message, details));
}

const consoleLevels = {
  debug: "debug",
  log: "info",
  info: "info",
  warn: "warn",
  error: "error",
  trace: "error",
} as const;

/**
 * Writes everything that this process prints by itself as lines of JSON on stderr: warnings and deprecations of Node, output of libraries
 * on the console, and an uncaught error, after which the process ends with 1.
 */
export function logProcessAsJson(io: Io, running: NodeJS.Process = process, printer: Console = console): void {
  const write = (...entry: Parameters<typeof logEntry>): void =>
    io.stderr.write(logLine("json", io.clock.now(), logEntry(...entry)));
  running.removeAllListeners("warning");
  running.on("warning", ({ name, message, ...rest }) => {
    const code = "code" in rest && typeof rest.code === "string" ? { code: rest.code } : {};
    write("ProcessWarning", message, { name, ...code });
  });
  running.on("uncaughtException", (error: unknown) => {
    const [message, stack] = error instanceof Error ? [error.message, error.stack] : [String(error), undefined];
    write("ProcessFailed", `the program ends because of a fault: ${message}`, { stack });
    running.exit(1);
  });
  for (const [method, level] of Object.entries(consoleLevels)) {
    Object.assign(printer, {
      [method]: (...values: unknown[]) => write("ConsoleOutput", format(...values), { level }),
    });
  }
}
