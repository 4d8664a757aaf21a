/** A connection whose TLS handshake has not ended. */
export interface Handshake {
  /** The address of the peer; addresses take turns. */
  readonly address: string;
  /** Resumes reading from the peer, in the next passes of the event loop. */
  readonly read: () => void;
  /** Pauses reading. */
  readonly pause: () => void;
  /** Bytes that were read from the peer so far. */
  readonly received: () => number;
}

/** Bounds how many handshakes go on in one pass of the event loop. */
export interface HandshakeLimiter {
  /** Adds a connection that is being read; returns what to call once its handshake has succeeded or failed. */
  readonly enter: (handshake: Handshake) => () => void;
  /** Connections whose reading is paused now. */
  readonly waiting: () => number;
}

/** The default number read at once: a flight of a handshake and the request behind it cost a millisecond or two. */
const defaultMaxReading = 2;
/** The minimum read at once, so that peers that send get a turn beside silent ones. */
const minReading = 2;
/** Above this length of a pass of the event loop in milliseconds, as during garbage collection, fewer are read in the next ones. */
const longPassMs = 10;
/** Milliseconds without a byte after which a peer is silent: longer than the round trip of most networks. */
const silentMs = 250;

/** A handshake and what its peer has sent. */
interface Known {
  readonly handshake: Handshake;
  received: number;
  sentAt: number;
  isSilent: boolean;
}

/**
 * At most `maxReading` handshakes are read at once, default 2, and fewer while passes of the event loop take long. While there are more, `soon` (a timer of a millisecond) resumes the next
 * ones, address by address. A turn lasts for one pass of the event loop, whatever the peer sends, so a slow peer
 * occupies no place: it waits for its next turn, until the deadline of its handshake. Silent peers share one of the
 * places as long as others send. `now` in milliseconds from any moment on.
 */
export function handshakeLimiter(options: {
  readonly now: () => number;
  readonly soon: (run: () => void) => void;
  readonly maxReading?: number;
}): HandshakeLimiter {
  const { now, soon, maxReading = defaultMaxReading } = options;
  const reading = new Set<Known>();
  const [speaking, silent] = [rotation(), rotation()];
  let isTurning = false;
  let places = maxReading;
  let turnedAt = -Infinity;

  const waiting = (): number => speaking.size() + silent.size();
  const wait = (known: Known): void => (known.isSilent ? silent : speaking).add(known);
  const turn = (): void => {
    isTurning = false;
    const change = now() - turnedAt > longPassMs ? -1 : 1;
    places = Math.min(maxReading, Math.max(minReading, places + change));
    if (waiting() === 0) return;
    const last = [...reading];
    for (const known of last) {
      noteProgress(known, now);
      wait(known);
    }
    reading.clear();
    const first = silent.next();
    if (first !== undefined) reading.add(first);
    while (reading.size < places) {
      const known = speaking.next() ?? silent.next();
      if (known === undefined) break;
      reading.add(known);
    }
    switchReading(last, reading);
    turnSoon();
  };
  const turnSoon = (): void => {
    if (isTurning || waiting() === 0) return;
    isTurning = true;
    turnedAt = now();
    soon(turn);
  };

  return {
    enter: (handshake) => {
      const known: Known = { handshake, received: 0, sentAt: now(), isSilent: false };
      if (waiting() === 0 && reading.size < maxReading) reading.add(known);
      else {
        handshake.pause();
        wait(known);
        turnSoon();
      }
      return () => {
        // The reader after the handshake resumes an ended one itself.
        if (!reading.delete(known) && (speaking.remove(known) || silent.remove(known))) handshake.read();
      };
    },
    waiting,
  };
}

function noteProgress(known: Known, now: () => number): void {
  const received = known.handshake.received();
  if (received > known.received) {
    known.received = received;
    known.sentAt = now();
    known.isSilent = false;
  } else known.isSilent ||= now() - known.sentAt >= silentMs;
}

function switchReading(last: readonly Known[], reading: ReadonlySet<Known>): void {
  for (const known of last) if (!reading.has(known)) known.handshake.pause();
  for (const known of reading) if (!last.includes(known)) known.handshake.read();
}

/** Handshakes that wait for their turn; addresses alternate. */
interface Rotation {
  readonly add: (known: Known) => void;
  /** Removes it; false when it was absent. */
  readonly remove: (known: Known) => boolean;
  /** Removes and returns the next one. */
  readonly next: () => Known | undefined;
  readonly size: () => number;
}

