import type { Clock } from "../apimachinery/clock.ts";
import { errorText } from "../apimachinery/error-text.ts";

/** How often the hub checks its own certificates, in milliseconds. */
export const renewalCheckMs = 30_000;

/**
 * Calls `work` every `everyMs` milliseconds until `signal` aborts. It never waits for a computed time: sleeps follow the monotonic clock,
 * and certificates the wall clock, which may be changed at any time. Rejections of `work` are passed to `failed`, repeated ones with the
 * same text once.
 */
export async function repeat(options: {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly everyMs: number;
  readonly work: () => Promise<void>;
  /** Default: `work` never rejects. */
  readonly failed?: (text: string) => void;
}): Promise<void> {
  const { clock, signal, everyMs, work, failed } = options;
  let failure = "";
  for (;;) {
    await clock.sleep(everyMs, signal);
    if (signal.aborted) return;
    try {
      await work();
      failure = "";
    } catch (error) {
      if (failed === undefined) throw error;
      const text = errorText(error);
      if (text !== failure) failed(text);
      failure = text;
    }
  }
}
