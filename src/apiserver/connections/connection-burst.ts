/** Lets connections that come in bunches be accepted before requests are served, and serves the first requests of many in turns. */
export interface ConnectionBurst {
  /** To be called with each accepted connection; returns what to call once its handshake has ended, well or not. */
  readonly accepted: () => () => void;
  /**
   * Runs `serve` now, or when the bunch is in and its turn has come; `isKnown` says that a request was authenticated on its connection
   * before, and such connections come first. Returns whether it runs: too many wait already where it does not.
   */
  readonly pass: (serve: () => void, isKnown: boolean) => boolean;
}

/** Milliseconds without a new connection or an ended handshake after which requests wait no longer. */
const quietMs = 4;
/** For how long in milliseconds requests may wait at the most, and for how long they do not wait again after that. */
const [maxHoldMs, restMs] = [10, 40];
/** For how long in milliseconds requests that have waited are served before the event loop gets a pass for others. */
const maxServeMs = 5;
/** How many requests are begun in one pass of the event loop on connections that are not known: each takes up to a millisecond once begun. */
const maxUnknown = 4;
/** How many requests wait at the most on connections that are not known: they are begun within seconds. A client may send a thousand at once. */
const maxWaiting = 10_000;

/**
 * libuv accepts one connection per turn of the loop. Where a turn serves thirty requests first, thirty connections take a second to be
 * accepted, and clients that give up a dial once another connection has served them dial anew for ever. So requests wait while
 * connections come in and shake hands, for a bounded time: a flood of connections delays requests by no more than a fifth of the
 * time, and connections that never speak by a few milliseconds. Requests that have waited are served in their order, some in each pass
 * of the loop. All that can be read is read in one pass, so hundreds of connections that send their first requests at once would hold it
 * for as long as they all take: only some of these are begun in each pass. `now` in milliseconds from any moment on; `soon` is a timer
 * of a millisecond.
 */
export function connectionBurst(options: {
  readonly now: () => number;
  readonly soon: (run: () => void) => void;
}): ConnectionBurst {
  const [known, unknown]: [(() => void)[], (() => void)[]] = [[], []];
  let isHolding = false;
  let isServing = false;
  /** Unknown ones that were begun in this pass of the loop. */
  let begunUnknown = 0;
  let shaking = 0;
  let begun = 0;
  let progress = 0;
  let restUntil = -Infinity;

  const serve = (held: (() => void)[], max: number, until: number): number => {
    let served = 0;
    while (served < Math.min(max, held.length) && options.now() < until) {
      held[served]?.();
      served += 1;
    }
    held.splice(0, served);
    return served;
  };
  const nextPass = (): void => {
    isServing = false;
    begunUnknown = 0;
    if (!isHolding) serveHeld();
  };
  const serveHeld = (): void => {
    const until = options.now() + maxServeMs;
    serve(known, Infinity, until);
    begunUnknown += serve(unknown, maxUnknown - begunUnknown, until);
    if (begunUnknown > 0 || known.length + unknown.length > 0) serveSoon();
  };
  const serveSoon = (): void => {
    if (isServing) return;
    isServing = true;
    options.soon(nextPass);
  };
  const look = (): void => {
    const now = options.now();
    const isExhausted = now - begun >= maxHoldMs;
    if (isExhausted) restUntil = now + restMs;
    if (!isExhausted && shaking > 0 && now - progress < quietMs) return options.soon(look);
    isHolding = false;
    if (!isServing) serveHeld();
  };
  return {
    accepted: () => {
      progress = options.now();
      shaking += 1;
      if (!isHolding && known.length + unknown.length === 0 && progress >= restUntil) {
        isHolding = true;
        begun = progress;
        options.soon(look);
      }
      let hasEnded = false;
      return () => {
        if (hasEnded) return;
        hasEnded = true;
        shaking -= 1;
        progress = options.now();
      };
    },
    pass: (run, isKnown) => {
      const held = isKnown ? known : unknown;
      if (isHolding || held.length > 0 || (!isKnown && begunUnknown >= maxUnknown)) {
        if (!isKnown && held.length >= maxWaiting) return false;
        held.push(run);
        return true;
      }
      if (!isKnown) {
        begunUnknown += 1;
        serveSoon();
      }
      run();
      return true;
    },
  };
}
