import { describe, expect, test } from "vitest";
import { finish } from "../../apimachinery/steps.ts";
import { correlate, correlatedElement, correlatedField, storedElements } from "./correlation.ts";
import { readStructural } from "./structural-schema.ts";

const text = { type: "string" };
const element = { type: "object", properties: { id: text, port: { type: "integer" }, value: text } };
const list = readStructural({
  type: "array",
  items: element,
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["id", "port"],
});

describe("elements of lists", () => {
  const stored = [
    { id: "a", port: 1, value: "first" },
    { id: "a", port: 1, value: "repeated" },
    { id: "a", port: 2, value: "second" },
    { id: "b", value: "without a key" },
    "no object",
  ];

  test("are found by all of their keys", () => {
    const find = finish(storedElements(list, stored, { places: 0 }));
    expect(find({ id: "a", port: 1 })).toEqual(stored[0]);
    expect(find({ id: "a", port: 2, value: "changed" })).toEqual(stored[2]);
    expect(find({ id: "a", port: "1" })).toBeUndefined();
    expect(find({ id: "b" })).toBeUndefined();
    expect(find("no object")).toBeUndefined();
    expect(find({ id: {}, port: 1 })).toBeUndefined();
  });

  test("of lists without keys are not found", () => {
    const set = readStructural({ type: "array", items: text, "x-kubernetes-list-type": "set" });
    expect(finish(storedElements(set, ["a"], { places: 0 }))("a")).toBeUndefined();
    expect(finish(storedElements(list, "no list", { places: 0 }))({ id: "a", port: 1 })).toBeUndefined();
  });

  test("know whether they have changed", () => {
    const above = correlate(list, [{ id: "a", port: 2, value: "second" }], stored);
    expect(above.isUnchanged()).toBe(false);
    expect(correlatedElement(above, { id: "a", port: 2, value: "second" })?.isUnchanged()).toBe(true);
    expect(correlatedElement(above, { id: "a", port: 2, value: "other" })?.isUnchanged()).toBe(false);
    expect(correlatedElement(above, { id: "c", port: 2 })).toBeUndefined();
  });
});

describe("fields", () => {
  const schema = readStructural({ type: "object", properties: { a: text } });

  test("are compared where both objects have them", () => {
    expect(correlatedField(correlate(schema, { a: "x" }, { a: "x" }), "a")?.isUnchanged()).toBe(true);
    expect(correlatedField(correlate(schema, { a: "x" }, { a: "y" }), "a")?.isUnchanged()).toBe(false);
    expect(correlatedField(correlate(schema, { a: "x" }, {}), "a")).toBeUndefined();
    expect(correlatedField(correlate(schema, { b: "x" }, { b: "x" }), "b")).toBeUndefined();
    expect(correlatedField(correlate(schema, {}, {}), "constructor")).toBeUndefined();
  });
});
