import type { Clock } from "../core/clock.ts";

const longestDelay = 2 ** 31 - 1;

/** The machine's clock. A pending sleep keeps the process alive: whoever joins is waiting for it. */
export const wallClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const finish = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", finish);
        resolve();
      };
      // A longer delay would overflow and fire at once.
      const timer = setTimeout(finish, Math.min(ms, longestDelay));
      signal?.addEventListener("abort", finish, { once: true });
    }),
};
