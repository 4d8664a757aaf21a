import type { Clock } from "../../apimachinery/clock.ts";
import { flowCounts, type FlowCounts } from "../connections/connection-limiter.ts";
import { fairQueue, type FairQueue, type FairQueueLimits, type Refusal, type TakenSeat } from "./fair-queue.ts";
import { anonymousLevel, exemptedLevel, type LevelTerms, type SenderClass } from "./flow-control.ts";
import { sharedSeats, type LevelSeats } from "./level-seats.ts";

/** A request that gets no seat; it is answered 429 in plain text. */
export class TooManyRequests extends Error {
  constructor() {
    super("Too many requests, please try again later.");
    this.name = "TooManyRequests";
  }
}

/** A request that needs a seat. */
export interface Applicant {
  /** Undefined for a request that is neither counted nor bounded. */
  readonly level: string | undefined;
  /** The flow within the level. */
  readonly flow: string;
  /** Whose bodies and watches are counted over all levels: the user, or an address. */
  readonly sender: string;
  readonly senderClass: SenderClass;
  /** A watch: it occupies a seat until it streams, and is counted from then on among the watches of its sender. */
  readonly longRunning: boolean;
  /** Receives the function to call when the client disconnects. */
  readonly whenGone: (gone: () => void) => void;
}

/** The seat of one request. */
export interface Seat {
  /** Runs `read` without the seat, among the bodies of its flow, and then takes a seat again. @throws TooManyRequests */
  readonly whileReading: <T>(read: () => Promise<T>) => Promise<T>;
  /** Releases the seat early, for a request that streams from now on. */
  readonly streaming: () => void;
  /** Called once, when the request has ended. */
  readonly leave: () => void;
}

/** The present use of one level, and its rejections so far. */
export interface LevelCounts {
  readonly level: string;
  readonly executing: number;
  readonly reading: number;
  readonly waiting: number;
  readonly watches: number;
  readonly refused: Readonly<Record<Refusal | "concurrency-limit", number>>;
}

export interface InflightLimiter {
  /** A seat at once, or after a wait. @throws TooManyRequests, or rejects with it. */
  readonly enter: (applicant: Applicant) => Seat | Promise<Seat>;
  readonly counts: () => readonly LevelCounts[];
}

export interface InflightLimiterOptions {
  /** All seats of all levels together. */
  readonly places: number;
  /** The levels now; the same array until they change. */
  readonly levels: () => readonly LevelTerms[];
  /** How many watches one user may hold open; without a name, all together. */
  readonly watchesOfOne: number;
  readonly clock: Clock;
}

/** Of a hundred seats: those of anonymous users, which no object can change. */
const anonymousShare = 10;

/** Of a hundred seats: how many bodies are read at once for each class of senders. No object changes that. */
const bodyShares: Readonly<Record<SenderClass, number>> = { node: 35, user: 40, anonymous: anonymousShare };

/** The share of its level that one flow may use, and of the bodies of its class that one sender may use. */
const flowShare = { places: 0.75, bodies: 0.125 } as const;
/** The most that may wait in a level, whatever its object allows. Waiting is cheap, and a burst that waits is better than one that retries. */
const queue = { waiting: 8000, waitingOfOne: 2000, waitMs: 15_000 } as const;
/** All watches of authenticated users, and of anonymous ones, as a multiple of those of one sender. */
const watchFlows = 16;

const exemptSeat: Seat = {
  whileReading: (read) => read(),
  streaming: () => undefined,
  leave: () => undefined,
};

/** The seats of all levels. Requests of no level are neither counted nor bounded. */
export function inflightLimiter(options: InflightLimiterOptions): InflightLimiter {
  const { places, watchesOfOne, clock } = options;
  const ofAnonymous = Math.max(1, Math.round((places * anonymousShare) / 100));
  const seats = sharedSeats(Math.max(1, places - ofAnonymous));
  const watches = watchesOf(watchesOfOne);
  const bodies = bodyQueues(places, clock);
  const own = (level: string, count: number, counts: FlowCounts): Level =>
    levelOf({ level, limits: () => ownLimits(count), bodies, watches: counts, clock });
  const levels = new Map<string, Level>([
    [anonymousLevel, own(anonymousLevel, ofAnonymous, watchesOf(Math.ceil(watchesOfOne / watchFlows)))],
    [exemptedLevel, own(exemptedLevel, places, watches)],
  ]);
  let divided: readonly LevelTerms[] = [];
  const terms = new Map<string, LevelTerms>();
  const divide = (): void => {
    const now = options.levels();
    if (now === divided) return;
    divided = now;
    terms.clear();
    for (const level of now) {
      terms.set(level.name, level);
      if (!levels.has(level.name)) levels.set(level.name, sharing(level.name));
    }
    seats.divide(now);
    for (const [name, level] of levels) {
      const { executing, reading, waiting, watches: open } = level.counts();
      const isOwn = name === anonymousLevel || name === exemptedLevel;
      if (isOwn || terms.has(name) || executing + reading + waiting + open > 0) continue;
      levels.delete(name);
      seats.forget(name);
    }
  };
  const sharing = (level: string): Level => {
    const ofLevel = seats.of(level);
    const limits = (): FairQueueLimits => limitsOf(terms.get(level), ofLevel.share().most);
    return levelOf({ level, limits, bodies, watches, clock, seats: ofLevel });
  };
  return {
    enter: (applicant) => {
      if (applicant.level === undefined) return exemptSeat;
      divide();
      // A level that was deleted between the two must not become one without limits.
      const level = levels.get(applicant.level) ?? levels.get(anonymousLevel);
      if (level === undefined) throw new TooManyRequests();
      return level.enter(applicant);
    },
    counts: () => {
      divide();
      return [...levels.values()].map((level) => level.counts());
    },
  };
}

