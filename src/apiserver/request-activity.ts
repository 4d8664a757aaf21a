import type { Progress } from "./progress.ts";

/** Which requests were worked on at which time, so that what held the event loop can be named. */
export interface RequestActivity {
  readonly began: (progress: Progress) => void;
  readonly ended: (progress: Progress, now: number) => void;
  /** Requests that were under way at any time between two moments, in milliseconds since the epoch; those that ended within first, at most five. */
  readonly during: (from: number, to: number) => readonly Progress[];
}

/** How many ended requests are remembered. */
const maxEnded = 64;
const maxNamed = 5;

/** The requests of one port. */
export function requestActivity(): RequestActivity {
  const active = new Set<Progress>();
  const ended: { readonly progress: Progress; readonly at: number }[] = [];
  let next = 0;
  return {
    began: (progress) => void active.add(progress),
    ended: (progress, at) => {
      active.delete(progress);
      ended[next] = { progress, at };
      next = (next + 1) % maxEnded;
    },
    during: (from, to) => {
      const done = ended.filter(({ progress, at }) => at >= from && progress.receivedAt <= to);
      const open = [...active].filter(({ receivedAt, code }) => receivedAt <= to && code === 0);
      return [...done.map(({ progress }) => progress), ...open].slice(0, maxNamed);
    },
  };
}
