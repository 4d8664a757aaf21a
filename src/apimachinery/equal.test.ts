import * as fc from "fast-check";
import { expect, test } from "vitest";
import { jsonEqual } from "./equal.ts";

test.each([
  [1, 1, true],
  [0, -0, true],
  [1, "1", false],
  [null, undefined, false],
  [null, {}, false],
  [[], {}, false],
  [[1, 2], [1, 2], true],
  [[1, 2], [2, 1], false],
  [[1], [1, 2], false],
  [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
  [{ a: 1 }, { a: 1, b: 2 }, false],
  [{ a: 1, b: 2 }, { a: 1 }, false],
  [{ a: { b: [{ c: null }] } }, { a: { b: [{ c: null }] } }, true],
  [{ a: undefined }, { b: 1 }, false],
  [{ constructor: 1 }, { a: 1 }, false],
])("%j and %j: %j", (one, other, result) => {
  expect(jsonEqual(one, other)).toBe(result);
  expect(jsonEqual(other, one)).toBe(result);
});

test("a key __proto__ is a key like others, and not what is inherited", () => {
  const one: unknown = JSON.parse('{"__proto__":{}}');
  expect(jsonEqual(one, { a: 1 })).toBe(false);
  expect(jsonEqual({ a: 1 }, one)).toBe(false);
  expect(jsonEqual(one, JSON.parse('{"__proto__":{}}'))).toBe(true);
});

test("is reflexive over copies, and symmetric", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
      expect(jsonEqual(one, structuredClone(one))).toBe(true);
      expect(jsonEqual(one, other)).toBe(jsonEqual(other, one));
    }),
  );
});

test("does not see the order of keys", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
      expect(jsonEqual(object, Object.fromEntries(Object.entries(object).reverse()))).toBe(true);
    }),
  );
});

test("sees every change of one scalar", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.integer(), { minKeys: 1 }), (object) => {
      for (const key of Object.keys(object)) {
        const entries = Object.entries(object).map(
          ([name, value]) => [name, name === key ? value + 1 : value] as const,
        );
        expect(jsonEqual(object, Object.fromEntries(entries))).toBe(false);
      }
    }),
  );
});
