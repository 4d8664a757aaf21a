import { onDisconnect } from "./disconnect.ts";
import type { Call } from "../resource-call.ts";

/** What a connection to a kubelet ends with. */
export interface ConnectionLife {
  /** Aborts when the credential expires or is revoked, its account is deleted, the client is gone, or the hub stops. */
  readonly signal: AbortSignal;
  /** To be called once at the end of the connection. */
  readonly end: () => void;
}

/** Longer waits are taken in parts: timers hold 32 bits. */
const maxSleepMs = 24 * 3600 * 1000;

/** Nothing that is asked with a credential outlives it. */
export function connectionLife({ requester, options, response }: Call): ConnectionLife {
  const { user, credential } = requester;
  const { shutdown, lifeOf, secretLifeOf, follow, onAbort, clock } = options;
  const [ending, ended] = [new AbortController(), new AbortController()];
  const end = (): void => ending.abort(over);
  const followed = credential === undefined ? undefined : follow(credential);
  const signals = [
    shutdown,
    lifeOf(user) ?? [],
    (credential && secretLifeOf(credential)) ?? [],
    followed?.signal ?? [],
  ].flat();
  const leaving = signals.map((signal) => onAbort(signal, end));
  onDisconnect(response, end);
  if (signals.some((signal) => signal.aborted)) end();
  const expire = async (until: number): Promise<void> => {
    while (!ended.signal.aborted) {
      const leftMs = until - clock.now();
      if (leftMs <= 0) return end();
      await clock.sleep(Math.min(leftMs, maxSleepMs), ended.signal);
    }
  };
  if (credential?.until !== undefined) void expire(credential.until);
  return {
    signal: ending.signal,
    end: () => {
      ended.abort(over);
      for (const leave of leaving) leave();
      followed?.release();
      // Whatever is left of the connection goes with it.
      end();
    },
  };
}

/** A reason made once: without one, each abort makes an exception with a stack of its own. */
const over = "the connection to the kubelet is over";
