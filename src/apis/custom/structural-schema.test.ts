import { expect, test } from "vitest";
import { readStructural } from "./structural-schema.ts";

test("keys of prototypes name properties of their own and no others", () => {
  const schema = readStructural(JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}'));
  expect([...schema.properties.keys()]).toEqual(["__proto__"]);
  expect(schema.properties.get("constructor")).toBeUndefined();
});

test("what is of the wrong type reads as absent", () => {
  const schema = readStructural({
    type: "text",
    minLength: "1",
    enum: {},
    items: 1,
    additionalProperties: "yes",
    allOf: [1],
  });
  expect(schema).toMatchObject({ type: undefined, minLength: undefined, enum: [], items: undefined });
  expect(schema.additionalProperties).toBeUndefined();
});

test("a default of null is none", () => {
  expect(readStructural({ type: "string", nullable: true, default: null }).default).toBeUndefined();
});

test("a schema knows whether it holds embedded resources or lists that must not repeat", () => {
  const deep = (raw: object): object => ({ type: "object", properties: { a: { type: "array", items: raw } } });
  const set = { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" };
  const embedded = { type: "object", "x-kubernetes-embedded-resource": true };
  expect(readStructural({ ...deep(set) })).toMatchObject({ holdsUniqueLists: true, holdsEmbedded: false });
  expect(readStructural({ ...deep(embedded) })).toMatchObject({ holdsUniqueLists: false, holdsEmbedded: true });
});

test("patterns are those of RE2 and found anywhere in a text", () => {
  const { pattern } = readStructural({ type: "string", pattern: "\\pL\\z" });
  expect(pattern?.matches("1é")).toBe(true);
  expect(pattern?.matches("é1")).toBe(false);
});
