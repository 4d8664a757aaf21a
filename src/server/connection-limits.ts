import { readFile } from "node:fs/promises";
import type { ConnectionCounts, ConnectionLimits } from "../apiserver/connections/connection-limiter.ts";
import type { Server } from "../apiserver/server.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";
import { familiesText } from "../metrics/family.ts";

/** An idle connection takes up to 60 KiB of memory. */
const maxUnauthenticated = 2000;
/** The assumed limit where the system does not report how many files may be open. */
const unknownMaxFiles = 4096;
/** Descriptors reserved for the store, for files and for connections of the hub itself. */
const maxReserve = 512;
const logEveryMs = 60_000;

/**
 * The connection limits for a process with this many file descriptors: reserves a quarter of them, at most 512; half of the rest, and at
 * most 2000, without a credential.
 */
export function connectionLimitsFor(maxFiles: number): ConnectionLimits {
  const maxOpen = maxFiles - Math.min(maxReserve, Math.ceil(maxFiles / 4));
  return { maxOpen, maxUnauthenticated: Math.min(maxUnauthenticated, Math.floor(maxOpen / 2)) };
}

/** The limits of this process. Source: Linux's proc(5), /proc/pid/limits. */
export async function ownConnectionLimits(): Promise<ConnectionLimits> {
  const text = await readFile("/proc/self/limits", "utf8").catch(() => "");
  const [, files = ""] = /^Max open files\s+(\d+)/m.exec(text) ?? [];
  return connectionLimitsFor(files === "" ? unknownMaxFiles : Number(files));
}

/** Logs that connections were closed because there were too many, at most once a minute. `now` in milliseconds of a monotonic clock. */
export function connectionLimitLog(options: {
  readonly limits: ConnectionLimits;
  readonly log: (entry: LogEntry) => void;
  readonly now: () => number;
}): (counts: ConnectionCounts) => void {
  const { limits, log, now } = options;
  let logged = -Infinity;
  return (counts) => {
    if (now() - logged < logEveryMs) return;
    logged = now();
    log(
      logEntry(
        "ConnectionLimitReached",
        "too many connections: the hub closes those without an authenticated request, the one that has made none for longest first",
        { ...counts, ...limits },
      ),
    );
  };
}

const none: ConnectionCounts = { open: 0, unauthenticated: 0, closed: 0 };

/** Connections, and rejected requests on those without an authenticated one, as Prometheus text; empty for a server that has not started. */
export function connectionsText(server: Pick<Server, "connectionCounts" | "refusedRequests"> | undefined): string {
  const { unauthenticated, closed } = server?.connectionCounts() ?? none;
  return familiesText([
    {
      name: "pratique_unauthenticated_connections",
      type: "gauge",
      help: "TLS connections open now on which no request was authenticated.",
      samples: [["", unauthenticated]],
    },
    {
      name: "pratique_closed_connections_total",
      type: "counter",
      help: "Connections without an authenticated request that were closed because there were too many.",
      samples: [["", closed]],
    },
    {
      name: "pratique_refused_requests_total",
      type: "counter",
      help: "Requests that were answered with 429 because ten thousand waited on connections on which no request was authenticated.",
      samples: [["", server?.refusedRequests() ?? 0]],
    },
  ]);
}
