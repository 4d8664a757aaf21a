import { StatusError } from "../../apimachinery/status.ts";

/** How many connections may be open. */
export interface ConnectionLimits {
  /** Of all clients. */
  readonly maxOpen: number;
  /** On which no request was authenticated yet. */
  readonly maxUnauthenticated: number;
}

/** Connections that are open now, and those that were closed since the start because there were too many. */
export interface ConnectionCounts {
  readonly open: number;
  readonly unauthenticated: number;
  readonly closed: number;
}

/** Bounds how many connections are open; each is named by its peer. */
export interface ConnectionLimiter {
  /** Counts a connection; returns what to call once it has closed. */
  readonly opened: (peer: string, close: () => void) => () => void;
  /** To be called when a request begins on a connection; returns whether one was authenticated on it before. */
  readonly began: (peer: string) => boolean;
  /** To be called when a request was authenticated: from then on its connection is not closed. */
  readonly authenticated: (peer: string) => void;
  readonly counts: () => ConnectionCounts;
}

interface Connection {
  readonly close: () => void;
}

/**
 * Where there are more connections than the limits allow, one is closed on which no request was authenticated: the one whose last request
 * began longest ago, or that was opened longest ago without any. A request under way protects no connection, since a client could make it
 * last. Where all others are authenticated, the newest connection is closed. `refused` is called after each.
 */
export function connectionLimiter(
  limits: ConnectionLimits,
  refused: (counts: ConnectionCounts) => void,
): ConnectionLimiter {
  const open = new Map<string, Connection>();
  // From the next one to be closed to the latest.
  const unauthenticated = new Map<string, Connection>();
  let closed = 0;

  const counts = (): ConnectionCounts => ({ open: open.size, unauthenticated: unauthenticated.size, closed });
  const forget = (peer: string, connection: Connection): void => {
    // The same peer may have connected again before the close of its last connection was noticed.
    for (const some of [open, unauthenticated]) if (some.get(peer) === connection) some.delete(peer);
  };
  const closeFirst = (): void => {
    const [first] = unauthenticated;
    if (first === undefined) return;
    forget(...first);
    closed += 1;
    first[1].close();
    refused(counts());
  };

  return {
    opened: (peer, close) => {
      const connection: Connection = { close };
      open.set(peer, connection);
      unauthenticated.set(peer, connection);
      if (open.size > limits.maxOpen || unauthenticated.size > limits.maxUnauthenticated) closeFirst();
      return () => forget(peer, connection);
    },
    began: (peer) => {
      const connection = unauthenticated.get(peer);
      if (connection === undefined) return open.has(peer);
      unauthenticated.delete(peer);
      unauthenticated.set(peer, connection);
      return false;
    },
    authenticated: (peer) => void unauthenticated.delete(peer),
    counts,
  };
}

/** How many are open, per flow and in total. */
export interface FlowCounts {
  /** Counts one more of a flow; false where the flow or the total is at its limit. */
  readonly enter: (flow: string) => boolean;
  readonly leave: (flow: string) => void;
}

/** Counts from zero. */
export function flowCounts({ maxOfOne, maxTotal }: Readonly<Record<"maxOfOne" | "maxTotal", number>>): FlowCounts {
  const counts = new Map<string, number>();
  let total = 0;
  return {
    enter: (flow) => {
      const count = counts.get(flow) ?? 0;
      if (count >= maxOfOne || total >= maxTotal) return false;
      counts.set(flow, count + 1);
      total += 1;
      return true;
    },
    leave: (flow) => {
      const count = counts.get(flow) ?? 0;
      if (count > 1) counts.set(flow, count - 1);
      else counts.delete(flow);
      total -= 1;
    },
  };
}

/** How many connections to kubelets the hub relays at once. */
export interface StreamLimits {
  readonly maxPerUser: number;
  readonly maxTotal: number;
}

/** Each takes two descriptors and up to some hundred kilobytes of buffers. */
export const defaultStreamLimits: StreamLimits = { maxPerUser: 128, maxTotal: 1024 };

/** Bounds the connections to kubelets; the result releases the seat, once. @throws StatusError TooManyRequests */
export type StreamLimiter = (flow: string) => () => void;

/** Counts per flow, which is a user, or an address where the user is anonymous. */
export function streamLimiter({ maxPerUser, maxTotal }: StreamLimits): StreamLimiter {
  const counts = flowCounts({ maxOfOne: maxPerUser, maxTotal });
  return (flow) => {
    if (!counts.enter(flow)) {
      throw new StatusError("TooManyRequests", "too many connections to kubelets are open; try again later", {
        details: { retryAfterSeconds: 1 },
      });
    }
    let isHeld = true;
    return () => {
      if (isHeld) counts.leave(flow);
      isHeld = false;
    };
  };
}
