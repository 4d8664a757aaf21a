import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cachePartition, type CacheEvent, type Partition } from "./cache-partition.ts";
import { entryOf, objectOf, type Entry } from "./stored-object.ts";
import { windowBudget } from "./window-budget.ts";

const prefix = "/registry/things/";

function partition(windowEvents = 8): Partition {
  return cachePartition({ start: 0, windowEvents, budget: windowBudget(1 << 20) });
}

function event(key: string, revision: number): CacheEvent {
  const entry = entryOf(prefix + key, Buffer.from('{"kind":"T","apiVersion":"v1","metadata":{}}'), revision);
  return { type: "ADDED", revision, entry, previous: undefined, frames: undefined };
}

const wake = (): void => undefined;

function follow(of: Partition, key: string, fromRevision = 0): { taken(max?: number): readonly number[] | "expired" } {
  const subscription = of.subscribe(prefix, { fromRevision, key: prefix + key, wake });
  return {
    taken: (max = 100) => {
      const events = subscription === "expired" ? subscription : subscription.take(max);
      return events === "expired" ? events : events.map(({ revision }) => revision);
    },
  };
}

describe("a reader of one key", () => {
  it("takes its own changes in order, however few at a time", () => {
    const of = partition();
    const reader = follow(of, "a");
    for (const [at, key] of ["a", "b", "a", "ab", "a"].entries()) of.apply(event(key, at + 1));
    expect([reader.taken(2), reader.taken(2), reader.taken(2)]).toEqual([[1, 3], [5], []]);
  });

  it("begins with its changes after the revision that it names", () => {
    const of = partition();
    for (const [at, key] of ["a", "b", "a", "a"].entries()) of.apply(event(key, at + 1));
    expect(follow(of, "a", 1).taken()).toEqual([3, 4]);
    expect(follow(of, "a", 4).taken()).toEqual([]);
  });

  it("does not fall out of history for what happens to others", () => {
    const of = partition(4);
    const reader = follow(of, "a");
    for (let revision = 1; revision <= 5000; revision += 1) of.apply(event("b", revision));
    of.apply(event("a", 5001));
    expect(reader.taken()).toEqual([5001]);
  });

  it("is expired once a change of its own is gone that it has not taken, and stays so", () => {
    const of = partition(4);
    const reader = follow(of, "a");
    of.apply(event("a", 1));
    for (let revision = 2; revision <= 6; revision += 1) of.apply(event("b", revision));
    expect(reader.taken()).toBe("expired");
    for (let revision = 7; revision <= 20; revision += 1) of.apply(event("a", revision));
    expect([reader.taken(), reader.taken()]).toEqual(["expired", "expired"]);
  });

  it("is told of no start that is gone", () => {
    const of = partition(2);
    for (let revision = 1; revision <= 5; revision += 1) of.apply(event("b", revision));
    expect(follow(of, "a", 1).taken()).toBe("expired");
  });

  it("sees what a reader of everything sees of that key", () => {
    const step = fc.record({ key: fc.constantFrom("a", "b", "c"), take: fc.integer({ min: 0, max: 3 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const of = partition(64);
        const everything = of.subscribe(prefix, { fromRevision: 0, wake });
        const reader = follow(of, "a");
        const seen: (number | "expired")[] = [];
        const gather = (max: number): void => {
          seen.push(...[reader.taken(max)].flat());
        };
        for (const [at, { key, take }] of steps.entries()) {
          of.apply(event(key, at + 1));
          gather(take);
        }
        gather(100);
        const all = everything === "expired" ? everything : everything.take(100);
        const wanted = all === "expired" ? [] : all.filter(({ entry }) => entry.key === `${prefix}a`);
        expect(seen).toEqual(wanted.map(({ revision }) => revision));
      }),
      { numRuns: 100 },
    );
  });
});

describe("what has left the window", () => {
  it("is kept by nothing, however few changes there were", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const of = partition(8);
    const changed = (revision: number): WeakRef<CacheEvent> => {
      const made = event(`a${revision}`, revision);
      of.apply(made);
      of.apply({ ...made, type: "DELETED", revision: revision + 1 });
      return new WeakRef(made);
    };
    const made = Array.from({ length: 20 }, (_, at) => changed(1 + 2 * at));
    await nextTurn();
    collect();
    expect(made.map((one) => one.deref() !== undefined)).toEqual(made.map((_, at) => at >= 16));
  });
});

describe("what was parsed", () => {
  it("is kept of the present state of an object, and not of past ones that watches have had time for", () => {
    const of = partition(8192);
    const made: Entry[] = [];
    const changed = (revision: number, previous: Entry | undefined): Entry => {
      const { entry } = event("a", revision);
      of.apply({ type: previous === undefined ? "ADDED" : "MODIFIED", revision, entry, previous, frames: undefined });
      objectOf(entry);
      made.push(entry);
      return entry;
    };
    let last: Entry | undefined;
    for (let revision = 1; revision <= 1000; revision += 1) last = changed(revision, last);
    expect(made.at(-1)?.parsed).toBeDefined();
    expect(made.filter(({ parsed }) => parsed !== undefined).length).toBeLessThan(300);
  });

  it("is made again for a watch that is behind", () => {
    const of = partition(8192);
    const [first, second] = [event("a", 1).entry, event("a", 2).entry];
    of.apply({ type: "ADDED", revision: 1, entry: first, previous: undefined, frames: undefined });
    const subscription = of.subscribe(prefix, { fromRevision: 0, wake });
    of.apply({ type: "MODIFIED", revision: 2, entry: second, previous: first, frames: undefined });
    for (let revision = 3; revision <= 600; revision += 1) of.apply(event(`b${revision}`, revision));
    const taken = subscription === "expired" ? subscription : subscription.take(2);
    if (taken === "expired") throw new TypeError("the history is gone");
    expect(taken.map(({ entry }) => objectOf(entry).metadata.resourceVersion)).toEqual(["1", "2"]);
  });
});

describe("the windows of several partitions", () => {
  const size = event("a", 1).entry.json.length;

  it("share one budget, and the largest of them makes room", () => {
    const budget = windowBudget(10 * size);
    const [busy, quiet] = [0, 1].map(() => cachePartition({ start: 0, windowEvents: 100, budget }));
    for (const revision of [1, 2, 3]) quiet?.apply(event("a", revision));
    for (let revision = 4; revision <= 50; revision += 1) busy?.apply(event("a", revision % 10));
    expect(quiet?.subscribe(prefix, { fromRevision: 0, wake })).not.toBe("expired");
    const kept = Array.from({ length: 10 }, (_, revision) => busy?.subscribe(prefix, { fromRevision: revision, wake }));
    expect(kept.filter((reader) => reader === "expired").length).toBeGreaterThan(0);
  });

  it("keep the newest event of each, however large it is", () => {
    const budget = windowBudget(size / 2);
    const [one, other] = [0, 1].map(() => cachePartition({ start: 0, windowEvents: 100, budget }));
    for (const [at, of] of [one, other, one, other].entries()) of?.apply(event("a", at + 1));
    expect([one, other].map((of) => of?.subscribe(prefix, { fromRevision: 0, wake }))).toEqual(["expired", "expired"]);
    expect(follow(one as Partition, "a", 1).taken()).toEqual([3]);
    expect(follow(other as Partition, "a", 2).taken()).toEqual([4]);
  });
});
