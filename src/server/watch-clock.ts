import { inWords } from "../host/clock-skew.ts";
import { rfc3339, type Clock } from "../apimachinery/clock.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";
import { renewalCheckMs } from "../host/renewal-loop.ts";

/** A smaller step is what NTP does without anybody having to know. In milliseconds. */
const jumpMs = 60_000;

/**
 * Compares the wall clock with the monotonic one every 30 seconds until `signal` aborts, and logs each jump of more than a minute: what
 * was issued before it may be judged differently by clients. A machine that was suspended looks the same.
 */
export async function watchClock(options: {
  readonly clock: Clock;
  /** Milliseconds from any beginning; never set back or ahead. */
  readonly monotonic: () => number;
  readonly signal: AbortSignal;
  readonly log: (entry: LogEntry) => void;
}): Promise<void> {
  const { clock, monotonic, signal, log } = options;
  let offset = clock.now() - monotonic();
  for (;;) {
    await clock.sleep(renewalCheckMs, signal);
    if (signal.aborted) return;
    const now = clock.now();
    const ahead = now - monotonic() - offset;
    if (Math.abs(ahead) <= jumpMs) continue;
    offset += ahead;
    const direction = ahead > 0 ? "ahead" : "back";
    const message = `the system clock was set ${direction} by ${inWords(ahead)}; certificates of the hub are judged by the new time`;
    log(logEntry("ClockChanged", message, { now: rfc3339(now) }));
  }
}
