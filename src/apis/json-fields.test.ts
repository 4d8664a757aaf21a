import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  fieldListAt,
  fieldsAt,
  isSameJson,
  isTrueAt,
  numberAt,
  stringAt,
  stringsAt,
  valueAt,
  withField,
} from "./json-fields.ts";

describe("reading JSON of unknown shape", () => {
  test("never throws, whatever the value", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.array(fc.string(), { maxLength: 4 }), (value, path) => {
        valueAt(value, ...path);
        expect(typeof stringAt(value, ...path)).toBe("string");
        expect(Array.isArray(fieldListAt(value, ...path))).toBe(true);
        expect(Array.isArray(stringsAt(value, ...path))).toBe(true);
        expect(typeof fieldsAt(value, ...path)).toBe("object");
        expect(typeof isTrueAt(value, ...path)).toBe("boolean");
        expect(["number", "undefined"]).toContain(typeof numberAt(value, ...path));
      }),
      { numRuns: 200 },
    );
  });

  test("does not see what an object inherits", () => {
    expect(valueAt({}, "constructor")).toBeUndefined();
    expect(valueAt({}, "__proto__", "toString")).toBeUndefined();
  });
});

describe("equality of JSON values", () => {
  const same: readonly (readonly [unknown, unknown])[] = [
    [undefined, null],
    [undefined, []],
    [null, {}],
    [{ a: 1, b: [] }, { a: 1 }],
    [{ a: [{ b: null }] }, { a: [{}] }],
  ];
  test.each(same)("%j is %j", (left, right) => {
    expect(isSameJson(left, right)).toBe(true);
    expect(isSameJson(right, left)).toBe(true);
  });

  const different: readonly (readonly [unknown, unknown])[] = [
    [0, undefined],
    [false, undefined],
    ["", undefined],
    [{ a: 1 }, { a: 2 }],
    [
      [1, 2],
      [2, 1],
    ],
    [[1], { 0: 1 }],
    [{ a: 0 }, {}],
  ];
  test.each(different)("%j is not %j", (left, right) => {
    expect(isSameJson(left, right)).toBe(false);
    expect(isSameJson(right, left)).toBe(false);
  });
});

test("removing a field leaves the original alone", () => {
  const object = { apiVersion: "v1", kind: "X", metadata: {}, status: 1 };
  expect(withField(object, "status", undefined)).toStrictEqual({ apiVersion: "v1", kind: "X", metadata: {} });
  expect(object.status).toBe(1);
});