function rotation(): Rotation {
  // In the order of turns: an address goes to the end after its turn.
  const addresses = new Map<string, Set<Known>>();
  let size = 0;
  const remove = (known: Known): boolean => {
    const { address } = known.handshake;
    const others = addresses.get(address);
    if (others?.delete(known) !== true) return false;
    if (others.size === 0) addresses.delete(address);
    size -= 1;
    return true;
  };
  return {
    add: (known) => {
      const { address } = known.handshake;
      const others = addresses.get(address);
      if (others === undefined) addresses.set(address, new Set([known]));
      else others.add(known);
      size += 1;
    },
    remove,
    next: () => {
      for (const [address, others] of addresses) {
        const [known] = others;
        if (known === undefined) continue;
        remove(known);
        if (addresses.delete(address)) addresses.set(address, others);
        return known;
      }
      return undefined;
    },
    size: () => size,
  };
}

/** Accepts bursts of connections before requests are served, and serves the first requests of many connections in turns. */
export interface ConnectionBurst {
  /** To be called with each accepted connection; returns what to call once its handshake has succeeded or failed. */
  readonly accepted: () => () => void;
  /**
   * Runs `serve` now, or in its turn after the burst; `isKnown` is true when a request was authenticated on its connection
   * before, and such connections come first. Returns false when too many wait already, and then never runs it.
   */
  readonly pass: (serve: () => void, isKnown: boolean) => boolean;
}

/** Milliseconds without a new connection or an ended handshake after which requests wait no longer. */
const quietMs = 4;
/** The longest wait of requests in milliseconds, and for how long they do not wait again after that. */
const [maxHoldMs, restMs] = [10, 40];
/** For how long in milliseconds requests that have waited are served before the event loop gets a pass for others. */
const maxServeMs = 5;
/** How many requests are begun in one pass of the event loop on connections that are not known: each takes up to a millisecond once begun. */
const maxUnknown = 4;
/** How many requests wait at the most on connections that are not known: they are begun within seconds. A client may send a thousand at once. */
const maxWaiting = 10_000;

/**
 * libuv accepts one connection per turn of the loop. Where a turn serves thirty requests first, thirty connections take a second to be
 * accepted, and clients that cancel a dial once another connection has served them redial endlessly. So requests wait while
 * connections are accepted and complete their handshakes, for a bounded time: a flood of connections delays requests by no more than a fifth of the
 * time, and silent connections by a few milliseconds. Requests that have waited are served in their order, some in each pass
 * of the loop. Node reads everything readable in one pass, so hundreds of connections that send their first requests at once would block it
 * until all are served: only some of these are begun in each pass. `now` in milliseconds from any moment on; `soon` is a timer
 * of a millisecond.
 */
export function connectionBurst(options: {
  readonly now: () => number;
  readonly soon: (run: () => void) => void;
}): ConnectionBurst {
  let isHolding = false;
  const requests = requestTurns(options, () => isHolding);
  let shaking = 0;
  let begun = 0;
  let progress = 0;
  let restUntil = -Infinity;

  const look = (): void => {
    const now = options.now();
    const isExhausted = now - begun >= maxHoldMs;
    if (isExhausted) restUntil = now + restMs;
    if (!isExhausted && shaking > 0 && now - progress < quietMs) return options.soon(look);
    isHolding = false;
    requests.resume();
  };
  return {
    accepted: () => {
      progress = options.now();
      shaking += 1;
      if (!isHolding && requests.isEmpty() && progress >= restUntil) {
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
    pass: requests.pass,
  };
}

interface RequestTurns {
  readonly pass: ConnectionBurst["pass"];
  /** Serves the waiting requests, unless that is under way. */
  readonly resume: () => void;
  readonly isEmpty: () => boolean;
}

/** Requests that wait while `isHolding`, or for their turn. */
function requestTurns(
  { now, soon }: { readonly now: () => number; readonly soon: (run: () => void) => void },
  isHolding: () => boolean,
): RequestTurns {
  const [known, unknown]: [(() => void)[], (() => void)[]] = [[], []];
  let isServing = false;
  /** First requests of connections that were begun in this pass of the loop. */
  let begunUnknown = 0;

  const isEmpty = (): boolean => known.length + unknown.length === 0;
  const serve = (held: (() => void)[], max: number, until: number): number => {
    let served = 0;
    while (served < Math.min(max, held.length) && now() < until) {
      held[served]?.();
      served += 1;
    }
    held.splice(0, served);
    return served;
  };
  const nextPass = (): void => {
    isServing = false;
    begunUnknown = 0;
    if (!isHolding()) serveHeld();
  };
  const serveHeld = (): void => {
    const until = now() + maxServeMs;
    serve(known, Infinity, until);
    begunUnknown += serve(unknown, maxUnknown - begunUnknown, until);
    if (begunUnknown > 0 || !isEmpty()) serveSoon();
  };
  const serveSoon = (): void => {
    if (isServing) return;
    isServing = true;
    soon(nextPass);
  };
  return {
    isEmpty,
    resume: () => {
      if (!isServing) serveHeld();
    },
    pass: (run, isKnown) => {
      const held = isKnown ? known : unknown;
      if (isHolding() || held.length > 0 || (!isKnown && begunUnknown >= maxUnknown)) {
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
