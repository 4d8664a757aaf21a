import { wallClock } from "../../src/host/system-clock.ts";
import type { Clock } from "../../src/apimachinery/clock.ts";

/** The clock of an agent that stays: its pauses end when the time of `time` is set on, those of calls to the hub when they are over. */
export function agentClock(time: Pick<Clock, "now">): Clock {
  return {
    now: time.now,
    sleep: async (ms, signal) => {
      if (ms === 30_000) return wallClock.sleep(ms, signal);
      const due = time.now() + ms;
      while (time.now() < due && signal?.aborted !== true)
        await wallClock.sleep(Math.min(20, due - time.now()), signal);
    },
  };
}
