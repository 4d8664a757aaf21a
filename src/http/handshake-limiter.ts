/** A connection whose TLS handshake has not ended. */
export interface Handshake {
  /** Where it comes from; addresses take turns. */
  readonly address: string;
  /** Lets what the peer sends be read, in the next passes of the event loop. */
  readonly read: () => void;
  /** Leaves it unread. */
  readonly pause: () => void;
}

/** Bounds how many handshakes go on in one pass of the event loop. */
export interface HandshakeLimiter {
  /** Takes a connection that is being read; returns what to call once its handshake has ended, well or not. */
  readonly enter: (handshake: Handshake) => () => void;
  /** Connections that are left unread now. */
  readonly waiting: () => number;
}

/** So many are read at once: a flight of a handshake and the request behind it cost a millisecond or two. */
const defaultMaxReading = 4;

/**
 * At most `maxReading` handshakes are read at once, default 8. While there are more, `soon` (a timer of a millisecond) gives the next
 * ones their turn, address by address. A turn lasts for a pass of the event loop, whatever the peer sends or does not send, so a peer
 * that is slow or silent holds no place: it waits for its next turn, until the deadline of its handshake.
 */
export function handshakeLimiter(options: {
  readonly soon: (run: () => void) => void;
  readonly maxReading?: number;
}): HandshakeLimiter {
  const { soon, maxReading = defaultMaxReading } = options;
  const reading = new Set<Handshake>();
  // In the order in which addresses get their turn: one that has had it goes to the end.
  const addresses = new Map<string, Set<Handshake>>();
  let waiting = 0;
  let isTurning = false;

  const wait = (handshake: Handshake): void => {
    const others = addresses.get(handshake.address);
    if (others === undefined) addresses.set(handshake.address, new Set([handshake]));
    else others.add(handshake);
    waiting += 1;
  };
  const remove = (handshake: Handshake): boolean => {
    const others = addresses.get(handshake.address);
    if (others?.delete(handshake) !== true) return false;
    if (others.size === 0) addresses.delete(handshake.address);
    waiting -= 1;
    return true;
  };
  const next = (): Handshake | undefined => {
    for (const [address, [handshake]] of addresses) {
      if (handshake === undefined) continue;
      const others = addresses.get(address);
      remove(handshake);
      if (others !== undefined && addresses.delete(address)) addresses.set(address, others);
      return handshake;
    }
    return undefined;
  };
  const turn = (): void => {
    isTurning = false;
    if (waiting === 0) return;
    const last = [...reading];
    for (const handshake of last) wait(handshake);
    reading.clear();
    while (reading.size < maxReading) {
      const handshake = next();
      if (handshake === undefined) break;
      reading.add(handshake);
    }
    for (const handshake of last) if (!reading.has(handshake)) handshake.pause();
    for (const handshake of reading) if (!last.includes(handshake)) handshake.read();
    turnSoon();
  };
  const turnSoon = (): void => {
    if (isTurning || waiting === 0) return;
    isTurning = true;
    soon(turn);
  };

  return {
    enter: (handshake) => {
      if (waiting === 0 && reading.size < maxReading) reading.add(handshake);
      else {
        handshake.pause();
        wait(handshake);
        turnSoon();
      }
      return () => {
        // What has ended is read by those who come after the handshake.
        if (!reading.delete(handshake) && remove(handshake)) handshake.read();
      };
    },
    waiting: () => waiting,
  };
}
