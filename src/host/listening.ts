import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";
import { createServer } from "node:net";

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

/** What `--bind-address` must be. */
const allowed = "must be an address of this machine, or 0.0.0.0 or :: for all of them";

/**
 * Why `--bind-address` cannot be listened at, with flag and value; undefined where it can. Found by listening there for a moment, on a free
 * port, at which nothing answers. An empty address, such as of a variable that is not set, would be all addresses.
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

/** Everything else is told when it is listened at in earnest. */
const wrongAddress: ReadonlySet<string> = new Set([
  "ENOTFOUND",
  "EAI_AGAIN",
  "EINVAL",
  "EADDRNOTAVAIL",
  "EAFNOSUPPORT",
]);
