import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { overdueDelay, renewalDeadline, rotationPause } from "./rotation-plan.ts";

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
