import { describe, expect, it } from "vitest";
import { certificateValidity, ValidityError } from "./validity.ts";

const now = Date.UTC(2026, 10, 21, 2, 5, 49, 700);
const second = 1000;
const year = 365 * 86_400;
const far = now + 10 * year * second;
const lifetime = (expirationSeconds: number | undefined, maxSeconds = year, caNotAfter = far) => {
  const { notBefore, notAfter } = certificateValidity({ now, expirationSeconds, maxSeconds, caNotAfter });
  return {
    back: (Math.floor(now / 1000) * 1000 - notBefore) / 1000,
    ahead: (notAfter - Math.floor(now / 1000) * 1000) / 1000,
  };
};

describe("certificateValidity", () => {
  it.each([
    ["the maximum when nothing is asked", undefined, year, year - 300],
    ["what is asked below 8 hours, counted from now", 3600, year, 3600],
    ["one second below 8 hours, counted from now", 28_799, year, 28_799],
    ["8 hours, the five minutes included", 28_800, year, 28_500],
    ["at least 600 seconds", 1, year, 600],
    ["at least 600 seconds for negative numbers", -5, year, 600],
    ["at most the maximum", 2 * year, year, year - 300],
    ["the maximum even where it is below 600 seconds", 1, 60, 60],
  ])("gives %s", (_what, asked, maximum, ahead) => {
    expect(lifetime(asked, maximum)).toEqual({ back: 300, ahead });
  });

  it("is cut to the end of the CA", () => {
    expect(lifetime(undefined, year, Math.floor(now / 1000) * 1000 + 60_000).ahead).toBe(60);
  });

  it("is refused when the CA has expired", () => {
    expect(() => lifetime(undefined, year, now)).toThrow(ValidityError);
  });
});
