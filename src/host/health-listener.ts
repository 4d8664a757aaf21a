import { createServer } from "node:http";
import { acceptFailureLog } from "./listening.ts";
import type { LogEntry } from "../apimachinery/log-entry.ts";
import { OptionError } from "../apimachinery/option-error.ts";
import { systemErrorText } from "../apimachinery/system-error.ts";

/** A listener that can be closed. */
export interface HealthListener {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Answers GET /livez, /healthz and /readyz over plain HTTP at `HOST:PORT`; does nothing without an address. Connections that the system
 * does not let it accept are logged, and stop nothing. @throws OptionError usage
 */
export async function serveHealth(
  address: string | undefined,
  { isReady, log }: { readonly isReady: () => boolean; readonly log: (entry: LogEntry) => void },
): Promise<HealthListener | undefined> {
  if (address === undefined) return undefined;
  const { host, port } = hostAndPort(address);
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, (request, response) => {
    const live = request.url === "/livez" || request.url === "/healthz";
    const ready = request.url === "/readyz";
    const status = live || (ready && isReady()) ? 200 : ready ? 503 : 404;
    response.writeHead(request.method === "GET" ? status : 405, { "content-type": "text/plain" });
    response.end(status === 200 ? "ok" : "not ok");
    request.resume();
  });
  server.maxConnections = 64;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(notListening(error, address)));
    server.listen(port, host, resolve);
  });
  // Without an error listener, such an error would end the process.
  server.on("error", acceptFailureLog({ log, now: () => performance.now(), server: "the health listener" }));
  const bound = server.address();
  return {
    port: typeof bound === "object" && bound !== null ? bound.port : port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function notListening(error: Error, address: string): OptionError {
  return new OptionError("failed", `--health-address: ${systemErrorText(error, { operation: "listen", at: address })}`);
}

function hostAndPort(address: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([\da-f:.]+)\]|([^:[\]]*)):(\d{1,5})$/i.exec(address);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new OptionError("usage", `--health-address ${address}: must be HOST:PORT, such as 127.0.0.1:9440`);
  }
  return { host: match[1] ?? match[2] ?? "", port };
}
