import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pathFields, valueUnder, withValueUnder } from "./simple-path.ts";

describe("a path of fields", () => {
  it("is read from its dots", () => {
    expect(pathFields(".spec.replicas")).toEqual(["spec", "replicas"]);
    expect(pathFields(".")).toEqual([]);
  });

  it("leads to own members of objects only", () => {
    expect(valueUnder({ a: { b: 1 } }, ["a", "b"])).toBe(1);
    expect(valueUnder({ a: [1] }, ["a", "0"])).toBeUndefined();
    expect(valueUnder({}, ["constructor", "name"])).toBeUndefined();
  });

  it("is written without touching what was there", () => {
    const before = Object.freeze({ a: Object.freeze({ b: 1, c: 2 }) });
    expect(withValueUnder(before, ["a", "b"], 5)).toEqual({ a: { b: 5, c: 2 } });
    expect(withValueUnder(before, ["x", "y"], 5)).toEqual({ ...before, x: { y: 5 } });
    expect(withValueUnder(before, ["a", "b"], undefined)).toEqual({ a: { c: 2 } });
    expect(withValueUnder(before, ["x", "y"], undefined)).toBe(before);
  });

  it("reads back what was written, whatever its fields are called", () => {
    const names = fc.constantFrom("a", "b", "__proto__", "constructor");
    fc.assert(
      fc.property(fc.array(names, { minLength: 1, maxLength: 4 }), fc.integer(), (fields, value) => {
        expect(valueUnder(withValueUnder({}, fields, value), fields)).toBe(value);
        expect(Object.hasOwn(Object.prototype, "a")).toBe(false);
      }),
      { numRuns: 100 },
    );
  });
});
