import { describe, expect, test } from "vitest";
import { fakeClock } from "../../test/kits/fake-clock.ts";
import { Crowded, requestPlaces, type Applicant, type Place } from "./request-places.ts";

function placesOf(places: number, watchesOfOne = 10) {
  const clock = fakeClock();
  const all = requestPlaces({ places, watchesOfOne, clock });
  const countsOf = (level: string) => all.counts().find((counts) => counts.level === level);
  return { clock, all, countsOf };
}

const applicant = (changes: Partial<Applicant> = {}): Applicant => ({
  level: "workload",
  flow: "jane",
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
    (place as Place).leave();
    expect(countsOf("workload")?.executing).toBe(0);
  });

  test("of one level are not those of another, and each level has at least one", () => {
    const { all } = placesOf(1);
    const levels = ["node-high", "system", "discovery", "workload", "anonymous"] as const;
    for (const level of levels) expect(all.enter(applicant({ level }))).not.toBeInstanceOf(Promise);
  });

  test("are not counted where the level is exempt", async () => {
    const { all } = placesOf(1);
    const entered = Array.from({ length: 100 }, () => all.enter(applicant({ level: "exempt", longRunning: true })));
    expect(entered.some((place) => place instanceof Promise)).toBe(false);
    expect(await (entered[0] as Place).whileReading(async () => "body")).toBe("body");
    expect(all.counts().every(({ executing, watches }) => executing + watches === 0)).toBe(true);
  });

  test("are refused to who has waited 15 seconds", async () => {
    const { all, clock, countsOf } = placesOf(1);
    void all.enter(applicant());
    const waiting = all.enter(applicant()) as Promise<Place>;
    const [refused] = await Promise.allSettled([waiting, clock.advance(15_000)]);
    expect(refused).toMatchObject({ status: "rejected", reason: new Crowded() });
    expect(countsOf("workload")?.refused["time-out"]).toBe(1);
  });

  test("are free while a body is read, and a body counts until its request has a place again", async () => {
    const { all, countsOf } = placesOf(1);
    const slow = slowBody();
    const writer = all.enter(applicant()) as Place;
    const read = writer.whileReading(slow.read);
    const other = all.enter(applicant()) as Place;
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
    const place = all.enter(applicant()) as Place;
    await expect(place.whileReading(() => Promise.reject(new RangeError("cut")))).rejects.toThrow("cut");
    place.leave();
    expect(countsOf("workload")).toMatchObject({ executing: 0, reading: 0 });
  });
});

describe("watches", () => {
  test("are counted by user, hold a place only until they stream, and are refused beyond the bound", () => {
    const { all, countsOf } = placesOf(100, 2);
    const watch = applicant({ longRunning: true });
    const [first] = [all.enter(watch), all.enter(watch)] as Place[];
    expect(() => all.enter(watch)).toThrow(Crowded);
    expect(countsOf("workload")).toMatchObject({ executing: 2, watches: 2, refused: { "concurrency-limit": 1 } });
    first?.streaming();
    expect(countsOf("workload")).toMatchObject({ executing: 1, watches: 2 });
    first?.leave();
    expect(countsOf("workload")).toMatchObject({ executing: 1, watches: 1 });
    expect(all.enter(applicant({ longRunning: true, flow: "john" }))).not.toBeInstanceOf(Promise);
    expect(all.enter(watch)).not.toBeInstanceOf(Promise);
  });

  test("that never got a place are not counted any longer", async () => {
    const { all, clock, countsOf } = placesOf(1);
    void all.enter(applicant());
    const waiting = all.enter(applicant({ longRunning: true })) as Promise<Place>;
    const [refused] = await Promise.allSettled([waiting, clock.advance(15_000)]);
    expect(refused.status).toBe("rejected");
    expect(countsOf("workload")?.watches).toBe(0);
  });
});