function watchesOf(maxOfOne: number): FlowCounts {
  return flowCounts({ maxOfOne, maxTotal: maxOfOne * watchFlows });
}

type BodyQueues = Readonly<Record<SenderClass, FairQueue>>;

function bodyQueues(all: number, clock: Clock): BodyQueues {
  const queueOf = (part: number): FairQueue => {
    const places = Math.max(1, Math.round((all * part) / 100));
    const limits = { places, placesOfOne: share(places, flowShare.bodies), ...queue };
    return fairQueue(() => limits, clock);
  };
  return {
    node: queueOf(bodyShares.node),
    user: queueOf(bodyShares.user),
    anonymous: queueOf(bodyShares.anonymous),
  };
}

function ownLimits(places: number): FairQueueLimits {
  return { places, placesOfOne: share(places, flowShare.places), ...queue };
}

/** The queue limits of a level's object, within what the hub allows; requests of a deleted level wait no longer than others. */
function limitsOf(terms: LevelTerms | undefined, most: number): FairQueueLimits {
  const { type, queuing = {} } = terms?.limitResponse ?? {};
  const { queues = 0, handSize = 0, queueLengthLimit = 0 } = queuing;
  const [waiting, waitingOfOne] = type === "Queue" ? [queues * queueLengthLimit, handSize * queueLengthLimit] : [0, 0];
  return {
    ...ownLimits(most),
    waiting: Math.min(queue.waiting, waiting),
    waitingOfOne: Math.min(queue.waitingOfOne, waitingOfOne),
  };
}

function share(places: number, part: number): number {
  return Math.max(1, Math.floor(places * part));
}

interface Level {
  readonly enter: (applicant: Applicant) => Seat | Promise<Seat>;
  readonly counts: () => LevelCounts;
}

interface LevelOptions {
  readonly level: string;
  readonly limits: () => FairQueueLimits;
  /** Shared by all levels. */
  readonly bodies: BodyQueues;
  /** Shared by all levels of authenticated users. */
  readonly watches: FlowCounts;
  readonly clock: Clock;
  /** Absent for a level that neither lends nor borrows. */
  readonly seats?: LevelSeats;
}

/** What the seats of one level share. */
interface SeatParts {
  readonly seats: FairQueue;
  readonly bodies: BodyQueues;
  readonly queued: (places: FairQueue, flow: string, applicant: Applicant) => Promise<TakenSeat>;
  readonly endWatch: (applicant: Applicant) => void;
  /** How many bodies are read, and how many wait for that. */
  readonly reads: { executing: number; waiting: number };
}

async function queuedToRead({ bodies, queued, reads }: SeatParts, applicant: Applicant): Promise<TakenSeat> {
  reads.waiting += 1;
  try {
    return await queued(bodies[applicant.senderClass], applicant.sender, applicant);
  } finally {
    reads.waiting -= 1;
  }
}

function seatOf(parts: SeatParts, applicant: Applicant, taken: TakenSeat): Seat {
  const { seats, bodies, queued, endWatch, reads } = parts;
  let held: TakenSeat | undefined = taken;
  const releaseTaken = (): void => {
    if (held !== undefined) seats.leave(held);
    held = undefined;
  };
  return {
    whileReading: async (read) => {
      releaseTaken();
      const queueOfBodies = bodies[applicant.senderClass];
      const body = queueOfBodies.take(applicant.sender) ?? (await queuedToRead(parts, applicant));
      reads.executing += 1;
      try {
        const result = await read();
        // A body that was read counts as one until it has a seat, or requests that wait for a seat could fill the memory.
        held = seats.take(applicant.flow) ?? (await queued(seats, applicant.flow, applicant));
        return result;
      } finally {
        reads.executing -= 1;
        queueOfBodies.leave(body);
      }
    },
    streaming: releaseTaken,
    leave: () => {
      releaseTaken();
      endWatch(applicant);
    },
  };
}

function levelOf({ level, limits, bodies, watches, clock, seats: ofLevel }: LevelOptions): Level {
  const seats = fairQueue(limits, clock, ofLevel);
  ofLevel?.offerBy(seats.offer);
  let watching = 0;
  const refused = { "queue-full": 0, "time-out": 0, cancelled: 0, "concurrency-limit": 0 };
  const endWatch = ({ sender, longRunning }: Applicant): void => {
    if (!longRunning) return;
    watches.leave(sender);
    watching -= 1;
  };

  const queued = async (places: FairQueue, flow: string, { whenGone }: Applicant): Promise<TakenSeat> => {
    const result = await places.wait(flow, whenGone);
    if (typeof result !== "string") return result;
    // A level without a queue rejects because no seat is free.
    refused[result === "queue-full" && limits().waiting === 0 ? "concurrency-limit" : result] += 1;
    throw new TooManyRequests();
  };
  const reads = { executing: 0, waiting: 0 };
  const parts: SeatParts = { seats, bodies, queued, endWatch, reads };
  const waited = async (applicant: Applicant): Promise<Seat> => {
    try {
      return seatOf(parts, applicant, await queued(seats, applicant.flow, applicant));
    } catch (error) {
      endWatch(applicant);
      throw error;
    }
  };
  return {
    enter: (applicant) => {
      if (applicant.longRunning && !watches.enter(applicant.sender)) {
        refused["concurrency-limit"] += 1;
        throw new TooManyRequests();
      }
      if (applicant.longRunning) watching += 1;
      const taken = seats.take(applicant.flow);
      return taken === undefined ? waited(applicant) : seatOf(parts, applicant, taken);
    },
    counts: () => ({
      level,
      executing: seats.taken(),
      reading: reads.executing,
      waiting: seats.waiting() + reads.waiting,
      watches: watching,
      refused,
    }),
  };
}
