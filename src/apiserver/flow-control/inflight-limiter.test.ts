import { describe, expect, test } from "vitest";
import { fakeClock } from "../../../test/kits/fake-clock.ts";
import { anonymousLevel, exemptedLevel, type LevelTerms } from "./flow-control.ts";
import { TooManyRequests, inflightLimiter, type Applicant, type Seat } from "./inflight-limiter.ts";

const queued = { type: "Queue", queuing: { queues: 16, handSize: 4, queueLengthLimit: 50 } };
/** Two levels that lend nothing: of a hundred places, ninety are theirs. */
const two: readonly LevelTerms[] = [
  { name: "workload", nominalConcurrencyShares: 50, limitResponse: queued },
  { name: "system", nominalConcurrencyShares: 40, limitResponse: queued },
];

function placesOf(places: number, watchesOfOne = 10, levels: readonly LevelTerms[] = two) {
  const clock = fakeClock();
  const all = inflightLimiter({ places, watchesOfOne, clock, levels: () => levels });
  const countsOf = (level: string) => all.counts().find((counts) => counts.level === level);
  return { clock, all, countsOf };
}

const applicant = (changes: Partial<Applicant> = {}): Applicant => ({
  level: "workload",
  flow: "jane",
  sender: "jane",
  senderClass: "user",
  longRunning: false,
  whenGone: () => undefined,
  ...changes,
});

/** A body that comes when it is told to. */
function slowBody(): { readonly read: () => Promise<string>; readonly come: (text: string) => void } {
  let come: (text: string) => void = () => undefined;
  const body = new Promise<string>((resolve) => {
    come = resolve;
  });
  return { read: () => body, come };
}

describe("places of requests", () => {
  test("are given at once while there are some", () => {
    const { all, countsOf } = placesOf(100);
    const place = all.enter(applicant());
    expect(place).not.toBeInstanceOf(Promise);
    expect(countsOf("workload")?.executing).toBe(1);
    (place as Seat).leave();
    expect(countsOf("workload")?.executing).toBe(0);
  });

  test("of one level are not those of another, and each level has at least one", () => {
    const { all } = placesOf(1);
    const levels = ["system", "workload", anonymousLevel, exemptedLevel];
    for (const level of levels) expect(all.enter(applicant({ level }))).not.toBeInstanceOf(Promise);
  });

  test("are not counted where there is no level", async () => {
    const { all } = placesOf(1);
    const entered = Array.from({ length: 100 }, () => all.enter(applicant({ level: undefined, longRunning: true })));
    expect(entered.some((place) => place instanceof Promise)).toBe(false);
    expect(await (entered[0] as Seat).whileReading(async () => "body")).toBe("body");
    expect(all.counts().every(({ executing, watches }) => executing + watches === 0)).toBe(true);
  });

  test("are refused to who has waited 15 seconds", async () => {
    const { all, clock, countsOf } = placesOf(1);
    void all.enter(applicant());
    const waiting = all.enter(applicant()) as Promise<Seat>;
    const [refused] = await Promise.allSettled([waiting, clock.advance(15_000)]);
    expect(refused).toMatchObject({ status: "rejected", reason: new TooManyRequests() });
    expect(countsOf("workload")?.refused["time-out"]).toBe(1);
  });

  test("are free while a body is read, and a body counts until its request has a place again", async () => {
    const { all, countsOf } = placesOf(1);
    const slow = slowBody();
    const writer = all.enter(applicant()) as Seat;
    const read = writer.whileReading(slow.read);
    const other = all.enter(applicant()) as Seat;
    expect(countsOf("workload")).toMatchObject({ executing: 1, reading: 1 });
    slow.come("body");
    await expect.poll(() => countsOf("workload")).toMatchObject({ executing: 1, reading: 1, waiting: 1 });
    other.leave();
    expect(await read).toBe("body");
    expect(countsOf("workload")).toMatchObject({ executing: 1, reading: 0, waiting: 0 });
    writer.leave();
    expect(countsOf("workload")).toMatchObject({ executing: 0, reading: 0 });
  });

  test("come back when a body fails", async () => {
    const { all, countsOf } = placesOf(1);
    const place = all.enter(applicant()) as Seat;
    await expect(place.whileReading(() => Promise.reject(new RangeError("cut")))).rejects.toThrow("cut");
    place.leave();
    expect(countsOf("workload")).toMatchObject({ executing: 0, reading: 0 });
  });
});

describe("watches", () => {
  test("are counted by user, hold a place only until they stream, and are refused beyond the bound", () => {
    const { all, countsOf } = placesOf(100, 2);
    const watch = applicant({ longRunning: true });
    const [first] = [all.enter(watch), all.enter(watch)] as Seat[];
    expect(() => all.enter(watch)).toThrow(TooManyRequests);
    expect(countsOf("workload")).toMatchObject({ executing: 2, watches: 2, refused: { "concurrency-limit": 1 } });
    first?.streaming();
    expect(countsOf("workload")).toMatchObject({ executing: 1, watches: 2 });
    first?.leave();
    expect(countsOf("workload")).toMatchObject({ executing: 1, watches: 1 });
    expect(all.enter(applicant({ longRunning: true, sender: "john" }))).not.toBeInstanceOf(Promise);
    expect(all.enter(watch)).not.toBeInstanceOf(Promise);
  });

  test("that never got a place are not counted any longer", async () => {
    const { all, clock, countsOf } = placesOf(1);
    void all.enter(applicant());
    const waiting = all.enter(applicant({ longRunning: true })) as Promise<Seat>;
    const [refused] = await Promise.allSettled([waiting, clock.advance(15_000)]);
    expect(refused.status).toBe("rejected");
    expect(countsOf("workload")?.watches).toBe(0);
  });
});

