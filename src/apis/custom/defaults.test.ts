import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { customSchema, jsonObject } from "../../../test/kits/structural-schema.ts";
import { withDefaults } from "./defaults.ts";
import { readStructural } from "./structural-schema.ts";

const schema = readStructural({
  type: "object",
  properties: {
    size: { type: "integer", default: 3 },
    mode: { type: "string", default: "fast", nullable: true },
    name: { type: "string" },
    nested: { type: "object", default: {}, properties: { depth: { type: "integer", default: 1 } } },
    list: { type: "array", items: { type: "object", properties: { on: { type: "boolean", default: true } } } },
  },
});

describe("defaults", () => {
  test("fill in what is missing, also below a default", () => {
    expect(withDefaults(schema, { list: [{}, { on: false }] })).toEqual({
      size: 3,
      mode: "fast",
      nested: { depth: 1 },
      list: [{ on: true }, { on: false }],
    });
  });

  test("replace a null that is not allowed, keep one that is, and drop one that has no default", () => {
    const object = withDefaults(schema, { size: null, mode: null, name: null, nested: { depth: 2 } });
    expect(object).toEqual({ size: 3, mode: null, nested: { depth: 2 } });
  });

  test("share what has not changed", () => {
    const whole = { size: 1, mode: "slow", nested: { depth: 1 } };
    expect(withDefaults(schema, whole)).toBe(whole);
  });

  test("stand under their own keys when the keys are those of prototypes", () => {
    const hostile = readStructural(
      JSON.parse(
        '{"type":"object","properties":{"__proto__":{"type":"string","default":"x"},"constructor":{"type":"string","default":"y"}}}',
      ),
    );
    const object = withDefaults(hostile, {});
    expect(Object.getPrototypeOf(object)).toBe(Object.prototype);
    expect(Object.entries(object)).toEqual([
      ["__proto__", "x"],
      ["constructor", "y"],
    ]);
  });

  test("are the same the second time, and never change what they were given", () => {
    fc.assert(
      fc.property(customSchema, jsonObject, (raw, object) => {
        const before = structuredClone(object);
        const read = readStructural(raw);
        const once = withDefaults(read, object);
        expect(object).toEqual(before);
        expect(withDefaults(read, once)).toEqual(once);
      }),
      { numRuns: 150 },
    );
  });
});
