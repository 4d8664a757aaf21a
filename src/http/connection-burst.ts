/** Lets connections that come in bunches be accepted before requests are served. */
export interface ConnectionBurst {
  /** To be called with each accepted connection; returns what to call once its handshake has ended, well or not. */
  readonly accepted: () => () => void;
  /** Runs `serve` now, or when the bunch is in. */
  readonly pass: (serve: () => void) => void;
}

/** Milliseconds without a new connection or an ended handshake after which requests wait no longer. */
const quietMs = 4;
/** For how long in milliseconds requests may wait at the most, and for how long they do not wait again after that. */
const [maxHoldMs, restMs] = [20, 80];
/** For how long in milliseconds requests that have waited are served before the event loop gets a pass for others. */
const maxServeMs = 5;

/**
 * libuv accepts one connection per turn of the loop. Where a turn serves thirty requests first, thirty connections take a second to be
 * accepted, and clients that give up a dial once another connection has served them dial anew for ever. So requests wait while
 * connections come in and shake hands, for a bounded time: a flood of connections delays requests by no more than a fifth of the
 * time, and connections that never speak by a few milliseconds. Requests that have waited are served in their order, some in each pass
 * of the loop. `now` in milliseconds from any moment on; `soon` is a timer of a millisecond.
 */
export function connectionBurst(options: {
  readonly now: () => number;
  readonly soon: (run: () => void) => void;
}): ConnectionBurst {
  const held: (() => void)[] = [];
  let isHolding = false;
  let isServing = false;
  let shaking = 0;
  let begun = 0;
  let progress = 0;
  let restUntil = -Infinity;

  const serveHeld = (): void => {
    const until = options.now() + maxServeMs;
    let served = 0;
    while (served < held.length && options.now() < until) {
      held[served]?.();
      served += 1;
    }
    held.splice(0, served);
    isServing = held.length > 0;
    if (isServing) options.soon(serveHeld);
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
      if (!isHolding && !isServing && progress >= restUntil) {
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
    pass: (serve) => {
      if (isHolding || isServing) held.push(serve);
      else serve();
    },
  };
}
