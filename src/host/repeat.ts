import type { Clock } from "../apimachinery/clock.ts";
import { errorText } from "../apimachinery/error-text.ts";

/** How often the hub looks at the certificates that it has issued for itself, in milliseconds. */
export const renewalCheckMs = 30_000;

/**
 * Calls `work` every `everyMs` milliseconds until `signal` aborts. It never waits for a computed moment: sleeps follow the monotonic clock,
 * and certificates the wall clock, which may be set at any time. What `work` rejects with goes to `failed`, the same text once in a row.
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
