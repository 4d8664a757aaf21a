import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ObjectKey } from "../apimachinery/object.ts";
import { fakeClock, settled, type FakeClock } from "../../test/kits/fake-clock.ts";
import { workQueue, type Verdict, type WorkQueueOptions, delays } from "./workqueue.ts";

const a: ObjectKey = { namespace: "x", name: "a" };
const b: ObjectKey = { name: "b" };

/** A queue whose keys stay under way until the test ends them. */
function held(options: Partial<WorkQueueOptions> = {}): {
  readonly clock: FakeClock;
  readonly queue: ReturnType<typeof workQueue>;
  readonly seen: string[];
  readonly finish: (key: ObjectKey, verdict?: Verdict) => Promise<void>;
} {
  const clock = fakeClock();
  const seen: string[] = [];
  const open = new Map<string, (verdict: Verdict) => void>();
  const queue = workQueue({
    clock,
    concurrency: 1,
    backoff: { initialMs: 5, maxMs: 1000 },
    process: (key, attempt) => {
      seen.push(`${key.name}#${attempt}`);
      return new Promise((resolve) => open.set(key.name, resolve));
    },
    ...options,
  });
  async function finish(key: ObjectKey, verdict: Verdict = { kind: "forget" }): Promise<void> {
    open.get(key.name)?.(verdict);
    await settled();
  }
  return { clock, queue, seen, finish };
}

describe("workQueue", () => {
  test("processes a key in the microtask after it was added", async () => {
    const { queue, seen } = held();
    queue.start();
    queue.add(a);
    await Promise.resolve();
    expect(seen).toEqual(["a#1"]);
  });

  test("holds keys until it is started", async () => {
    const { queue, seen } = held();
    queue.add(a);
    await settled();
    expect(seen).toEqual([]);
    queue.start();
    await settled();
    expect(seen).toEqual(["a#1"]);
  });

  test("takes a key that waits already only once", async () => {
    const { queue, seen, finish } = held();
    queue.start();
    queue.add(a);
    queue.add(a);
    await settled();
    await finish(a);
    expect(seen).toEqual(["a#1"]);
    expect(queue.idle()).toBe(true);
  });

  test("processes a key that is added while under way once more, and not before the first has ended", async () => {
    const { queue, seen, finish } = held({ concurrency: 5 });
    queue.start();
    queue.add(a);
    await settled();
    queue.add(a);
    queue.add(a);
    await settled();
    expect(seen).toEqual(["a#1"]);
    await finish(a);
    expect(seen).toEqual(["a#1", "a#1"]);
    await finish(a);
    expect(seen).toHaveLength(2);
  });

  test("lets no more keys under way than its concurrency", async () => {
    const { queue, seen, finish } = held();
    queue.start();
    queue.add(a);
    queue.add(b);
    await settled();
    expect(seen).toEqual(["a#1"]);
    await finish(a);
    expect(seen).toEqual(["a#1", "b#1"]);
  });

  test("doubles the pause with each retry in a row and begins anew after success", async () => {
    const { queue, clock, seen, finish } = held();
    queue.start();
    queue.add(a);
    await settled();
    for (const pause of [5, 10, 20]) {
      const before = seen.length;
      await finish(a, { kind: "retry" });
      await clock.advance(pause - 1);
      expect(seen).toHaveLength(before);
      await clock.advance(1);
      expect(seen).toHaveLength(before + 1);
    }
    expect(seen.at(-1)).toBe("a#4");
    await finish(a);
    queue.add(a);
    await settled();
    await finish(a, { kind: "retry" });
    await clock.advance(5);
    expect(seen.at(-1)).toBe("a#2");
  });

  test("never pauses longer than the maximum", async () => {
    const { queue, clock, seen, finish } = held();
    queue.start();
    queue.add(a);
    await settled();
    for (let round = 0; round < 30; round += 1) {
      await finish(a, { kind: "retry" });
      await clock.advance(1000);
    }
    expect(seen).toHaveLength(31);
  });

  test("wakes a delayed key at the earlier of two times, once for each", async () => {
    const { queue, clock, seen, finish } = held();
    queue.start();
    queue.addAfter(a, 5000);
    queue.addAfter(a, 100);
    queue.addAfter(a, 9000);
    await clock.advance(100);
    expect(seen).toEqual(["a#1"]);
    await finish(a);
    await clock.advance(20_000);
    expect(seen).toEqual(["a#1"]);
  });

  test("asks for everything anew once there is room after it was full", async () => {
    let rooms = 0;
    const { queue, seen, finish } = held({ capacity: 1, onRoom: () => (rooms += 1) });
    queue.start();
    queue.add(a);
    await settled();
    queue.add(b);
    queue.add({ name: "c" });
    expect(rooms).toBe(0);
    await finish(a);
    expect(rooms).toBe(1);
    expect(seen).toEqual(["a#1", "b#1"]);
  });

  test("does not ask anew in a loop while its delays are full", async () => {
    let rooms = 0;
    const { queue, clock, finish } = held({ capacity: 2, onRoom: () => (rooms += 1) });
    queue.start();
    queue.addAfter({ name: "x" }, 1000);
    queue.addAfter({ name: "y" }, 2000);
    queue.addAfter({ name: "z" }, 10);
    await clock.advance(500);
    expect(rooms).toBe(0);
    await clock.advance(500);
    await finish({ name: "x" });
    expect(rooms).toBe(1);
  });

  test("stops when what is under way has ended, and begins nothing more", async () => {
    const { queue, clock, seen, finish } = held();
    queue.start();
    queue.add(a);
    queue.addAfter(b, 10);
    await settled();
    let stopped = false;
    const stopping = queue.stop().then(() => (stopped = true));
    queue.add(b);
    await clock.advance(100);
    expect(stopped).toBe(false);
    await finish(a, { kind: "retry" });
    await stopping;
    await clock.advance(10_000);
    expect(seen).toEqual(["a#1"]);
    expect(clock.sleeping()).toBe(0);
  });

  test("wakes any set of delays in the order of their times", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 30 }), async (times) => {
        const clock = fakeClock();
        const woken: number[] = [];
        const queue = workQueue({
          clock,
          concurrency: 100,
          backoff: { initialMs: 5, maxMs: 5 },
          process: async (key) => {
            woken.push(Number(key.namespace));
            return { kind: "forget" };
          },
        });
        queue.start();
        for (const [index, ms] of times.entries()) queue.addAfter({ namespace: String(ms), name: `k${index}` }, ms);
        await clock.advance(50);
        expect(woken).toEqual([...times].sort((x, y) => x - y));
      }),
      { numRuns: 20 },
    );
  });
});

test("what is added after the clock was set ahead does not wait for a sleep that began before", async () => {
  const timers = fakeClock();
  let ahead = 0;
  const clock = { now: () => timers.now() + ahead, sleep: timers.sleep };
  const woken: string[] = [];
  const waiting = delays(clock, 10, ({ name }) => void woken.push(name));
  waiting.add({ name: "in an hour" }, 3_600_000);
  ahead = 7_200_000;
  waiting.add({ name: "at once" }, 0);
  waiting.add({ name: "in a second" }, 1000);
  await timers.advance(0);
  await settled();
  expect(woken).toEqual(["in an hour", "at once"]);
  await timers.advance(1000);
  expect(woken).toEqual(["in an hour", "at once", "in a second"]);
  waiting.stop();
});
