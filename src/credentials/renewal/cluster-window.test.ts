import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clusterWindow, renewalDeadline, type CertificateTimes } from "./rotation-plan.ts";

const hour = 3_600_000;
const renewalDue = (life: CertificateTimes, spread: number, receivedAt: number): number =>
  renewalDeadline(life, { spread, receivedAt, window: clusterWindow });

describe("when the certificate of a cluster is renewed", () => {
  it("is between 25 and 20 % before its end", () => {
    const life = { notBefore: 0, notAfter: 100 * hour };
    expect([renewalDue(life, 0, 0), renewalDue(life, 1, 0)]).toEqual([80 * hour, 75 * hour]);
  });

  it("is not at once where one begins long before it is issued", () => {
    const life = { notBefore: 0, notAfter: 10 * hour };
    expect(renewalDue(life, 0, 9 * hour)).toBe(10 * hour - 0.2 * hour);
  });

  it("is always before the end and after it came", () => {
    const times = fc.tuple(
      fc.nat(1e9),
      fc.integer({ min: 10_000, max: 1e9 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
    );
    fc.assert(
      fc.property(times, fc.double({ min: 0, max: 0.99, noNaN: true }), ([notBefore, length, spread], part) => {
        const life = { notBefore, notAfter: notBefore + length };
        const receivedAt = notBefore + Math.floor(length * part);
        const due = renewalDue(life, spread, receivedAt);
        expect(due).toBeGreaterThan(receivedAt);
        expect(due).toBeLessThan(life.notAfter);
      }),
      { numRuns: 200 },
    );
  });
});
