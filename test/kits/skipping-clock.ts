import type { Clock } from "../../src/core/clock.ts";

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
