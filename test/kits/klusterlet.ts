import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { KlusterletEvent } from "../../src/agent/klusterlet/klusterlet-event.ts";
import { runKlusterlet } from "../../src/agent/klusterlet/klusterlet.ts";
import type { KlusterletOptions, KlusterletResult } from "../../src/agent/klusterlet/klusterlet-options.ts";
import { wallClock } from "../../src/host/system-clock.ts";

type EventOf<K extends KlusterletEvent["kind"]> = KlusterletEvent & { readonly kind: K };

/** An agent of a cluster that runs inside the test process. */
export interface RunningKlusterlet {
  readonly events: readonly KlusterletEvent[];
  /** The first event of this kind that holds, told already or later. Rejects when the agent ends before. */
  told<K extends KlusterletEvent["kind"]>(kind: K, holds?: (event: EventOf<K>) => boolean): Promise<EventOf<K>>;
  /** Forgets what was told so far. */
  forget(): void;
  readonly done: Promise<KlusterletResult>;
  stop(): Promise<void>;
}

export type KlusterletWish = Partial<KlusterletOptions> & Pick<KlusterletOptions, "bootstrapKubeconfigs" | "store">;

/** What an agent works with in a test, on the wall clock unless another is given. */
export function klusterletOptions(wish: KlusterletWish): Omit<KlusterletOptions, "signal" | "report"> {
  return {
    externalServers: [],
    readFile,
    clock: wallClock,
    random: randomBytes,
    userAgent: "klusterlet-test",
    ...wish,
  };
}

export function startKlusterlet(wish: KlusterletWish): RunningKlusterlet {
  const events: KlusterletEvent[] = [];
  const waiters = new Set<() => void>();
  const stop = new AbortController();
  const signal = wish.signal === undefined ? stop.signal : AbortSignal.any([stop.signal, wish.signal]);
  const done = runKlusterlet({
    ...klusterletOptions(wish),
    signal,
    report: (event) => {
      events.push(event);
      for (const wake of waiters) wake();
    },
  });
  done.catch(() => undefined);
  return {
    events,
    told: (kind, holds = () => true) =>
      new Promise((resolve, reject) => {
        const isIt = (event: KlusterletEvent): event is EventOf<typeof kind> =>
          event.kind === kind && holds(event as EventOf<typeof kind>);
        const look = (): void => {
          const found = events.find(isIt);
          if (found === undefined) return;
          waiters.delete(look);
          resolve(found);
        };
        waiters.add(look);
        const over = (): void => reject(new Error(`ended without ${kind}: ${JSON.stringify(events, undefined, 1)}`));
        done.then(over, over);
        look();
      }),
    forget: () => void events.splice(0),
    done,
    stop: async () => {
      stop.abort();
      await done.catch(() => undefined);
    },
  };
}
