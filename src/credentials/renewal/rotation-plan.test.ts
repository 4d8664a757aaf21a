import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  overdueDelay,
  renewalDeadline,
  rotationPause,
  pauseAfter,
  dueAt,
  renewalStep,
  type RenewalView,
} from "./rotation-plan.ts";

const hour = 3_600_000;
const times = { notBefore: 0, notAfter: 10 * hour };

describe("the deadline of a rotation", () => {
  test("is after 70 to 90 % of the whole life, as a kubelet draws it", () => {
    expect(renewalDeadline(times, { spread: 0, receivedAt: undefined })).toBe(7 * hour);
    expect(renewalDeadline(times, { spread: 0.25, receivedAt: 1 })).toBe(7.5 * hour);
    fc.assert(
      fc.property(fc.double({ min: 0, max: 0.9999999, noNaN: true }), (spread) => {
        const at = renewalDeadline(times, { spread, receivedAt: undefined });
        expect(at).toBeGreaterThanOrEqual(7 * hour);
        expect(at).toBeLessThan(9 * hour);
      }),
    );
  });

  test("of a certificate that came in its last tenth lies between then and its end", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 0.9999999, noNaN: true }),
        fc.integer({ min: 9 * hour, max: 10 * hour - 2000 }),
        (spread, receivedAt) => {
          const at = renewalDeadline(times, { spread, receivedAt });
          expect(at).toBeGreaterThan(receivedAt);
          expect(at).toBeLessThan(times.notAfter);
        },
      ),
    );
  });

  test("of one that was over when it came does not make the machine ask without end", () => {
    expect(renewalDeadline(times, { spread: 0, receivedAt: 11 * hour })).toBe(11 * hour + 1000);
  });
});

describe("an overdue rotation at the start", () => {
  test("is spread over a minute, and over less where little life is left", () => {
    expect(overdueDelay(hour, 0.5)).toBe(30_000);
    expect(overdueDelay(60_000, 0.5)).toBe(3000);
    expect(overdueDelay(hour, 0)).toBe(0);
    expect(overdueDelay(-1, 0.9)).toBe(0);
  });
});

describe("the pause after a failure", () => {
  const failed = { count: 1, decided: false, retryAfterMs: undefined, leftMs: 10 * hour, random: 0 };

  test("grows to minutes, and is never shorter than the server asked", () => {
    const pauses = [1, 2, 3, 9, 20].map((count) => rotationPause({ ...failed, count }));
    expect(pauses).toEqual([500, 1000, 2000, 128_000, 150_000]);
    expect(rotationPause({ ...failed, retryAfterMs: 77_000 })).toBe(77_000);
  });

  test("is long after somebody said no, whatever is left of the life", () => {
    const decided = { ...failed, decided: true, leftMs: 1000 };
    expect([1, 2, 9].map((count) => rotationPause({ ...decided, count }))).toEqual([60_000, 120_000, 1_800_000]);
  });
});

const second = 1000;
const minute = 60 * second;
/** A token for 100 minutes from minute 1000 on. */
const token = { issuedAt: 1000 * minute, expiresAt: 1100 * minute };

function view(over: Partial<RenewalView>): RenewalView {
  return { token, now: 1000 * minute, aheadMs: 0, spread: 0, failures: undefined, ...over };
}

function failed(over: Partial<NonNullable<RenewalView["failures"]>>): NonNullable<RenewalView["failures"]> {
  return { count: 1, refusals: 0, lastAt: 1070 * minute, pauseMs: 10 * second, ...over };
}

