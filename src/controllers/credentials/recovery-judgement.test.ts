import { describe, expect, test } from "vitest";
import { recoveryRefusal } from "./recovery-judgement.ts";

const day = 86_400_000;
const now = Date.UTC(2026, 10, 21);
const facts = { now, ended: now - day, recoveries: [], address: "10.20.3.4" };

describe("terms of recovery", () => {
  test("that say nothing are 30 days, three times in 30 days, from anywhere", () => {
    expect(recoveryRefusal({}, facts)).toBeUndefined();
    expect(recoveryRefusal({}, { ...facts, ended: now - 30 * day })).toBeUndefined();
    expect(recoveryRefusal({}, { ...facts, ended: now - 30 * day - 1 })).toContain("more than 30d ago");
    const recoveries = [now - 31 * day, now - day, now - 2 * day];
    expect(recoveryRefusal({}, { ...facts, recoveries })).toBeUndefined();
    expect(recoveryRefusal({}, { ...facts, recoveries: [...recoveries, now] })).toContain("3 times within 30d");
    expect(recoveryRefusal({}, { ...facts, address: undefined })).toBeUndefined();
  });

  test("are not met by what is not known", () => {
    expect(recoveryRefusal({}, { ...facts, ended: Number.NaN })).toBe("it is not known when it ended");
    const networks = ["10.20.0.0/16"];
    for (const address of [undefined, "", "somewhere", "10.20.3.4.5", "::ffff:10.21.0.1"]) {
      expect(recoveryRefusal({ networks }, { ...facts, address })).toContain("none of the allowed networks");
    }
    expect(recoveryRefusal({ networks: ["nonsense"] }, facts)).toContain("none of the allowed networks");
  });

  test.each([
    [["10.20.0.0/16"], true],
    [["10.21.0.0/16"], false],
    [["fd00::/8", "10.20.3.4/32"], true],
    [[], true],
  ])("from networks %o let the machine in: %s", (networks, isIn) => {
    expect(recoveryRefusal({ networks }, facts) === undefined).toBe(isIn);
  });

  test("count what lies in the period only", () => {
    const terms = { times: 1, perSeconds: 3600 };
    expect(recoveryRefusal(terms, { ...facts, recoveries: [now - 3_600_000] })).toBeUndefined();
    expect(recoveryRefusal(terms, { ...facts, recoveries: [now - 3_599_000] })).toContain("1 times within 60m");
  });
});
