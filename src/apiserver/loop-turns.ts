import { turns, type Turns } from "../registry/turns.ts";

/** Turns for the parts of large work, over the event loop of this process. */
export function loopTurns(): Turns {
  return turns({
    now: () => performance.now(),
    soon: (run) => void setImmediate(run),
    after: (ms, run) => void setTimeout(run, ms),
  });
}