describe("what to do about a token", () => {
  const cases: Readonly<Record<string, readonly [Partial<RenewalView>, object]>> = {
    "a new one is left alone until 70 % of its life": [{}, { kind: "wait", until: 1070 * minute }],
    "or until up to 90 %": [{ spread: 0.5 }, { kind: "wait", until: 1080 * minute }],
    "then the next one is asked for": [{ now: 1070 * minute }, { kind: "renew" }],
    "a machine whose clock is ahead waits by its own": [
      { aheadMs: 5 * minute },
      { kind: "wait", until: 1075 * minute },
    ],
    "a machine whose clock is behind asks earlier by its own": [
      { aheadMs: -5 * minute, now: 1065 * minute },
      { kind: "renew" },
    ],
    "a token from the future is renewed at once, to learn the time": [
      { now: 3 * minute, aheadMs: undefined },
      { kind: "renew" },
    ],
    "a little behind is no reason to": [
      { now: 1000 * minute - 59 * second, aheadMs: undefined },
      { kind: "wait", until: 1070 * minute },
    ],
    "one that has expired by this clock is tried all the same": [{ now: 2000 * minute }, { kind: "renew" }],
    "after a failure the pause is waited for": [
      { now: 1070 * minute + 9 * second, failures: failed({}) },
      { kind: "wait", until: 1070 * minute + 10 * second },
    ],
    "and then it is tried again": [{ now: 1070 * minute + 10 * second, failures: failed({}) }, { kind: "renew" }],
    "a clock that was set back waits for nothing": [{ now: 3 * minute, failures: failed({}) }, { kind: "renew" }],
    "a first refusal is not believed": [
      { now: 1070 * minute + 10 * second, failures: failed({ refusals: 1 }) },
      { kind: "renew" },
    ],
    "a third one is": [
      { now: 1071 * minute, failures: failed({ count: 3, refusals: 3 }) },
      { kind: "refused", expired: false },
    ],
    "the first one is, of a token that has expired": [
      { now: 1100 * minute, failures: failed({ refusals: 1 }) },
      { kind: "refused", expired: true },
    ],
    "other failures never end it": [{ now: 1_000_000 * minute, failures: failed({ count: 1000 }) }, { kind: "renew" }],
  };
  test.each(Object.entries(cases))("%s", (_title, [over, step]) => {
    expect(renewalStep(view(over))).toEqual(step);
  });

  test("is decided between 70 and 90 % of any life", () => {
    const life = fc.integer({ min: 600, max: 366 * 86_400 }).map((seconds) => seconds * second);
    const spread = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(life, spread, (length, at) => {
        const due = dueAt({ token: { issuedAt: 0, expiresAt: length }, aheadMs: undefined, spread: at });
        expect(due).toBeGreaterThanOrEqual(Math.floor(length * 0.7));
        expect(due).toBeLessThanOrEqual(Math.ceil(length * 0.9));
      }),
      { numRuns: 100 },
    );
  });
});

describe("the pause after a failure", () => {
  const long = { retryAfterMs: undefined, leftMs: 1000 * minute };
  test.each([
    [1, 0, 500],
    [1, 0.999, 1000],
    [2, 0, 1000],
    [5, 0, 8000],
    [9, 0, 128_000],
    [30, 0, 150_000],
    [30, 0.999, 299_850],
  ])("grows: after %i, with chance %f, it is %i ms", (count, random, pause) => {
    expect(pauseAfter({ ...long, count, random })).toBe(pause);
  });

  test.each([
    ["is a quarter of what is left at most", { count: 30, leftMs: 40 * second }, 10_000],
    ["is never shorter than half a second", { count: 30, leftMs: 1 }, 500],
    ["is long again when nothing is left to lose", { count: 30, leftMs: -1 }, 150_000],
    ["is as long as the server asks", { count: 1, retryAfterMs: 20 * second }, 20_000],
    ["is an hour at most, whatever the server asks", { count: 1, retryAfterMs: 1e9 }, 3_600_000],
    ["is longer than the server asks after many failures", { count: 30, retryAfterMs: second }, 150_000],
  ])("%s", (_title, over, pause) => {
    expect(pauseAfter({ ...long, random: 0, ...over })).toBe(pause);
  });
});
