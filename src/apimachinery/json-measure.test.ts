import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jsonExcess } from "./json-measure.ts";

const many = 1_000_000;

describe("the depth of JSON text", () => {
  test.each([
    ["1", 0, undefined],
    ["[]", 0, "depth"],
    ["[[]]", 2, undefined],
    ["[[[]]]", 2, "depth"],
    ['{"a":[{"b":[]}]}', 4, undefined],
    ['{"a":[{"b":[]}]}', 3, "depth"],
    ['"[[[[["', 1, undefined],
    [String.raw`"\"[[[[["`, 0, undefined],
    ["[],[],[]", 1, undefined],
  ])("of %s against %d: %j", (text, maxDepth, result) => {
    expect(jsonExcess(text, { maxDepth, maxValues: many })).toBe(result);
  });
});

/** How many values a parsed value holds, itself included. */
function valuesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((sum: number, member) => sum + valuesIn(member), 1);
}

describe("the number of values in JSON text", () => {
  test.each([
    "1",
    "[]",
    "{}",
    "[[]]",
    "[1,2]",
    '{"a":{},"b":[[],{}]}',
    ' { "a" : [ 1 , "x,y{" ] } ',
    String.raw`["\\\\",1]`,
  ])("is counted in %s", (text) => {
    const count = valuesIn(JSON.parse(text));
    expect(jsonExcess(text, { maxDepth: 64, maxValues: count })).toBeUndefined();
    expect(jsonExcess(text, { maxDepth: 64, maxValues: count - 1 })).toBe("values");
  });

  test("is that of the parsed value, for any JSON, indented or not", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(0, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const count = valuesIn(JSON.parse(text));
        expect(jsonExcess(text, { maxDepth: 64, maxValues: count })).toBeUndefined();
        expect(jsonExcess(text, { maxDepth: 64, maxValues: count - 1 })).toBe("values");
      }),
    );
  });

  test("is of no matter to what is no JSON, which never throws", () => {
    const unit = fc.constantFrom('"', "\\", "{", "}", "[", "]", ",", ":", "a", " ");
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 40 }), (text) => {
        expect([undefined, "depth", "values"]).toContain(jsonExcess(text, { maxDepth: 3, maxValues: 5 }));
      }),
    );
  });
});
