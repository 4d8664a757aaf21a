import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { quantitySum } from "./quantity-sum.ts";

describe("the sum of quantities", () => {
  it.each([
    [["1", "1"], "2"],
    [["2", "500m"], "2500m"],
    [["1500m", "500m"], "2"],
    [["1Gi", "1Gi"], "2Gi"],
    [["512Mi", "512Mi"], "1Gi"],
    [["16393244Ki", "1Ki"], "16393245Ki"],
    [["0", "1Ki"], "1Ki"],
    [["500", "500"], "1k"],
    [["1e3", "1.5k"], "2500"],
    [["1Gi", "1"], "1073741825"],
    [["0.5Gi", "0.5Gi"], "1Gi"],
    [["110", "110"], "220"],
    [[], "0"],
    [["100n", "900n"], "1u"],
  ])("of %j is %s", (texts, sum) => {
    expect(quantitySum(texts)).toBe(sum);
  });

  it.each([["a lot"], [""], ["1KiB"], ["-1"], ["__proto__"], ["9".repeat(40)]])("leaves out %j", (text) => {
    expect(quantitySum([text, "2"])).toBe("2");
  });

  it("of whole numbers is what numbers add up to", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1_000_000), { maxLength: 5 }), (numbers) => {
        const total = numbers.reduce((sum, one) => sum + one, 0);
        expect(quantitySum([quantitySum(numbers.map(String)), `-`])).toBe(quantitySum([String(total)]));
      }),
      { numRuns: 100 },
    );
  });

  it("never fails, whatever the texts", () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 4 }), (texts) => {
        expect(quantitySum(texts)).toMatch(/^\d+([KMGTPE]i|[numkMGTPE])?$/);
      }),
      { numRuns: 100 },
    );
  });
});
