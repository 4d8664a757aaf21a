import type { Clock } from "../../apimachinery/clock.ts";

/** Wakes the parts of an agent that wait for a change of their ManagedCluster. */
export interface ClusterChanges {
  readonly wake: () => void;
  /**
   * For one part, which then waits with the returned function: it resolves after so many milliseconds, or as soon as `wake` has been
   * called since it last resolved. So a change that arrives while the part works ends the next pause at once.
   */
  readonly follow: () => (ms: number) => Promise<void>;
}

/** The changes of one session with a hub; every pause ends with `signal`. */
export function clusterChanges(clock: Clock, signal: AbortSignal): ClusterChanges {
  const wakers: (() => void)[] = [];
  return {
    wake: () => {
      for (const wake of wakers) wake();
    },
    follow: () => {
      let change = new AbortController();
      wakers.push(() => change.abort());
      return async (ms) => {
        await clock.sleep(ms, AbortSignal.any([signal, change.signal]));
        change = new AbortController();
      };
    },
  };
}
