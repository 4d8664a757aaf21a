import type { Clock } from "../apimachinery/clock.ts";
import { errorText } from "../apimachinery/error-text.ts";

/** How often the hub looks at the certificates that it has issued for itself, in milliseconds. */
export const renewalCheckMs = 30_000;

/**
 * Calls `renewIfDue` every 30 seconds until `signal` aborts. It never waits for a computed moment: sleeps follow the monotonic clock, and
 * certificates the wall clock, which may be set at any time. What `renewIfDue` rejects with goes to `failed`, the same text once in a row.
 */
export async function renewalLoop(options: {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly renewIfDue: () => Promise<void>;
  readonly failed: (text: string) => void;
}): Promise<void> {
  const { clock, signal, renewIfDue, failed } = options;
  let failure = "";
  for (;;) {
    await clock.sleep(renewalCheckMs, signal);
    if (signal.aborted) return;
    try {
      await renewIfDue();
      failure = "";
    } catch (error) {
      const text = errorText(error);
      if (text !== failure) failed(text);
      failure = text;
    }
  }
}
