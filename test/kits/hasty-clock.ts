import type { Clock } from "../../src/apimachinery/clock.ts";

/**
 * A clock on which short sleeps end at once, and time passes by just that much; longer ones (deadlines) end when the short ones
 * together have taken their time. So what polls runs at full speed against a real socket, and gives up when it should.
 */
export function hastyClock(options: { readonly start?: number; readonly shortMs?: number } = {}): Clock {
  const shortMs = options.shortMs ?? 2000;
  let now = options.start ?? Date.now();
  const sleeps = new Set<{ readonly due: number; readonly wake: () => void }>();

  function pass(due: number): void {
    now = Math.max(now, due);
    for (const each of [...sleeps].filter((sleep) => sleep.due <= now)) each.wake();
  }

  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) {
          resolve();
          return;
        }
        const entry = { due: now + ms, wake: end };
        function end(): void {
          sleeps.delete(entry);
          signal?.removeEventListener("abort", end);
          resolve();
        }
        signal?.addEventListener("abort", end);
        sleeps.add(entry);
        if (ms <= shortMs) {
          setImmediate(() => {
            if (sleeps.has(entry)) pass(entry.due);
          });
        }
      }),
  };
}
