import type { Clock } from "../../src/apimachinery/clock.ts";

/** A clock that goes as the wall's does and can be set ahead: what sleeps until then wakes. */
export interface SkippingClock extends Clock {
  skip(ms: number): void;
}

/** Begins `aheadMs` before the wall's. */
export function skippingClock(aheadMs = 0): SkippingClock {
  let offset = aheadMs;
  const now = (): number => Date.now() + offset;
  const sleeps = new Set<{ readonly due: number; readonly wake: () => void }>();
  return {
    now,
    skip: (ms) => {
      offset += ms;
      for (const each of sleeps) if (each.due <= now()) each.wake();
    },
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) {
          resolve();
          return;
        }
        const entry = { due: now() + ms, wake: end };
        const timer = setTimeout(end, Math.min(ms, 2 ** 31 - 1));
        function end(): void {
          clearTimeout(timer);
          sleeps.delete(entry);
          signal?.removeEventListener("abort", end);
          resolve();
        }
        signal?.addEventListener("abort", end, { once: true });
        sleeps.add(entry);
      }),
  };
}

/**
 * Sets a clock ahead by `ms` again and again, until the function that it returns is called. The pauses between begin with `pauseMs` and
 * grow: a skip ends the calls that are under way, and a busy hub answers none within the first pauses.
 */
export function keepSkipping(clock: Pick<SkippingClock, "skip">, ms: number, pauseMs = 200): () => void {
  let timer: NodeJS.Timeout;
  const next = (pause: number): void => {
    timer = setTimeout(() => {
      clock.skip(ms);
      next(pause * 1.2);
    }, pause);
  };
  next(pauseMs);
  return () => clearTimeout(timer);
}
