import { ConnectionError } from "../client/client.ts";
import { CliError } from "./cli-error.ts";
import type { Io } from "./io.ts";
import { writeLine } from "./printable.ts";

/** The result of a check, or what is missing, as the end of "waiting for …". */
export type Looked<T> = { readonly found: T } | { readonly missing: string };

/** The timeout and subject of a wait. */
export interface WaitFor<T> {
  readonly io: Io;
  /** The timeout, in milliseconds; with 0 there is one check. */
  readonly timeoutMs: number;
  /** The subject at the beginning of messages: `east`. */
  readonly about: string;
  readonly look: () => Promise<Looked<T>>;
  /** The next steps after a timeout, as hints. */
  readonly hints?: readonly string[];
}

const pollMs = 1000;

/**
 * Checks once a second until a result is found, and reports on standard error what is missing on each change. Retries an unreachable
 * server as well. @throws CliError timedOut, interrupted; whatever `look` throws
 */
export async function waitFor<T>({ io, timeoutMs, about, look, hints = [] }: WaitFor<T>): Promise<T> {
  const signal = io.interrupted();
  const until = io.clock.now() + timeoutMs;
  let reported = "";
  for (;;) {
    const looked = await unlessCutOff(look, timeoutMs);
    if ("found" in looked) return looked.found;
    if (signal.aborted) throw new CliError("interrupted", `${about}: stopped while waiting for ${looked.missing}`);
    if (io.clock.now() + pollMs > until) {
      const how = timeoutMs === 0 ? "missing" : "the time is up, still waiting for";
      throw new CliError("timedOut", `${about}: ${how} ${looked.missing}`, hints);
    }
    if (looked.missing !== reported) writeLine(io.stderr, `${about}: waiting for ${looked.missing}`);
    reported = looked.missing;
    await io.clock.sleep(pollMs, signal);
  }
}

async function unlessCutOff<T>(look: () => Promise<Looked<T>>, timeoutMs: number): Promise<Looked<T>> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof ConnectionError) || timeoutMs === 0) throw error;
    return { missing: `the hub, which cannot be reached: ${error.message}` };
  }
}
