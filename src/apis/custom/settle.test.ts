import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { customSchema, jsonObject } from "../../../test/kits/structural-schema.ts";
import type { JsonObject } from "../../apimachinery/json-value.ts";
import { schemaErrors } from "./schema-errors.ts";
import { pruned, withDefaults } from "./settle.ts";
import { readStructural } from "./structural-schema.ts";
import { valueErrors } from "./validate-value.ts";

const root = { isResourceRoot: true };

function prune(raw: JsonObject, object: JsonObject): ReturnType<typeof pruned> {
  return pruned(readStructural(raw), object, root);
}

const widget = {
  type: "object",
  properties: { spec: { type: "object", properties: { size: { type: "integer" } } } },
};

describe("pruning", () => {
  test("leaves out what the schema does not know and names it by its path", () => {
    const object = { kind: "Widget", metadata: { labels: {} }, spec: { size: 1, colour: "red" }, extra: [{ deep: 1 }] };
    expect(prune(widget, object)).toEqual({
      object: { kind: "Widget", metadata: { labels: {} }, spec: { size: 1 } },
      unknown: ["extra", "spec.colour"],
    });
  });

  test("shares what has not changed and never changes what it was given", () => {
    const object = Object.freeze({ spec: Object.freeze({ size: 1 }), other: 1 });
    const result = prune(widget, object).object;
    expect(result["spec"]).toBe(object.spec);
    expect(prune(widget, result).object).toBe(result);
  });

  test("names at most 100 fields, each by a path of bounded length", () => {
    const object = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`${"x".repeat(5000)}${index}`, 1]));
    const { unknown } = prune(widget, object);
    expect(unknown).toHaveLength(100);
    expect(Math.max(...unknown.map(({ length }) => length))).toBeLessThan(1100);
  });

  test("takes keys of prototypes for keys like any other", () => {
    const object = JSON.parse('{"spec":{"__proto__":{"a":1},"constructor":1,"toString":2,"size":3}}');
    expect(prune(widget, object)).toEqual({
      object: { spec: { size: 3 } },
      unknown: ["spec.__proto__", "spec.constructor", "spec.toString"],
    });
    const kept = prune(
      { ...widget, "x-kubernetes-preserve-unknown-fields": true },
      JSON.parse('{"__proto__":{"a":1},"spec":{"x":1}}'),
    );
    expect(Object.getPrototypeOf(kept.object)).toBe(Object.prototype);
    expect(Object.hasOwn(kept.object, "__proto__")).toBe(true);
  });

  test("keeps of the metadata of embedded resources what ObjectMeta has", () => {
    const raw = {
      type: "object",
      properties: {
        template: {
          type: "object",
          "x-kubernetes-embedded-resource": true,
          "x-kubernetes-preserve-unknown-fields": true,
        },
      },
    };
    const object = {
      template: { apiVersion: "v1", kind: "Pod", metadata: { name: "a", nick: "b" }, spec: { any: 1 } },
    };
    expect(prune(raw, object)).toEqual({
      object: { template: { apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, spec: { any: 1 } } },
      unknown: ["template.metadata.nick"],
    });
  });

  test("twice is once, and what is accepted stays accepted", () => {
    const seen = { pruned: 0, accepted: 0 };
    fc.assert(
      fc.property(customSchema, jsonObject, (raw, object) => {
        fc.pre(schemaErrors(raw, "schema", { statusSubresource: false }).length === 0);
        const schema = readStructural(raw);
        const once = pruned(schema, object, root);
        const twice = pruned(schema, once.object, root);
        expect(twice).toEqual({ object: once.object, unknown: [] });
        expect(twice.object).toBe(once.object);
        if (once.unknown.length > 0) seen.pruned += 1;
        if (valueErrors(schema, object, { path: "" }).length > 0) return;
        seen.accepted += 1;
        expect(
          valueErrors(schema, once.object, { path: "" }).filter(({ type }) => type !== "FieldValueInvalid"),
        ).toEqual([]);
      }),
      { numRuns: 150 },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(10);
  });
});

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
