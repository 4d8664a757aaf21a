import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";

const logEveryMs = 60_000;

/** Logs that connections could not be accepted, at most once a minute. `now` in milliseconds from any moment on; `server` default "the hub". */
export function acceptFailureLog(options: {
  readonly log: (entry: LogEntry) => void;
  readonly now: () => number;
  readonly server?: string;
}): (error: Error) => void {
  const { log, now, server = "the hub" } = options;
  let logged = -Infinity;
  return (error) => {
    if (now() - logged < logEveryMs) return;
    logged = now();
    const message = `${server} could not accept a connection; check how many files its process and the system may open`;
    log(logEntry("AcceptFailed", message, { error }));
  };
}
