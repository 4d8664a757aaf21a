import type { Clock } from "../apimachinery/clock.ts";

const maxDelayMs = 2 ** 31 - 1;

/** The machine's clock. A pending sleep keeps the process alive: whoever joins is waiting for it. */
export const wallClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => sleep(ms, { signal, isAwaited: true }),
};

/** The machine's clock for who lives by something else, such as a port: a pending sleep does not keep the process alive. */
export const systemClock: Clock = {
  now: wallClock.now,
  sleep: (ms, signal) => sleep(ms, { signal, isAwaited: false }),
};

interface Sleep {
  readonly signal: AbortSignal | undefined;
  /** Whether the process stays alive for it. */
  readonly isAwaited: boolean;
}

function sleep(ms: number, { signal, isAwaited }: Sleep): Promise<void> {
  return new Promise((resolve) => {
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
    const timer = setTimeout(finish, Math.min(ms, maxDelayMs));
    if (!isAwaited) timer.unref();
    signal?.addEventListener("abort", finish, { once: true });
  });
}
