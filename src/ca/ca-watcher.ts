import type { Clock } from "../apimachinery/clock.ts";
import { pinsOf, readAuthorities, readState, type Authorities } from "./ca-folder.ts";
import { repeat } from "../host/repeat.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";

/** How often the folder is read, in milliseconds. */
const pollMs = 2_000;

/**
 * Reads the state of the CAs in `dir` until `signal` aborts, and passes each new one to `changed`. A state that cannot be read or
 * applied is logged once, and the CAs stay unchanged.
 */
export async function followAuthorities(options: {
  readonly dir: string;
  readonly current: Authorities;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly changed: (authorities: Authorities) => Promise<void>;
  readonly log: (entry: LogEntry) => void;
}): Promise<void> {
  const { dir, clock, signal, log } = options;
  let taken = JSON.stringify(options.current.state);
  const look = async (): Promise<void> => {
    const { state } = await readState(dir);
    const found = JSON.stringify(state);
    if (found === taken) return;
    const next = await readAuthorities(dir, state, clock.now());
    await options.changed(next);
    taken = found;
    log(logEntry("Reloaded", "the hub reloaded its CAs", { signer: next.signer.pin, pins: pinsOf(next) }));
  };
  const failed = (error: string): void =>
    log(logEntry("ReloadFailed", "the hub cannot use the changed CAs; it keeps the previous ones", { error }));
  await repeat({ clock, signal, everyMs: pollMs, work: look, failed });
}
