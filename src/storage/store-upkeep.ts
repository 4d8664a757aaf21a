import type { Clock } from "../apimachinery/clock.ts";
import type { Store } from "./store.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";

const everyMs = 5_000;

/**
 * Brings a store that refuses writes back to taking them, at intervals until `signal` aborts. One line says that writes are refused
 * and why, one that they are taken again, however many writes there were between.
 */
export async function keepStoreWritable(options: {
  readonly store: Pick<Store, "condition" | "recover">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly log: (entry: LogEntry) => void;
}): Promise<void> {
  const { store, clock, signal, log } = options;
  let reported: string | undefined;
  while (!signal.aborted) {
    const { refusal } = store.condition();
    if (refusal !== undefined && refusal.code !== reported) {
      log(logEntry("StoreWritesRejected", "the store rejects writes", { cause: refusal.code, error: refusal.message }));
    }
    if (refusal === undefined && reported !== undefined)
      log(logEntry("StoreWritesAccepted", "the store accepts writes again"));
    reported = refusal?.code;
    if (refusal !== undefined) await store.recover();
    if (store.condition().refusal === undefined && reported !== undefined) continue;
    await clock.sleep(everyMs, signal);
  }
}
