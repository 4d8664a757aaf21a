import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";
import { createServer } from "node:net";

const logEveryMs = 60_000;

/** Logs that connections could not be accepted, at most once a minute. `now` in milliseconds of a monotonic clock; `server` default "the hub". */
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

/** The requirement for `--bind-address`. */
const allowed = "must be an address of this machine, or 0.0.0.0 or :: for all of them";

/**
 * Why the hub cannot listen at `--bind-address`, with flag and value; undefined where it can. Checked by listening briefly on a free
 * port. An empty address, as from an unset variable, would mean all addresses.
 */
export async function bindAddressProblem(host: string): Promise<string | undefined> {
  if (host === "") return `--bind-address "": ${allowed}`;
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      resolve(wrongAddress.has(error.code ?? "") ? `--bind-address ${host}: ${allowed}` : undefined);
    });
    server.listen({ host, port: 0, backlog: 1 }, () => server.close(() => resolve(undefined)));
  });
}

/** All other errors are reported by the actual listen. */
const wrongAddress: ReadonlySet<string> = new Set([
  "ENOTFOUND",
  "EAI_AGAIN",
  "EINVAL",
  "EADDRNOTAVAIL",
  "EAFNOSUPPORT",
]);
