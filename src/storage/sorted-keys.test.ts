import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSortedKeys, type SortedKeys } from "./sorted-keys.ts";

interface Item {
  readonly key: string;
}

function from(keys: SortedKeys<Item>, key: string, exclusive = false): string[] {
  const seen: string[] = [];
  keys.walk({ key, exclusive }, (item) => {
    seen.push(item.key);
    return true;
  });
  return seen;
}

const names = fc.string({ maxLength: 3, unit: fc.constantFrom("a", "b", "/", "z") });

describe("createSortedKeys", () => {
  it("walks like a sorted array after any insertions and removals", () => {
    const steps = fc.array(fc.record({ add: fc.boolean(), key: names }), { maxLength: 200 });
    fc.assert(
      fc.property(steps, names, fc.boolean(), (history, start, exclusive) => {
        const sorted = createSortedKeys<Item>();
        const model = new Set<string>();
        for (const { add, key } of history) {
          const removed = !add && sorted.remove(key);
          expect(removed).toBe(!add && model.delete(key));
          if (add && !model.has(key)) sorted.add({ key });
          if (add) model.add(key);
        }
        const expected = [...model].filter((key) => (exclusive ? key > start : key >= start)).toSorted();
        expect(from(sorted, start, exclusive)).toEqual(expected);
        expect(sorted.size()).toBe(model.size);
        const keysOf = (items: readonly Item[]): readonly string[] => items.map(({ key }) => key);
        const between = [...model].filter((key) => key >= start && key < "b").toSorted();
        expect(keysOf(sorted.range(start, "b", Infinity))).toEqual(between);
        expect(keysOf(sorted.range(start, "b", 2))).toEqual(between.slice(0, 2));
        expect(sorted.countBelow(start)).toBe([...model].filter((key) => key < start).length);
      }),
      { numRuns: 200 },
    );
  });

  it("stays sorted across many chunks, whatever the order of insertion", () => {
    for (const stride of [1, 7919, 19_999]) {
      const sorted = createSortedKeys<Item>();
      const keys = Array.from({ length: 20_000 }, (_, index) => String((index * stride) % 20_000).padStart(5, "0"));
      for (const key of keys) sorted.add({ key });
      expect(from(sorted, "")).toEqual(keys.toSorted());
      expect(sorted.countBelow("12345")).toBe(12_345);
      expect(sorted.range("00600", "19000", Infinity)).toHaveLength(18_400);
      expect(sorted.range("00600", "19000", 10_000).at(-1)).toEqual({ key: "10599" });
      for (const key of keys.slice(0, 19_000)) expect(sorted.remove(key)).toBe(true);
      expect(from(sorted, "")).toEqual(keys.slice(19_000).toSorted());
    }
  });

  it("replaces an item by another with its key, and adds none", () => {
    const sorted = createSortedKeys<Item & { readonly value: number }>();
    for (const key of ["a", "b", "c"]) sorted.add({ key, value: 1 });
    expect([sorted.replace({ key: "b", value: 2 }), sorted.replace({ key: "bb", value: 2 })]).toEqual([true, false]);
    expect(sorted.range("a", "z", Infinity).map(({ key, value }) => `${key}${value}`)).toEqual(["a1", "b2", "c1"]);
  });

  it("stops a walk when the visitor has enough", () => {
    const sorted = createSortedKeys<Item>();
    for (const key of ["a", "b", "c"]) sorted.add({ key });
    const seen: string[] = [];
    sorted.walk({ key: "a", exclusive: false }, ({ key }) => {
      seen.push(key);
      return key !== "b";
    });
    expect(seen).toEqual(["a", "b"]);
  });
});
