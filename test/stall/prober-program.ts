import { readFileSync } from "node:fs";
import { connect } from "node:http2";
import { performance } from "node:perf_hooks";
import { processorTimes, takenByOthersMs } from "./processor-time.ts";

/** What the prober is told: where the hub is, and how it may renew the lease. */
export interface ProberStart {
  readonly url: string;
  readonly caFile: string;
  readonly token: string;
  readonly hubPid: number;
}

/**
 * How long answers were waited for, in milliseconds, while one request was under way. Neither counted is what the prober itself was held
 * up, nor that in which other programs had the hub's processor.
 */
export interface Waits {
  readonly livez: number;
  readonly lease: number;
  /** The longest wait as the clock has it, with what was not counted. */
  readonly clockMs: number;
  readonly probes: number;
  readonly failures: readonly string[];
}

const everyMs = 10;
/** Of shorter waits nothing is taken off. */
const shortMs = 50;
const leasePath = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/prober";

// A program of its own, so that what is waited for is the hub and not whatever else a process does.
process.once("message", (start: ProberStart) => {
  const session = connect(start.url, { ca: readFileSync(start.caFile) });
  session.on("error", (error) => {
    process.stderr.write(`prober: ${error.message}\n`);
    process.exit(1);
  });
  const hubTime = processorTimes(start.hubPid);
  let lastTime = hubTime();
  let [livez, lease, probes, clockMs] = [0, 0, 0, 0];
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
    const timeBefore = lastTime;
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
      const waited = performance.now() - begun;
      clockMs = Math.max(clockMs, waited);
      const taken = waited < shortMs ? 0 : takenByOthersMs(timeBefore, hubTime());
      // The two may be the same time, so only the longer is taken off.
      done(waited - Math.max(ownDelay - delayBefore, taken));
    });
    stream.end(body);
  };
  let count = 0;
  setInterval(() => {
    const now = performance.now();
    ownDelay += Math.max(0, now - lastTick - everyMs - 1);
    lastTick = now;
    lastTime = hubTime();
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
    const waits: Waits = { livez, lease, clockMs, probes, failures: failures.slice(0, 5) };
    [livez, lease, clockMs, probes, failures] = [0, 0, 0, 0, []];
    process.send?.(waits);
  });
});
