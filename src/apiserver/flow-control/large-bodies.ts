import type { Clock } from "../../apimachinery/clock.ts";
import { fairQueue } from "./fair-queue.ts";

/** Bounds how many requests with large bodies are worked on at once, since each takes many times the memory of its body. */
export interface LargeBodies {
  /**
   * Waits until a large body may be read. The result is called once the request has ended; it is `refused` where the wait would be too
   * long, or the client is gone.
   */
  readonly admit: (asked: LargeBody) => Promise<(() => void) | "refused">;
}

/** A large body that is about to be read. */
export interface LargeBody {
  readonly flow: string;
  /** Is given what to call when the client is gone. */
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
