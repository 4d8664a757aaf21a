import { readFileSync } from "node:fs";
import { connect } from "node:http2";
import { performance } from "node:perf_hooks";

/** What the prober is told: where the hub is, and how it may renew the lease. */
export interface ProberStart {
  readonly url: string;
  readonly caFile: string;
  readonly token: string;
}

/** How long answers were waited for, in milliseconds, while one request was under way. */
export interface Waits {
  readonly livez: number;
  readonly lease: number;
  readonly probes: number;
  readonly failures: readonly string[];
}

const everyMs = 10;
const leasePath = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/prober";

// A program of its own, so that what is waited for is the hub and not whatever else a process does.
process.once("message", (start: ProberStart) => {
  const session = connect(start.url, { ca: readFileSync(start.caFile) });
  session.on("error", (error) => {
    process.stderr.write(`prober: ${error.message}\n`);
    process.exit(1);
  });
  let [livez, lease, probes] = [0, 0, 0];
  let failures: string[] = [];
  let ownDelay = 0;
  let lastTick = performance.now();
  const busy = new Set<string>();
  const ask = (method: string, path: string, body: string | undefined, done: (ms: number) => void): void => {
    // One of each at a time: the one that waits is the one that was sent when the waiting began.
    if (busy.has(path)) return;
    busy.add(path);
    const begun = performance.now();
    const delayBefore = ownDelay;
    const stream = session.request({
      ":method": method,
      ":path": path,
      authorization: `Bearer ${start.token}`,
      ...(body === undefined ? {} : { "content-type": "application/merge-patch+json" }),
    });
    let status = 0;
    stream.on("response", (headers) => {
      status = headers[":status"] ?? 0;
    });
    stream.on("error", (error) => failures.push(error.message));
    stream.on("data", () => undefined);
    stream.on("close", () => {
      busy.delete(path);
      probes += 1;
      if (status !== 200) failures.push(`${path}: ${status}`);
      // What this process was held up by itself is not the hub's.
      done(performance.now() - begun - (ownDelay - delayBefore));
    });
    stream.end(body);
  };
  let count = 0;
  setInterval(() => {
    const now = performance.now();
    ownDelay += Math.max(0, now - lastTick - everyMs - 1);
    lastTick = now;
    count += 1;
    ask("GET", "/livez", undefined, (ms) => {
      livez = Math.max(livez, ms);
    });
    const renewTime = new Date(Date.now() + count).toISOString().replace("Z", "000Z");
    ask("PATCH", leasePath, JSON.stringify({ spec: { renewTime } }), (ms) => {
      lease = Math.max(lease, ms);
    });
  }, everyMs);
  process.on("message", () => {
    const waits: Waits = { livez, lease, probes, failures: failures.slice(0, 5) };
    [livez, lease, probes, failures] = [0, 0, 0, []];
    process.send?.(waits);
  });
});
