import type { Clock } from "../../apimachinery/clock.ts";

/** How many requests may be served at once and how many may wait, over all flows and per flow. */
export interface FairQueueLimits {
  readonly places: number;
  readonly placesOfOne: number;
  readonly waiting: number;
  readonly waitingOfOne: number;
  /** The longest wait, in milliseconds. */
  readonly waitMs: number;
}

/** Seats that several queues share; each queue asks for its own. */
export interface SeatPool {
  /** Whether this queue may have one more. */
  readonly isFree: () => boolean;
  readonly take: () => void;
  /** Releases one, and offers it to the waiting requests of this queue and of others. */
  readonly leave: () => void;
}

/** The reason of a rejection, as in Kubernetes' metrics. */
export type Refusal = "queue-full" | "time-out" | "cancelled";

/** An occupied seat; its only use is to release it. */
export interface TakenSeat {
  readonly flow: string;
}

/** Seats that flows share: while requests wait, each flow in turn receives the next seat, however many of its own wait. */
export interface FairQueue {
  /** Takes a seat without waiting; undefined when none is free, or when others of this flow wait already. */
  readonly take: (flow: string) => TakenSeat | undefined;
  /** Waits for a seat. `whenGone` receives the function to call when the client disconnects. */
  readonly wait: (flow: string, whenGone: (gone: () => void) => void) => Promise<TakenSeat | Refusal>;
  readonly leave: (place: TakenSeat) => void;
  /** Assigns free seats to waiting requests; for seats that become free elsewhere. */
  readonly offer: () => void;
  readonly taken: () => number;
  readonly waiting: () => number;
}

interface Flow extends TakenSeat {
  taken: number;
  /** In the order of arrival; created with the first that waits. */
  queue: Set<Waiter> | undefined;
}

interface Waiter {
  readonly flow: Flow;
  readonly deadline: number;
  readonly settle: (result: TakenSeat | Refusal) => void;
}

/** How many idle flows are kept, as most send again. */
const maxIdle = 1024;

/**
 * Creates a queue with all seats free. It forgets a flow after the flow's last request, beyond 1024 of them. The limits
 * other than the seats are read again for each request. With a pool it has the seats of the pool, in place of `limits.places`.
 */
export function fairQueue(limits: () => FairQueueLimits, clock: Clock, pool?: SeatPool): FairQueue {
  const flows = new Map<string, Flow>();
  /** The flows that could use a seat now, the next one first. */
  const ring = new Set<Flow>();
  const waiters = new Set<Waiter>();
  let taken = 0;
  const seats = pool ?? ownSeats(limits().places, () => dispatch());
  const takeFor = (flow: Flow): void => {
    taken += 1;
    flow.taken += 1;
    seats.take();
  };

  const remove = (waiter: Waiter): void => {
    const { flow } = waiter;
    waiters.delete(waiter);
    flow.queue?.delete(waiter);
    if (!isWaiting(flow)) ring.delete(flow);
    forget(flow);
  };

  const forget = (flow: Flow): void => {
    if (flows.size > maxIdle && flow.taken === 0 && !isWaiting(flow)) flows.delete(flow.flow);
  };

  const dispatch = (): void => {
    for (const flow of ring) {
      if (!seats.isFree()) return;
      const waiter = first(flow.queue);
      // Deleted and added again, it is last, and this loop reaches it again after the others.
      ring.delete(flow);
      if (waiter === undefined) continue;
      takeFor(flow);
      remove(waiter);
      if (isWaiting(flow) && flow.taken < limits().placesOfOne) ring.add(flow);
      waiter.settle(flow);
    }
  };

  const expire = expiry(waiters, clock, (waiter) => {
    remove(waiter);
    waiter.settle("time-out");
  });

  return {
    take: (key) => {
      if (!seats.isFree()) return undefined;
      const flow = flowIn(flows, key);
      if (flow.taken >= limits().placesOfOne || isWaiting(flow)) return undefined;
      takeFor(flow);
      return flow;
    },
    wait: (key, whenGone) => {
      const flow = flowIn(flows, key);
      const queue = (flow.queue ??= new Set());
      const { waiting, waitingOfOne, waitMs, placesOfOne } = limits();
      if (waiters.size >= waiting || queue.size >= waitingOfOne) {
        forget(flow);
        return Promise.resolve("queue-full");
      }
      return new Promise((settle) => {
        const waiter: Waiter = { flow, deadline: clock.now() + waitMs, settle };
        waiters.add(waiter);
        queue.add(waiter);
        if (flow.taken < placesOfOne) ring.add(flow);
        whenGone(() => {
          if (!waiters.has(waiter)) return;
          remove(waiter);
          settle("cancelled");
        });
        expire();
        dispatch();
      });
    },
    leave: (place) => {
      const flow = place as Flow;
      taken -= 1;
      flow.taken -= 1;
      if (isWaiting(flow)) ring.add(flow);
      else forget(flow);
      seats.leave();
    },
    offer: dispatch,
    taken: () => taken,
    waiting: () => waiters.size,
  };
}

/** The seats of a queue that shares them with no other. */
function ownSeats(places: number, offer: () => void): SeatPool {
  let free = places;
  return {
    isFree: () => free > 0,
    take: () => {
      free -= 1;
    },
    leave: () => {
      free += 1;
      offer();
    },
  };
}

function flowIn(flows: Map<string, Flow>, key: string): Flow {
  const known = flows.get(key);
  if (known !== undefined) return known;
  const flow: Flow = { flow: key, taken: 0, queue: undefined };
  flows.set(key, flow);
  return flow;
}

/** Ends waits that have lasted too long; to be called when there is a new one. They are in the order of their deadlines. */
function expiry(waiters: ReadonlySet<Waiter>, clock: Clock, end: (waiter: Waiter) => void): () => void {
  let running = false;
  const run = async (): Promise<void> => {
    for (let oldest = first(waiters); oldest !== undefined; oldest = first(waiters)) {
      const left = oldest.deadline - clock.now();
      if (left > 0) await clock.sleep(left);
      else end(oldest);
    }
    running = false;
  };
  return () => {
    if (running) return;
    running = true;
    void run();
  };
}

function isWaiting({ queue }: Flow): boolean {
  return queue !== undefined && queue.size > 0;
}

function first<T>(set: ReadonlySet<T> | undefined): T | undefined {
  return set?.values().next().value;
}

/** Bounds how many requests with large bodies are worked on at once, since each takes many times the memory of its body. */
export interface LargeBodies {
  /**
   * Waits until a large body may be read. The caller calls the result once the request has ended; it is `refused` where the wait would be too
   * long, or the client has disconnected.
   */
  readonly admit: (asked: LargeBody) => Promise<(() => void) | "refused">;
}

/** A large body that is about to be read. */
export interface LargeBody {
  readonly flow: string;
  /** Receives the function to call when the client disconnects. */
  readonly whenGone: (gone: () => void) => void;
}

/** A body of more bytes than this is large. */
export const largeBodyBytes: number = 128 * 1024;

const limits = { places: 4, placesOfOne: 2, waiting: 1000, waitingOfOne: 250, waitMs: 15_000 } as const;

/** The large bodies of one port: four at once, two of one user. */
export function largeBodies(clock: Clock): LargeBodies {
  const queue = fairQueue(() => limits, clock);
  return {
    admit: async ({ flow, whenGone }) => {
      const place = queue.take(flow) ?? (await queue.wait(flow, whenGone));
      return typeof place === "string" ? "refused" : () => queue.leave(place);
    },
  };
}
