import { setMaxListeners } from "node:events";
import { nouns, type AgentWorld, type KeptName } from "./credential-event.ts";
import { JoinError } from "./join-error.ts";

/** What one look at a credential came to; times in milliseconds since the epoch. */
export type Turn =
  /** Nothing to do before then. */
  | { readonly kind: "wait"; readonly until: number }
  /** Something was done; look again at once. */
  | { readonly kind: "again" }
  /** Nothing can be done for it any more by this machine alone, unless its files change. */
  | { readonly kind: "lost"; readonly error: JoinError };

/** One credential that is kept fresh. */
export interface Manager {
  /** A check finds out whether the hub takes the credential of that path; it is not lost itself, and none is left with checks alone. */
  readonly name: KeptName | { readonly kind: "check"; readonly path: string };
  /** Does what is due. A JoinError that it throws means the same as `lost`. */
  act(signal: AbortSignal): Promise<Turn>;
}

/** How credentials are kept. */
export interface KeepOptions extends Pick<AgentWorld, "clock" | "report"> {
  /** All that there is to keep now; asked each minute, so that what is laid down later is kept as well. @throws JoinError where there is nothing */
  readonly find: () => Promise<readonly Manager[]>;
  /** Does what is due and ends. */
  readonly once: boolean;
  readonly signal: AbortSignal;
}

/** Long sleeps are cut, so that a machine that slept, or whose clock was set, is not late. */
const maxSleepMs = 60_000;

/**
 * Keeps every credential fresh, each at its own time and none held up by another, until `signal` aborts, or with `once` until nothing is
 * due. One that is lost leaves the others alone.
 * @throws JoinError of the first that was lost: with `once` when all else is done, else when none is left
 */
export async function keepFresh(options: KeepOptions): Promise<void> {
  const { clock, signal, once } = options;
  const stop = new AbortController();
  const ending = AbortSignal.any([signal, stop.signal]);
  // Every keeper listens to it while it waits, and there may be dozens.
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

/** A folder that cannot be read for a while takes nothing away. */
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
  // Looked at when all have ended; until then an unexpected failure must not end the process by itself.
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

/** Whoever was told that it is lost is told that it is not, or would wait for the next renewal to believe it. */
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
  // With no credential left there is nothing to trust the hub for, or to ask about.
  const isLast = [...loops.keys()].every((one) => gone.has(one) || /^(ca|check) /.test(one));
  // Whoever ends with it tells it; else each is told once. What a check has found it has told.
  if (!isLast && name.kind !== "check" && lost.get(key)?.message !== error.message) {
    options.report({ ...name, reason: "CredentialLost", message: error.message });
  }
  lost.set(key, error);
  if (isLast && !options.once) end();
}
