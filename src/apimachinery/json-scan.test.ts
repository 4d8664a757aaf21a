import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findDuplicateFields, strictFields, jsonExcess } from "./json-scan.ts";

describe("duplicate fields", () => {
  test.each([
    ['{"a":1}', []],
    ['{"a":1,"a":2}', ["a"]],
    ['{"a":1,"a":2,"a":3}', ["a"]],
    ['{"spec":{"replicas":1,"x":{},"replicas":2}}', ["spec.replicas"]],
    ['{"a":{"b":1},"c":{"b":1}}', []],
    ['{"items":[{"a":1},{"a":1,"a":2}],"z":[[{"k":0,"k":0}]]}', ["items[1].a", "z[0][0].k"]],
    ['{"a":"b","b":"a"}', []],
    ['{"a":["a","a"],"b":["x:",":"]}', []],
    [String.raw`{"a":1,"\u0061":2}`, ["a"]],
    [String.raw`{"a\"":1,"b":"\\","a\"":2}`, ['a"']],
    ['{ "a" : 1 ,\n "a" : 2 }', ["a"]],
    ['{"":1,"":2}', [""]],
    ['{"__proto__":1,"__proto__":2,"constructor":3}', ["__proto__"]],
    ['{"a":{"x":1},"a":{"x":1,"x":2}}', ["a", "a.x"]],
    [`{${Array.from({ length: 20 }, (_, index) => `"k${index}":1`).join()},"k3":1,"k19":2}`, ["k3", "k19"]],
    ['[{"a":1,"a":1}]', ["[0].a"]],
  ])("in %s are %j", (text, paths) => {
    expect(findDuplicateFields(text)).toEqual(paths);
  });

  test("are reported a hundred times at most", () => {
    const text = `[${Array.from({ length: 1_000 }, () => '{"a":1,"a":1}').join()}]`;
    expect(findDuplicateFields(text)).toHaveLength(100);
  });

  test("are not found in what JSON.stringify writes", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(findDuplicateFields(text)).toEqual([]);
      }),
    );
  });

  test("are found wherever one is put", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), (object) => {
        const first = Object.keys(object)[0] ?? "";
        const text = JSON.stringify({ outer: [object] });
        const doubled = text.replace(/\}\]\}$/, () => `,${JSON.stringify(first)}:0}]}`);
        expect(findDuplicateFields(doubled)).toEqual([`outer[0].${first}`]);
      }),
    );
  });

  test("text that is no JSON never throws", () => {
    const unit = fc.constantFrom("{", "}", "[", "]", '"', "\\", ",", ":", "a", "u", " ");
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 40 }), (text) => {
        expect(Array.isArray(findDuplicateFields(text))).toBe(true);
      }),
    );
  });

  test("brackets without end cost no more than their number", () => {
    expect(findDuplicateFields("[".repeat(1_000_000))).toEqual([]);
    expect(findDuplicateFields(`"${"\\".repeat(1_000_000)}`)).toEqual([]);
  });
});

describe("the fields that strict decoding complains of", () => {
  // The orders are those of kube-apiserver 1.36.3.
  test.each([
    ['{"o":[{"name":"a","name":"b","zz":1}]}', ["o[0].zz"], ["duplicate o[0].name", "unknown o[0].zz"]],
    [
      '{"metadata":{"nope":1,"nope":{"a":1,"a":2}},"foo":{"b":1,"b":2},"data":{"a":1,"a":2},"foo":1}',
      ["metadata.nope", "foo"],
      ["unknown metadata.nope", "unknown foo", "duplicate data.a"],
    ],
    ['{"x":[[{"a":1,"a":2}],{"b":1,"b":2}],"c":1,"c":2}', ["x"], ["unknown x", "duplicate c"]],
    ['{"a":1,"a":2}', [], ["duplicate a"]],
    ['{"a":1}', ["a", "not.there"], ["unknown a", "unknown not.there"]],
  ])("are told in the order of the text %s", (text, unknown, faults) => {
    expect(strictFields(text, unknown).map(({ fault, path }) => `${fault} ${path}`)).toEqual(faults);
  });

  test("are a hundred at most", () => {
    const text = `[${Array.from({ length: 1_000 }, () => '{"a":1,"a":1}').join()}]`;
    expect(strictFields(text, ["[0].b", "[5].b"])).toHaveLength(100);
  });
});

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
