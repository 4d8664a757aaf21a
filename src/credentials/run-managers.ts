import { setMaxListeners } from "node:events";
import { nouns, type AgentWorld, type KeptName } from "./credential-event.ts";
import { JoinError } from "./join-error.ts";

/** The result of one check of a credential; times in milliseconds since the epoch. */
export type Turn =
  /** Nothing to do before then. */
  | { readonly kind: "wait"; readonly until: number }
  /** Something was done; check again at once. */
  | { readonly kind: "again" }
  /** This machine alone can no longer renew it, unless its files change. */
  | { readonly kind: "lost"; readonly error: JoinError };

/** One credential that is renewed. */
export interface Manager {
  /**
   * A manager that only probes whether the hub accepts the credential of that path; it is never lost itself, and managers of this kind
   * alone do not keep the agent running.
   */
  readonly name: KeptName | { readonly kind: "check"; readonly path: string };
  /** Does what is due. A thrown JoinError has the same effect as `lost`. */
  act(signal: AbortSignal): Promise<Turn>;
}

/** How the managers run. */
export interface KeepOptions extends Pick<AgentWorld, "clock" | "report"> {
  /** All managers for the credentials that exist now; called each minute, so that later credentials are renewed as well. @throws JoinError where there is none */
  readonly find: () => Promise<readonly Manager[]>;
  /** Does what is due and ends. */
  readonly once: boolean;
  readonly signal: AbortSignal;
}

/** Long sleeps are split, so that a machine that slept, or whose clock was set, is not late. */
const maxSleepMs = 60_000;

/**
 * Renews every credential at its own time, independently of the others, until `signal` aborts, or with `once` until nothing is due. A
 * lost credential does not affect the others. @throws JoinError of the first that was lost: with `once` when all else is done, else when
 * none is left
 */
export async function keepFresh(options: KeepOptions): Promise<void> {
  const { clock, signal, once } = options;
  const stop = new AbortController();
  const ending = AbortSignal.any([signal, stop.signal]);
  // Every manager listens to it while it waits, and there may be dozens.
  setMaxListeners(0, ending);
  const running: Running = {
    options,
    signal: ending,
    loops: new Map(),
    lost: new Map(),
    end: () => stop.abort(),
  };
  for (let known = await options.find(); ; known = await rediscovered(options, known)) {
    for (const member of known) start(member, running);
    if (once) break;
    await clock.sleep(maxSleepMs, running.signal);
    if (running.signal.aborted) break;
  }
  await Promise.all(running.loops.values());
  const [first] = running.lost.values();
  if (first !== undefined && !signal.aborted && (once || stop.signal.aborted)) throw first;
}

interface Running {
  readonly options: KeepOptions;
  readonly signal: AbortSignal;
  readonly loops: Map<string, Promise<void>>;
  readonly lost: Map<string, JoinError>;
  /** Ends all loops. */
  readonly end: () => void;
}

/** A folder that cannot be read for a while removes no manager. */
async function rediscovered({ find }: KeepOptions, known: readonly Manager[]): Promise<readonly Manager[]> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof JoinError) return known;
    throw error;
  }
}

function start(member: Manager, running: Running): void {
  const key = `${member.name.kind} ${member.name.path}`;
  if (running.loops.has(key)) return;
  const loop = keepOne(member, key, running);
  running.loops.set(key, loop);
  // Awaited when all have ended; until then an unexpected failure must not end the process by itself.
  loop.catch(running.end);
}

async function keepOne(member: Manager, key: string, running: Running): Promise<void> {
  const { clock, once } = running.options;
  const { signal } = running;
  while (!signal.aborted) {
    const turn = await turnOf(member, signal);
    if (turn.kind !== "lost") recover(member, key, running);
    if (turn.kind === "again") continue;
    if (turn.kind === "lost") {
      if (signal.aborted) return;
      lose(member, { key, running, error: turn.error });
    }
    if (once) return;
    const ms = turn.kind === "lost" ? maxSleepMs : Math.min(turn.until - clock.now(), maxSleepMs);
    await clock.sleep(ms, signal);
  }
}

async function turnOf(member: Manager, signal: AbortSignal): Promise<Turn> {
  try {
    return await member.act(signal);
  } catch (error) {
    if (error instanceof JoinError) return { kind: "lost", error };
    throw error;
  }
}

/** Reports the recovery of a lost credential at once, not only with its next renewal. */
function recover({ name }: Manager, key: string, { lost, options }: Running): void {
  if (lost.delete(key) && name.kind !== "check") {
    options.report({ ...name, reason: "RenewalRecovered", message: `renewal of ${nouns[name.kind]} recovered` });
  }
}

function lose(
  { name }: Manager,
  { key, running, error }: { readonly key: string; readonly running: Running; readonly error: JoinError },
): void {
  const { lost, loops, options, end } = running;
  const gone = new Set([...lost.keys(), key]);
  // With no credential left there is no hub to trust or to probe.
  const isLast = [...loops.keys()].every((one) => gone.has(one) || /^(ca|check) /.test(one));
  // The thrown error reports the one that ends the run; every other loss is reported once. A probe has reported its own result.
  if (!isLast && name.kind !== "check" && lost.get(key)?.message !== error.message) {
    options.report({ ...name, reason: "CredentialLost", message: error.message });
  }
  lost.set(key, error);
  if (isLast && !options.once) end();
}
