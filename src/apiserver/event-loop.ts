import { monitorEventLoopDelay } from "node:perf_hooks";
import { familiesText } from "../metrics/family.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";
import { turns, type Turns } from "../registry/turns.ts";

/** How long single pieces of work blocked the event loop. */
export interface LoopStalls {
  /** Prometheus text. */
  readonly text: () => string;
  readonly close: () => void;
}

export interface LoopStallsOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Milliseconds on a clock that is never set. */
  readonly monotonic: () => number;
  /** Calls back every so many milliseconds until the returned function is called. */
  readonly every: (ms: number, run: () => void) => () => void;
  /** Describes the requests that were under way between two moments, in milliseconds since the epoch. */
  readonly requestsDuring: (from: number, to: number) => readonly string[];
  readonly log: (entry: LogEntry) => void;
}

const lookMs = 100;
/** From how many milliseconds on a stall is logged. */
const loggedMs = 1000;
const nanosecondsPerSecond = 1e9;

/** Measures how long the event loop is blocked, and logs each stall of a second or more with the requests that were under way. */
export function loopStalls({ now, monotonic, every, requestsDuring, log }: LoopStallsOptions): LoopStalls {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  let longest = 0;
  let logged = 0;
  let last = monotonic();
  const stop = every(lookMs, () => {
    const at = monotonic();
    const heldMs = at - last - lookMs;
    last = at;
    if (heldMs < loggedMs) return;
    logged += 1;
    const end = now();
    log(
      logEntry(
        "EventLoopStalled",
        `event loop held for ${(heldMs / 1000).toFixed(1)} s; no other request was answered meanwhile`,
        { seconds: heldMs / 1000, requests: requestsDuring(end - heldMs - lookMs, end) },
      ),
    );
  });
  return {
    text: () => {
      const recent = delay.count === 0 ? 0 : delay.max / nanosecondsPerSecond;
      longest = Math.max(longest, recent);
      delay.reset();
      return familiesText([
        {
          name: "pratique_event_loop_stall_max_seconds",
          type: "gauge",
          help: "Longest time that one piece of work held the event loop since the last scrape.",
          samples: [["", recent]],
        },
        {
          name: "pratique_event_loop_longest_stall_seconds",
          type: "gauge",
          help: "Longest time that one piece of work held the event loop since the start.",
          samples: [["", longest]],
        },
        {
          name: "pratique_event_loop_stalls_logged_total",
          type: "counter",
          help: "Stalls of a second or more, each of which is a log line.",
          samples: [["", logged]],
        },
      ]);
    },
    close: () => {
      stop();
      delay.disable();
    },
  };
}

/** Turns for the parts of large work, over the event loop of this process. */
export function loopTurns(): Turns {
  return turns({
    now: () => performance.now(),
    soon: (run) => void setImmediate(run),
    after: (ms, run) => void setTimeout(run, ms),
  });
}
