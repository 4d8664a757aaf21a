/** Calls `act` when a signal aborts; the returned function removes the listener. No effect for a signal that has aborted already. */
export type OnAbort = (signal: AbortSignal, act: () => void) => () => void;

/**
 * Any number of listeners to the same signals, at a constant cost each: an EventTarget walks all its listeners at each addition and
 * removal, which is slow for ten thousand watches that end with the hub.
 */
export function abortListeners(): OnAbort {
  const known = new WeakMap<AbortSignal, Set<() => void>>();
  return (signal, act) => {
    const acts = known.get(signal) ?? new Set();
    if (!known.has(signal)) {
      known.set(signal, acts);
      signal.addEventListener("abort", () => acts.forEach((one) => one()), { once: true });
    }
    acts.add(act);
    return () => void acts.delete(act);
  };
}
