import { describe, expect, it } from "vitest";
import type { Field, ObjectSchema, Schema } from "../schema.ts";
import { appliedProblem as appliedProblemInSteps } from "./check-applied.ts";
import { atOnce } from "../../../test/kits/at-once.ts";

const appliedProblem = atOnce(appliedProblemInSteps);

const text: Schema = { type: "string" };
const port: ObjectSchema = {
  type: "object",
  properties: {
    port: { schema: { type: "integer", format: "int32" } },
    protocol: { schema: text, default: "TCP" },
    name: { schema: text, number: 3 },
  },
};

function listOf(...keys: readonly string[]): Field {
  return { schema: { type: "array", items: port, listType: "map", listMapKeys: keys } };
}

const schema: ObjectSchema = {
  type: "object",
  properties: {
    text: { schema: text },
    flag: { schema: { type: "boolean" } },
    size: { schema: { type: "integer", format: "int32" } },
    amount: { schema: { type: "string", format: "quantity" } },
    map: { schema: { type: "map", values: text } },
    ports: listOf("port", "protocol"),
    byPort: listOf("port"),
    byName: listOf("name"),
    set: { schema: { type: "array", items: text, listType: "set" } },
    list: { schema: { type: "array", items: text } },
    any: { schema: { type: "any" } },
    open: { schema: { type: "object", properties: {}, open: true } },
  },
};

describe("an object to be applied", () => {
  it.each([
    ["of right types", { text: "x", flag: true, size: 1, amount: 5, map: { a: "b" }, list: ["a", "a"] }],
    ["with nulls", { text: null, map: null, list: null, ports: null, flag: null }],
    ["with items that differ in any key", { ports: [{ port: 1 }, { port: 2 }, { port: 1, protocol: "UDP" }] }],
    ["with an item whose key is empty in Go", { byName: [{ port: 1 }, { name: "x" }] }],
    ["with anything where anything may be", { any: { a: [{}, 1] }, open: { b: { c: 1 } } }],
  ])("is right %s", (_title, object) => {
    expect(appliedProblem(schema, object)).toBeUndefined();
  });

  it.each([
    [{ nonsense: 1 }, ".nonsense: field not declared in schema"],
    [{ text: 1 }, ".text: expected string, got &value.valueUnstructured{Value:1}"],
    [{ flag: "x" }, ".flag: expected boolean, got &{x}"],
    [{ size: "x" }, ".size: expected numeric (int or float), got string"],
    [{ amount: {} }, ".amount: expected any scalar, got &{{}}"],
    [{ map: [] }, ".map: expected map, got &{[]}"],
    [{ list: {} }, ".list: expected list, got &{{}}"],
    [{ map: { a: 1 } }, ".map.a: expected string, got &value.valueUnstructured{Value:1}"],
    [{ list: ["a", 1] }, ".list[1]: expected string, got &value.valueUnstructured{Value:1}"],
    [{ set: ["a", "a"] }, '.set: duplicate entries for key [="a"]'],
    [{ set: [null] }, ".set: element 0: associative list without keys has an element that's an explicit null"],
    [{ set: [{}] }, ".set: element 0: associative list without keys has an element that's a map type"],
    [
      { ports: [{ port: 1 }, { port: 1, protocol: "TCP" }] },
      '.ports: duplicate entries for key [port=1,protocol="TCP"]',
    ],
    [{ ports: [null] }, ".ports: element 0: associative list with keys may not have a null element"],
    [{ ports: ["x"] }, ".ports: element 0: associative list with keys may not have non-map elements"],
    [
      { byPort: [{ port: 1 }, {}] },
      '.byPort: element 1: associative list with keys has an element that omits all key fields ["port"] (and doesn\'t have default values for any key fields)',
    ],
    [{ byPort: [{ port: 1, x: 1 }] }, ".byPort[port=1].x: field not declared in schema"],
    [{ a: 1, b: 1 }, "errors:\n  .a: field not declared in schema\n  .b: field not declared in schema"],
  ])("is wrong as %j", (object, problem) => {
    expect(appliedProblem(schema, object)).toBe(problem);
  });

  it("is not described at length, however much is wrong with it", () => {
    const object = Object.fromEntries(Array.from({ length: 1000 }, (_none, index) => [`x${index}`, 1]));
    expect(appliedProblem(schema, object)?.split("\n")).toHaveLength(21);
  });
});
