import type { Clock } from "../apimachinery/clock.ts";

const maxDelayMs = 2 ** 31 - 1;

/** The clock of the machine. A pending sleep keeps the process alive, as for a client that waits to join. */
export const wallClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => sleep(ms, { signal, isAwaited: true }),
};

/** The clock of the machine for a process that something else keeps alive, such as a port: a pending sleep does not. */
export const systemClock: Clock = {
  now: wallClock.now,
  sleep: (ms, signal) => sleep(ms, { signal, isAwaited: false }),
};

interface Sleep {
  readonly signal: AbortSignal | undefined;
  /** Whether a sleep keeps the process alive. */
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
