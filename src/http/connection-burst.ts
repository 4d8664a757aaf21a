/** Lets connections that come in bunches be accepted before requests are served. */
export interface ConnectionBurst {
  /** To be called with each accepted connection. */
  readonly accepted: () => void;
  /** Runs `serve` now, or when the bunch is in. */
  readonly pass: (serve: () => void) => void;
}

/** How many turns of the event loop requests may wait for connections; a turn without requests takes a fraction of a millisecond. */
const mostTurns = 128;
/** For how long in milliseconds they may wait at the most, and for how long they do not wait again after that. */
const mostMs = 50;
const restMs = 250;

/**
 * libuv accepts one connection per turn of the loop. Where a turn serves thirty requests first, thirty connections take a second to be
 * accepted, and clients that dial anew meanwhile keep it so. So requests wait while connections keep coming, for a bounded time: a
 * flood of connections delays requests by no more than a fifth of the time. `now` in milliseconds; `nextTurn` is setImmediate.
 */
export function connectionBurst(options: {
  readonly now: () => number;
  readonly nextTurn: (run: () => void) => void;
}): ConnectionBurst {
  const held: (() => void)[] = [];
  let waiting = false;
  let another = false;
  let turns = 0;
  let begun = 0;
  let restUntil = 0;

  const release = (): void => {
    waiting = false;
    for (const serve of held.splice(0)) serve();
  };
  const look = (): void => {
    turns += 1;
    const now = options.now();
    const exhausted = turns >= mostTurns || now - begun >= mostMs;
    if (exhausted) restUntil = now + restMs;
    if (exhausted || !another) return release();
    another = false;
    options.nextTurn(look);
  };
  return {
    accepted: () => {
      another = true;
      if (waiting || options.now() < restUntil) return;
      waiting = true;
      another = false;
      turns = 0;
      begun = options.now();
      options.nextTurn(look);
    },
    pass: (serve) => {
      if (waiting) held.push(serve);
      else serve();
    },
  };
}
