/** Has `act` called when a signal aborts; the answer takes it back. Of no effect for a signal that has aborted already. */
export type OnAbort = (signal: AbortSignal, act: () => void) => () => void;

/**
 * Any number of listeners to the same signals, at the same cost each: an EventTarget walks all that it has at each addition and
 * removal, which ten thousand watches that end with the hub feel.
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
