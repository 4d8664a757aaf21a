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
const mostMs = 200;
const restMs = 800;

/**
 * libuv accepts one connection per turn of the loop. Where a turn serves thirty requests first, thirty connections take a second to be
 * accepted, and clients that give up a dial once another connection has served them dial anew for ever. So requests wait while
 * connections come in and shake hands, for a bounded time: a flood of connections delays requests by no more than a fifth of the
 * time, and connections that never speak by a few milliseconds. `now` in milliseconds; `soon` is a timer of a millisecond.
 */
export function connectionBurst(options: {
  readonly now: () => number;
  readonly soon: (run: () => void) => void;
}): ConnectionBurst {
  const held: (() => void)[] = [];
  let waiting = false;
  let shaking = 0;
  let begun = 0;
  let progress = 0;
  let restUntil = 0;

  const release = (): void => {
    waiting = false;
    for (const serve of held.splice(0)) serve();
  };
  const look = (): void => {
    const now = options.now();
    const exhausted = now - begun >= mostMs;
    if (exhausted) restUntil = now + restMs;
    if (exhausted || shaking === 0 || now - progress >= quietMs) release();
    else options.soon(look);
  };
  return {
    accepted: () => {
      progress = options.now();
      shaking += 1;
      if (!waiting && progress >= restUntil) {
        waiting = true;
        begun = progress;
        options.soon(look);
      }
      let ended = false;
      return () => {
        if (ended) return;
        ended = true;
        shaking -= 1;
        progress = options.now();
      };
    },
    pass: (serve) => {
      if (waiting) held.push(serve);
      else serve();
    },
  };
}
