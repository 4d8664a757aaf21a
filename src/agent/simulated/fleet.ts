import type { Clock } from "../../apimachinery/clock.ts";
import type { Discovery } from "../join/join-options.ts";
import { newTally, simulateMachine, type MachineTally } from "./machine.ts";

/** Many machines of one hub. */
export interface FleetOptions {
  readonly machines: number;
  readonly namePrefix: string;
  readonly discovery: Discovery;
  /** In milliseconds, as are the next two. */
  readonly beatMs: number;
  /** The time over which their joins are spread. */
  readonly spreadMs: number;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly fraction: () => number;
  readonly userAgent: string;
  readonly signal: AbortSignal;
}

/** The tally of a fleet. Times in milliseconds. */
export interface FleetReport {
  readonly machines: number;
  readonly joined: number;
  /** Machines that received certificates of more than one name, or of another than their own. */
  readonly otherIdentity: number;
  /** Machines that gave up, with the reasons of the first few. */
  readonly lost: number;
  readonly lostBecause: readonly string[];
  /** What the machines wait for that have neither joined nor given up, each reason once, at most 5. */
  readonly notJoinedBecause: readonly string[];
  readonly rotations: number;
  readonly beats: number;
  readonly failures: number;
  readonly longestGapMs: number;
  /** Requests that the machines have started, by second from the start. */
  readonly perSecond: readonly number[];
}

/** A running fleet. */
export interface Fleet {
  /** The present tally. */
  readonly report: () => FleetReport;
  /** Resolves when all have ended, after `signal`. Never rejects. */
  readonly ended: Promise<void>;
}

const maxTimelineEntries = 100_000;

/** Starts the machines one after the other over `spreadMs`. */
export function simulateFleet(options: FleetOptions): Fleet {
  const { machines, namePrefix, clock, fraction, spreadMs, signal } = options;
  const begun = clock.now();
  const perSecond: number[] = [];
  const called = (): void => {
    const second = Math.min(Math.max(0, Math.floor((clock.now() - begun) / 1000)), maxTimelineEntries);
    while (perSecond.length <= second) perSecond.push(0);
    perSecond[second] = (perSecond[second] ?? 0) + 1;
  };
  const tallies = Array.from({ length: machines }, newTally);
  const running = tallies.map(async (tally, index) => {
    await clock.sleep(((index + fraction()) / machines) * spreadMs, signal);
    if (signal.aborted) return;
    await simulateMachine({ ...options, nodeName: `${namePrefix}${index}`, tally, called });
  });
  return {
    report: () => summary(tallies, namePrefix, perSecond),
    ended: Promise.all(running).then(() => undefined),
  };
}

function summary(tallies: readonly MachineTally[], prefix: string, perSecond: readonly number[]): FleetReport {
  const sum = (of: (tally: MachineTally) => number): number => tallies.reduce((all, tally) => all + of(tally), 0);
  const count = (holds: (tally: MachineTally, index: number) => boolean): number => tallies.filter(holds).length;
  const reasons = new Set(tallies.map(({ lost }) => lost).filter((why) => why !== undefined));
  const waits = new Set(
    tallies.map(({ lost, waitsFor }) => (lost === undefined ? waitsFor : undefined)).filter((why) => why !== undefined),
  );
  return {
    machines: tallies.length,
    joined: count(({ joined }) => joined),
    otherIdentity: count(({ identities }, index) =>
      [...identities].some((name) => name !== `system:node:${prefix}${index}`),
    ),
    lost: count(({ lost }) => lost !== undefined),
    lostBecause: [...reasons].slice(0, 5),
    notJoinedBecause: [...waits].slice(0, 5),
    rotations: sum(({ rotations }) => rotations),
    beats: sum(({ beats }) => beats),
    failures: sum(({ failures }) => failures),
    longestGapMs: Math.max(0, ...tallies.map(({ longestGapMs }) => longestGapMs)),
    perSecond: [...perSecond],
  };
}
