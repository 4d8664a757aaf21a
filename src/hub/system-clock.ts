import type { Clock } from "../core/clock.ts";

/** The wall clock. A pending sleep does not keep the process alive. */
export const systemClock: Clock = {
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
      // A longer delay than this would overflow and fire at once.
      const timer = setTimeout(finish, Math.min(ms, 2 ** 31 - 1));
      timer.unref();
      signal?.addEventListener("abort", finish, { once: true });
    }),
};
