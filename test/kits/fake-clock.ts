import type { Clock } from "../../src/apimachinery/clock.ts";

/** A clock that stands still until it is told to go on. */
export interface FakeClock extends Clock {
  /** Lets `ms` milliseconds pass: each sleep that ends meanwhile ends at its own time, and what it wakes runs before the next. */
  advance(ms: number): Promise<void>;
  /** How many sleeps are under way. */
  sleeping(): number;
}

/** Starts at `start`, milliseconds since the epoch. */
export function fakeClock(start: number = Date.UTC(2026, 10, 21)): FakeClock {
  let now = start;
  const sleeps = new Set<{ readonly due: number; readonly wake: () => void }>();

  function sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const entry = { due: now + ms, wake: end };
      function end(): void {
        sleeps.delete(entry);
        signal?.removeEventListener("abort", end);
        resolve();
      }
      signal?.addEventListener("abort", end);
      sleeps.add(entry);
    });
  }

  async function advance(ms: number): Promise<void> {
    const until = now + ms;
    for (;;) {
      await settled();
      const next = [...sleeps].sort((a, b) => a.due - b.due)[0];
      if (next === undefined || next.due > until) break;
      now = Math.max(now, next.due);
      next.wake();
    }
    now = until;
    await settled();
  }

  return { now: () => now, sleep, advance, sleeping: () => sleeps.size };
}

/** Resolves when all that could go on without time or input has gone on. */
export async function settled(): Promise<void> {
  // Those who watch an API in memory are told in a turn of its own after a write, and what they write then is told in another.
  for (let turn = 0; turn < 12; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
