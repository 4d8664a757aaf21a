import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fakeClock, settled } from "../../../test/kits/fake-clock.ts";
import { fairQueue, type FairQueueLimits, type TakenSeat, largeBodies, type LargeBody } from "./fair-queue.ts";

const limits: FairQueueLimits = { places: 4, placesOfOne: 3, waiting: 100, waitingOfOne: 10, waitMs: 1000 };
const never = (): void => undefined;

function queueOf(changes: Partial<FairQueueLimits> = {}) {
  const clock = fakeClock();
  return { clock, queue: fairQueue(() => ({ ...limits, ...changes }), clock) };
}

describe("a fair queue", () => {
  test("gives a flow its share at once and no more", () => {
    const { queue } = queueOf();
    expect(["a", "a", "a", "a", "b", "b"].map((flow) => queue.take(flow)?.flow)).toEqual([
      "a",
      "a",
      "a",
      undefined,
      "b",
      undefined,
    ]);
    expect(queue.taken()).toBe(4);
  });

  test("gives each flow in turn the next place, however many of one wait", async () => {
    const { queue } = queueOf({ places: 1 });
    const held = queue.take("z") as TakenSeat;
    const order: string[] = [];
    const wait = async (flow: string): Promise<void> => {
      const place = await queue.wait(flow, never);
      order.push(flow);
      queue.leave(place as TakenSeat);
    };
    const all = ["a", "a", "a", "a", "b", "c"].map(wait);
    queue.leave(held);
    await Promise.all(all);
    expect(order).toEqual(["a", "b", "c", "a", "a", "a"]);
    expect([queue.taken(), queue.waiting()]).toEqual([0, 0]);
  });

  test("lets nobody pass those of its own flow who wait", async () => {
    const { queue } = queueOf({ placesOfOne: 1 });
    const first = queue.take("a") as TakenSeat;
    const second = queue.wait("a", never);
    expect(queue.take("a")).toBeUndefined();
    queue.leave(first);
    expect(await second).toMatchObject({ flow: "a" });
  });

  test("refuses when too many of a flow wait, and others may still wait", async () => {
    const { queue } = queueOf({ places: 1, waitingOfOne: 2, waiting: 3 });
    queue.take("z");
    void queue.wait("a", never);
    void queue.wait("a", never);
    expect(await queue.wait("a", never)).toBe("queue-full");
    void queue.wait("b", never);
    expect(await queue.wait("c", never)).toBe("queue-full");
    expect(queue.waiting()).toBe(3);
  });

  test("refuses who has waited too long, and only those", async () => {
    const { clock, queue } = queueOf({ places: 1 });
    const held = queue.take("z") as TakenSeat;
    const early = queue.wait("a", never);
    await clock.advance(600);
    const late = queue.wait("a", never);
    await clock.advance(600);
    expect(await early).toBe("time-out");
    queue.leave(held);
    expect(await late).toMatchObject({ flow: "a" });
  });

  test("forgets who is gone", async () => {
    const { queue } = queueOf({ places: 1 });
    const held = queue.take("z") as TakenSeat;
    let gone = never;
    const waiting = queue.wait("a", (notify) => {
      gone = notify;
    });
    gone();
    expect(await waiting).toBe("cancelled");
    gone();
    queue.leave(held);
    expect([queue.taken(), queue.waiting()]).toEqual([0, 0]);
    expect(queue.take("a")).toMatchObject({ flow: "a" });
  });

  test("never gives out more than there is, loses no place, and leaves nobody waiting beside a free one", async () => {
    const step = fc.record({ flow: fc.constantFrom("a", "b", "c"), act: fc.constantFrom("come", "go", "vanish") });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { queue } = queueOf();
        const held: TakenSeat[] = [];
        const leavers: (() => void)[] = [];
        const ofFlow = (flow: string): number => held.filter((place) => place.flow === flow).length;
        for (const { flow, act } of steps) {
          if (act === "come") {
            const place = queue.take(flow);
            if (place !== undefined) held.push(place);
            else {
              void queue
                .wait(flow, (gone) => leavers.push(gone))
                .then((result) => typeof result !== "string" && held.push(result));
            }
          } else if (act === "vanish") leavers.pop()?.();
          else {
            const place = held.shift();
            if (place !== undefined) queue.leave(place);
          }
          await Promise.resolve().then(() => undefined);
          expect(held.length).toBe(queue.taken());
          expect(held.length).toBeLessThanOrEqual(limits.places);
          for (const one of ["a", "b", "c"]) expect(ofFlow(one)).toBeLessThanOrEqual(limits.placesOfOne);
        }
        for (let place = held.shift(); place !== undefined; place = held.shift()) {
          queue.leave(place);
          await settledSoon();
        }
        expect([queue.taken(), queue.waiting()]).toEqual([0, 0]);
      }),
      { numRuns: 100 },
    );
  });
});

async function settledSoon(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await Promise.resolve();
}

const stays: LargeBody["whenGone"] = () => undefined;

/** Asks for a flow, and tells later whether it was admitted, refused, or waits. */
function stage(): {
  readonly ask: (
    flow: string,
    whenGone?: LargeBody["whenGone"],
  ) => { readonly state: () => string; readonly end: () => void };
} {
  const bodies = largeBodies(fakeClock());
  return {
    ask: (flow, whenGone = stays) => {
      let [state, end] = ["waits", (): void => undefined];
      void bodies.admit({ flow, whenGone }).then((result) => {
        state = result === "refused" ? "refused" : "admitted";
        if (result !== "refused") end = result;
      });
      return { state: () => state, end: () => end() };
    },
  };
}

test("a user has two large bodies at once, and all users together four", async () => {
  const { ask } = stage();
  const asked = ["a", "a", "a", "b", "b", "c"].map((flow) => ask(flow));
  await settled();
  const states = asked.map(({ state }) => state());
  expect(states).toEqual(["admitted", "admitted", "waits", "admitted", "admitted", "waits"]);
});

test("the next one is admitted when a request has ended, and one whose client is gone is refused", async () => {
  const { ask } = stage();
  let leave = (): void => undefined;
  const asked = [
    ask("a"),
    ask("a"),
    ask("a", (gone) => {
      leave = gone;
    }),
    ask("a"),
  ];
  await settled();
  leave();
  asked[0]?.end();
  await settled();
  expect(asked.map(({ state }) => state())).toEqual(["admitted", "admitted", "refused", "admitted"]);
});