describe("levels", () => {
  const lending: readonly LevelTerms[] = [
    { name: "a", nominalConcurrencyShares: 10, lendablePercent: 50, limitResponse: queued },
    { name: "b", nominalConcurrencyShares: 10, lendablePercent: 50, borrowingLimitPercent: 20, limitResponse: queued },
    { name: "c", nominalConcurrencyShares: 0, borrowingLimitPercent: 0, limitResponse: { type: "Reject" } },
  ];
  /** Eleven places are 10 for the two levels, and one for anonymous requests. */
  const enter = (all: ReturnType<typeof placesOf>["all"], level: string, count: number) =>
    Array.from({ length: count }, (_, index) => all.enter(applicant({ level, flow: `${level}${index}` })));
  const isAtOnce = (place: Seat | Promise<Seat>): boolean => !(place instanceof Promise);

  test("borrow what others lend and do not use, as far as they may", () => {
    const { all } = placesOf(11, 10, lending);
    // Five of its own and two of b's five, of which b keeps three.
    expect(enter(all, "a", 9).filter(isAtOnce)).toHaveLength(7);
    // b is left with what it keeps.
    expect(enter(all, "b", 9).filter(isAtOnce)).toHaveLength(3);
    const other = placesOf(11, 10, lending);
    // One of a's five: a fifth of its own.
    expect(enter(other.all, "b", 9).filter(isAtOnce)).toHaveLength(6);
  });

  test("get back what they lent before the borrower gets more", async () => {
    const { all, countsOf } = placesOf(11, 10, lending);
    const ofA = enter(all, "a", 8);
    void enter(all, "b", 5);
    expect([countsOf("a")?.waiting, countsOf("b")?.waiting]).toEqual([1, 2]);
    (ofA[0] as Seat).leave();
    expect([countsOf("a")?.waiting, countsOf("b")?.waiting]).toEqual([1, 1]);
    (ofA[1] as Seat).leave();
    expect([countsOf("a")?.waiting, countsOf("b")?.waiting]).toEqual([1, 0]);
    (ofA[2] as Seat).leave();
    expect([countsOf("a")?.waiting, countsOf("b")?.waiting]).toEqual([0, 0]);
  });

  test("that reject let nothing wait", async () => {
    const { all, countsOf } = placesOf(11, 10, lending);
    await expect(all.enter(applicant({ level: "c" }))).rejects.toThrow(TooManyRequests);
    expect(countsOf("c")?.refused).toMatchObject({ "concurrency-limit": 1, "queue-full": 0 });
  });

  test("let as many wait as their queues hold, and never more than the hub allows", async () => {
    const small = { type: "Queue", queuing: { queues: 2, handSize: 1, queueLengthLimit: 2 } };
    const { all, countsOf } = placesOf(2, 10, [{ name: "a", nominalConcurrencyShares: 1, limitResponse: small }]);
    void all.enter(applicant({ level: "a" }));
    const waits = ["x", "x", "x", "y", "y", "z"].map((flow) => all.enter(applicant({ level: "a", flow })));
    const refused = await Promise.all(
      waits.map((wait) =>
        Promise.race([
          Promise.resolve(wait).then(
            () => false,
            () => true,
          ),
          new Promise((r) => setImmediate(r, false)),
        ]),
      ),
    );
    // A third of x, and z, as four wait.
    expect(refused).toEqual([false, false, true, false, false, true]);
    expect(countsOf("a")?.waiting).toBe(4);
  });

  test("change with their objects, and those that wait in one that goes are served still", async () => {
    const clock = fakeClock();
    let levels: readonly LevelTerms[] = two;
    const all = inflightLimiter({ places: 2, watchesOfOne: 10, clock, levels: () => levels });
    const first = all.enter(applicant()) as Seat;
    const waiting = all.enter(applicant({ flow: "john" })) as Promise<Seat>;
    levels = [{ name: "other", nominalConcurrencyShares: 1, limitResponse: queued }];
    expect(all.counts().map(({ level }) => level)).toContain("other");
    first.leave();
    (await waiting).leave();
    levels = [...levels];
    expect(all.counts().map(({ level }) => level)).not.toContain("workload");
  });
});

describe("whatever the levels are", () => {
  const everything: readonly LevelTerms[] = [{ name: "a", nominalConcurrencyShares: 1000, limitResponse: queued }];

  test("anonymous requests have a tenth of the places, and no more", () => {
    const { all } = placesOf(100, 10, everything);
    const entered = Array.from({ length: 20 }, (_, index) =>
      all.enter(applicant({ level: anonymousLevel, flow: `${index}` })),
    );
    expect(entered.filter((place) => !(place instanceof Promise))).toHaveLength(10);
  });

  test("requests that an object exempts have all places together, and one flow three quarters of them", () => {
    const { all } = placesOf(100, 10, everything);
    const entered = Array.from({ length: 200 }, () => all.enter(applicant({ level: exemptedLevel })));
    expect(entered.filter((place) => !(place instanceof Promise))).toHaveLength(75);
  });

  test("one sender sends an eighth of the bodies of its class", async () => {
    const { all, countsOf } = placesOf(100, 10, everything);
    const slow = slowBody();
    const writers = Array.from({ length: 20 }, () => all.enter(applicant({ level: "a" })) as Seat);
    for (const writer of writers) void writer.whileReading(slow.read);
    expect(countsOf("a")).toMatchObject({ reading: 5, waiting: 15 });
  });
});
