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
      for (const key of keys.slice(0, 19_000)) expect(sorted.remove(key)).toBe(true);
      expect(from(sorted, "")).toEqual(keys.slice(19_000).toSorted());
    }
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
