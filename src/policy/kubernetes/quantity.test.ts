import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  addQuantities,
  compareQuantities,
  parseQuantity,
  quantityFloat,
  quantityInteger,
  quantityOf,
  quantitySign,
  subtractQuantities,
  type Quantity,
} from "./quantity.ts";

function quantity(text: string): Quantity {
  const parsed = parseQuantity(text);
  if ("problem" in parsed) throw new TypeError(parsed.problem);
  return parsed.quantity;
}

const texts = fc
  .tuple(
    fc.constantFrom("", "-", "+"),
    fc.bigInt({ min: 0n, max: 10n ** 20n }),
    fc.option(fc.nat(999_999), { nil: undefined }),
    fc.constantFrom(
      "",
      "n",
      "u",
      "m",
      "k",
      "M",
      "G",
      "T",
      "P",
      "E",
      "Ki",
      "Mi",
      "Gi",
      "Ti",
      "Pi",
      "Ei",
      "e3",
      "E-2",
      "e12",
    ),
  )
  .map(([sign, whole, fraction, suffix]) => `${sign}${whole}${fraction === undefined ? "" : `.${fraction}`}${suffix}`);

describe("parseQuantity", () => {
  test.each(["0", "1.5G", "200k", "1.3Gi", "10000k", "50m", "-5", "+5", ".5", "5.", "1e3", "1E-3", "1Ki", "12n"])(
    "takes %j",
    (text) => {
      expect(parseQuantity(text)).toHaveProperty("quantity");
    },
  );

  test.each([
    "",
    "200K",
    "Three",
    "Mi",
    "1,3G",
    "1.2.3",
    "1 ",
    " 1",
    "0x1",
    "1e",
    "1ki",
    "1m5",
    "-",
    ".",
    "1e1000000000",
  ])("refuses %j", (text) => {
    expect(parseQuantity(text)).toHaveProperty("problem");
  });

  test("refuses more text than a quantity needs", () => {
    expect(parseQuantity("1".repeat(100_000))).toHaveProperty("problem");
  });

  test("rounds what is finer than a billionth away from zero", () => {
    expect(compareQuantities(quantity("1e-12"), quantity("1n"))).toBe(0);
    expect(compareQuantities(quantity("-0.1n"), quantity("-1n"))).toBe(0);
  });

  test("ends amounts in powers of two at 2^63 - 1", () => {
    expect(compareQuantities(quantity("1000000Ei"), quantity("9223372036854775807"))).toBe(0);
  });

  test("never throws", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...Array.from("+-.0159eEinumkKMGTP ")) }), (text) => {
        expect(() => parseQuantity(text)).not.toThrow();
      }),
    );
  });
});

describe("quantities", () => {
  test.each([
    ["200M", "0.2G", 0],
    ["50M", "50Mi", -1],
    ["50Mi", "50M", 1],
    ["0.1", "100m", 0],
    ["-1", "1", -1],
    ["9999999999999999999999999999999999999G", "1E", 1],
  ] as const)("compare %s with %s as %i", (one, other, result) => {
    expect(compareQuantities(quantity(one), quantity(other))).toBe(result);
  });

  test("add and subtract exactly", () => {
    expect(compareQuantities(addQuantities(quantity("0.1"), quantity("0.2")), quantity("0.3"))).toBe(0);
    expect(quantityInteger(subtractQuantities(quantity("50k"), quantityOf(20_000n)))).toBe(30_000n);
    expect(quantityInteger(subtractQuantities(addQuantities(quantity("50k"), quantityOf(20n)), quantity("50k")))).toBe(
      20n,
    );
  });

  test("are integers only where Kubernetes holds them in 64 bits", () => {
    expect(quantityInteger(quantity("50k"))).toBe(50_000n);
    expect(quantityInteger(quantity("50000000G"))).toBe(50_000_000_000_000_000n);
    expect(quantityInteger(quantity("0"))).toBe(0n);
    expect(quantityInteger(quantity("-3Mi"))).toBe(-3_145_728n);
    expect(quantityInteger(quantity("9999999999999999999999999999999999999G"))).toBeUndefined();
    expect(quantityInteger(quantity("1.5"))).toBeUndefined();
    expect(quantityInteger(quantity("1.5Gi"))).toBeUndefined();
  });

  test("have a sign and a floating point value", () => {
    expect(["-1m", "0", "1n"].map((text) => quantitySign(quantity(text)))).toEqual([-1, 0, 1]);
    expect(quantityFloat(quantity("0.5"))).toBe(0.5);
    expect(quantityFloat(quantity("1e1000"))).toBe(Number.POSITIVE_INFINITY);
  });

  test("are in one total order that agrees with addition", () => {
    fc.assert(
      fc.property(texts, texts, texts, (a, b, c) => {
        const [one, two, three] = [quantity(a), quantity(b), quantity(c)];
        expect(compareQuantities(one, two)).toBe(0 - compareQuantities(two, one) + 0);
        const chained = compareQuantities(one, two) <= 0 && compareQuantities(two, three) <= 0;
        expect(chained && compareQuantities(one, three) > 0).toBe(false);
        expect(compareQuantities(addQuantities(one, three), addQuantities(two, three))).toBe(
          compareQuantities(one, two),
        );
        expect(compareQuantities(subtractQuantities(addQuantities(one, two), two), one)).toBe(0);
      }),
      { numRuns: 200 },
    );
  });
});
