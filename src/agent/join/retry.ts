import type { Clock } from "../../apimachinery/clock.ts";
import { stopIfAborted, type JoinError } from "../../credentials/join-error.ts";
import type { JoinReport } from "./join-event.ts";

/** What one try gave: the end, or a reason that may pass. */
export type Attempt<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "again"; readonly error: JoinError };

/** How long to go on trying, and how often, in milliseconds. */
export interface Patience {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly everyMs: number;
  readonly report: JoinReport;
  readonly signal: AbortSignal | undefined;
}

/** Tries until it is done, or the next try would come too late: then the last reason is thrown. Each new reason is reported once. @throws JoinError */
export async function retry<T>(patience: Patience, attempt: () => Promise<Attempt<T>>): Promise<T> {
  const { clock, timeoutMs, everyMs, report, signal } = patience;
  const begun = clock.now();
  let reported: string | undefined;
  for (;;) {
    const outcome = await attempt();
    if (outcome.kind === "done") return outcome.value;
    const { error } = outcome;
    if (clock.now() - begun + everyMs > timeoutMs) throw error;
    if (error.message !== reported) {
      reported = error.message;
      report({ kind: "retrying", code: error.code, message: error.message, forMs: timeoutMs });
    }
    await clock.sleep(everyMs, signal);
    stopIfAborted(signal);
  }
}
