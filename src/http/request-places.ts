import type { Clock } from "../core/clock.ts";
import { fairQueue, type FairQueue, type Refusal, type TakenPlace } from "./fair-queue.ts";
import type { PriorityLevel } from "./priority-level.ts";

/** A request that finds no place; it is answered 429 in plain text. */
export class Crowded extends Error {
  constructor() {
    super("Too many requests, please try again later.");
    this.name = "Crowded";
  }
}

/** Who wants a place. */
export interface Applicant {
  readonly level: PriorityLevel;
  readonly flow: string;
  /** A watch: it holds a place until it streams, and is counted from then on among the watches of its flow. */
  readonly longRunning: boolean;
  /** Is given what to call when the client is gone. */
  readonly whenGone: (gone: () => void) => void;
}

/** The place of one request. */
export interface Place {
  /** Runs `read` without the place, among the bodies of its flow, and comes back to a place. @throws Crowded */
  readonly whileReading: <T>(read: () => Promise<T>) => Promise<T>;
  /** Gives the place back early, for a request that streams from now on. */
  readonly streaming: () => void;
  /** Called once, when the request has ended. */
  readonly leave: () => void;
}

/** What one level does now, and whom it has refused so far. */
export interface LevelCounts {
  readonly level: PriorityLevel;
  readonly executing: number;
  readonly reading: number;
  readonly waiting: number;
  readonly watches: number;
  readonly refused: Readonly<Record<Refusal | "concurrency-limit", number>>;
}

export interface RequestPlaces {
  /** A place at once, or after a wait. @throws Crowded, or rejects with it. */
  readonly enter: (applicant: Applicant) => Place | Promise<Place>;
  readonly counts: () => readonly LevelCounts[];
}

export interface RequestPlacesOptions {
  /** All places of all levels together. */
  readonly places: number;
  /** How many watches one user may hold open; without a name, all together. */
  readonly watchesOfOne: number;
  readonly clock: Clock;
}

/** Of a hundred places; what one level does not use, no other gets, so none can be starved. */
const shares: Readonly<Record<Exclude<PriorityLevel, "exempt">, number>> = {
  "node-high": 15,
  system: 20,
  discovery: 15,
  workload: 40,
  anonymous: 10,
};

/** How much of its level one flow may hold. */
const flowShare = { places: 0.75, bodies: 0.125 } as const;
/** Waiting is cheap, and a burst that waits is better than one that comes again. */
const queue = { waiting: 8000, waitingOfOne: 2000, waitMs: 15_000 } as const;
/** All watches of a level, as a multiple of those of one flow. */
const watchFlows = 16;

const exemptPlace: Place = {
  whileReading: (read) => read(),
  streaming: () => undefined,
  leave: () => undefined,
};

/** The places of all levels. Requests of level `exempt` are neither counted nor bounded. */
export function requestPlaces(options: RequestPlacesOptions): RequestPlaces {
  const levels = new Map<PriorityLevel, Level>();
  for (const [level, share] of Object.entries(shares) as [Exclude<PriorityLevel, "exempt">, number][]) {
    levels.set(level, levelOf(level, Math.max(1, Math.round((options.places * share) / 100)), options));
  }
  return {
    enter: (applicant) => {
      const level = levels.get(applicant.level);
      return level === undefined ? exemptPlace : level.enter(applicant);
    },
    counts: () => [...levels.values()].map((level) => level.counts()),
  };
}

interface Level {
  readonly enter: RequestPlaces["enter"];
  readonly counts: () => LevelCounts;
}

function levelOf(level: PriorityLevel, places: number, { clock, watchesOfOne }: RequestPlacesOptions): Level {
  const ofOne = (share: number): number => Math.max(1, Math.floor(places * share));
  const seats = fairQueue({ places, placesOfOne: ofOne(flowShare.places), ...queue }, clock);
  const bodies = fairQueue({ places, placesOfOne: ofOne(flowShare.bodies), ...queue }, clock);
  const watches = watchCounts(level === "anonymous" ? Math.ceil(watchesOfOne / watchFlows) : watchesOfOne);
  const refused = { "queue-full": 0, "time-out": 0, cancelled: 0, "concurrency-limit": 0 };

  const queued = async (places: FairQueue, { flow, whenGone }: Applicant): Promise<TakenPlace> => {
    const result = await places.wait(flow, whenGone);
    if (typeof result !== "string") return result;
    refused[result] += 1;
    throw new Crowded();
  };
  const placeOf = (applicant: Applicant, taken: TakenPlace): Place => {
    let held: TakenPlace | undefined = taken;
    const giveBack = (): void => {
      if (held !== undefined) seats.leave(held);
      held = undefined;
    };
    return {
      whileReading: async (read) => {
        giveBack();
        const { flow } = applicant;
        const body = bodies.take(flow) ?? (await queued(bodies, applicant));
        try {
          const result = await read();
          // What has been read counts as a body until it has a place, or whoever waits could fill the memory.
          held = seats.take(flow) ?? (await queued(seats, applicant));
          return result;
        } finally {
          bodies.leave(body);
        }
      },
      streaming: giveBack,
      leave: () => {
        giveBack();
        if (applicant.longRunning) watches.leave(applicant.flow);
      },
    };
  };
  const waited = async (applicant: Applicant): Promise<Place> => {
    try {
      return placeOf(applicant, await queued(seats, applicant));
    } catch (error) {
      if (applicant.longRunning) watches.leave(applicant.flow);
      throw error;
    }
  };
  return {
    enter: (applicant) => {
      if (applicant.longRunning && !watches.enter(applicant.flow)) {
        refused["concurrency-limit"] += 1;
        throw new Crowded();
      }
      const taken = seats.take(applicant.flow);
      return taken === undefined ? waited(applicant) : placeOf(applicant, taken);
    },
    counts: () => ({
      level,
      executing: seats.taken(),
      reading: bodies.taken(),
      waiting: seats.waiting() + bodies.waiting(),
      watches: watches.all(),
      refused,
    }),
  };
}

interface WatchCounts {
  readonly enter: (flow: string) => boolean;
  readonly leave: (flow: string) => void;
  readonly all: () => number;
}

function watchCounts(max: number): WatchCounts {
  const counts = new Map<string, number>();
  let all = 0;
  return {
    enter: (flow) => {
      const count = counts.get(flow) ?? 0;
      if (count >= max || all >= max * watchFlows) return false;
      counts.set(flow, count + 1);
      all += 1;
      return true;
    },
    leave: (flow) => {
      const count = counts.get(flow) ?? 0;
      if (count > 1) counts.set(flow, count - 1);
      else counts.delete(flow);
      all -= 1;
    },
    all: () => all,
  };
}
