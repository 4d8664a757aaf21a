import { describe, expect, it } from "vitest";
import type { ObjectSchema, Schema } from "../schema.ts";
import { compareObjects as compareObjectsInSteps } from "./compare.ts";
import { pathsOf } from "./field-set.ts";
import { pathText } from "./path-element.ts";
import { pacedAtOnce } from "../../../test/kits/at-once.ts";

const compareObjects = pacedAtOnce(compareObjectsInSteps);

const text: Schema = { type: "string" };
const inner: ObjectSchema = { type: "object", properties: { a: { schema: text, number: 1 } } };
const schema: ObjectSchema = {
  type: "object",
  properties: {
    value: { schema: inner, number: 1 },
    pointer: { schema: inner, number: 2, pointer: true },
    custom: { schema: inner },
    map: { schema: { type: "map", values: text }, number: 3 },
    list: { schema: { type: "array", items: text, listType: "set" }, number: 4, required: true },
    always: { schema: { type: "array", items: text, listType: "set" }, number: 5, omitEmpty: false },
    left: { schema: { type: "array", items: text, listType: "set" }, number: 6, required: true, omitEmpty: true },
    items: { schema: { type: "array", items: inner, listType: "map", listMapKeys: ["a"] } },
    any: { schema: { type: "any" } },
  },
};

function changes(before: object, after: object): unknown {
  const { removed, modified, added } = compareObjects(schema, { before, after });
  const shown = [removed, modified, added].map((set) => pathsOf(set).map(pathText));
  return { removed: shown[0], modified: shown[1], added: shown[2] };
}

describe("the difference of two objects", () => {
  it.each([
    ["a leaf", { map: { x: "1" } }, { map: { x: "2", y: "1" } }, [[], [".map.x"], [".map.y"]]],
    ["a map that comes", {}, { map: { x: "1" } }, [[], [], [".map", ".map.x"]]],
    ["a map that goes", { map: { x: "1" } }, {}, [[".map", ".map.x"], [], []]],
    ["an empty map that comes", {}, { map: {} }, [[], [], [".map"]]],
    ["a struct that is part of another", {}, { value: { a: "1" } }, [[], [], [".value.a"]]],
    ["a pointer to a struct", {}, { pointer: { a: "1" } }, [[], [], [".pointer", ".pointer.a"]]],
    ["an object of a custom kind", {}, { custom: { a: "1" } }, [[], [], [".custom", ".custom.a"]]],
    ["a list that Go always writes", {}, { list: ["x"] }, [[], [], ['.list[="x"]']]],
    ["a list that Go always writes, required or not", {}, { always: ["x"] }, [[], [], ['.always[="x"]']]],
    ["a list that Go leaves out, required or not", {}, { left: ["x"] }, [[], [], [".left", '.left[="x"]']]],
    ["the order of a set", { list: ["x", "y"] }, { list: ["y", "x"] }, [[], [], []]],
    [
      "an item",
      { items: [{ a: "1" }] },
      { items: [{ a: "2" }] },
      [['.items[a="1"]', '.items[a="1"].a'], [], ['.items[a="2"]', '.items[a="2"].a']],
    ],
    ["an object that becomes text", { any: { x: 1 } }, { any: "x" }, [[".any.x"], [".any"], []]],
    ["a list without schema", { any: [1] }, { any: [1, 2] }, [[], [".any"], []]],
    ["a null that becomes an object", { any: null }, { any: { x: 1 } }, [[], [], [".any.x"]]],
  ])("tells %s", (_title, before, after, [removed, modified, added]) => {
    expect(changes(before, after)).toEqual({ removed, modified, added });
  });
});
