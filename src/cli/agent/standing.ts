import type { AgentEvent } from "../../agent/agent-event.ts";
import { rfc3339 } from "../../core/clock.ts";

/** How all that an agent keeps stands, as its events tell. */
export interface Standing {
  note(event: AgentEvent): void;
  /** Whether there is something and all of it is good. `now` in milliseconds since the epoch. */
  isGood(now: number): boolean;
  /** One line for a service manager. */
  sentence(now: number): string;
}

interface One {
  readonly expiresAt: number;
  readonly nextAt: number;
  readonly lost: boolean;
  readonly refused: boolean;
}

const unknown: One = { expiresAt: 0, nextAt: 0, lost: false, refused: false };

/** Knows of nothing yet. */
export function standing(): Standing {
  const known = new Map<string, One>();
  const isGoodOne = (one: One, now: number): boolean => !one.lost && !one.refused && now < one.expiresAt;

  function after(event: AgentEvent, one: One): One {
    switch (event.event) {
      case "planned":
        // Told of one that was there before as well, after it was told that it is refused.
        return { ...one, expiresAt: event.expiresAt, nextAt: event.at, lost: false };
      case "renewed":
        return { ...one, expiresAt: event.expiresAt, lost: false, refused: false };
      case "refused":
        return { ...one, refused: true };
      case "accepted":
        return { ...one, refused: false };
      case "hastened":
        return { ...one, nextAt: event.at };
      case "failed":
        return { ...one, expiresAt: event.expiresAt ?? 0, nextAt: event.at };
      case "lost":
        return { ...one, lost: true };
      case "mended":
        return { ...one, lost: false };
      default:
        return one;
    }
  }

  return {
    note: (event) => {
      // A CA that cannot be asked for is told of in the log; the credentials are good all the same.
      if (event.kind === "ca") return;
      const key = `${event.kind} ${event.path}`;
      known.set(key, after(event, known.get(key) ?? unknown));
    },
    isGood: (now) => known.size > 0 && [...known.values()].every((one) => isGoodOne(one, now)),
    sentence: (now) => {
      const all = [...known.values()];
      const good = all.filter((one) => isGoodOne(one, now)).length;
      const next = Math.min(...all.flatMap(({ nextAt }) => (nextAt > now ? [nextAt] : [])));
      const refused = all.filter((one) => one.refused).length;
      const told = refused === 0 ? "" : `, ${refused} refused by the hub`;
      return `${good} of ${all.length} credentials good${told}${Number.isFinite(next) ? `, next at ${rfc3339(next)}` : ""}`;
    },
  };
}
