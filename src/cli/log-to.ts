import type { LogEntry } from "../apimachinery/log-entry.ts";
import type { Args } from "./command.ts";
import type { Io } from "./io.ts";
import { logLine } from "./log-line.ts";

const logLevels: readonly LogEntry["level"][] = ["debug", "info", "warn", "error"];

/** Writes log lines to stderr as `--log-format` and `--log-level` say. */
export function logTo(args: Args, io: Io): (entry: LogEntry) => void {
  const format = args.text("log-format") === "json" ? "json" : "text";
  const least = logLevels.findIndex((level) => level === args.text("log-level"));
  return (entry) => {
    if (logLevels.indexOf(entry.level) >= least) io.stderr.write(logLine(format, io.clock.now(), entry));
  };
}
