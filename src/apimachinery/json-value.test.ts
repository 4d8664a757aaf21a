import { describe, expect, test } from "vitest";
import { isJsonArray, isJsonObject, jsonProblem, ownValue } from "./json-value.ts";

test("null, arrays and scalars are no JSON objects", () => {
  expect([null, [], "a", 1, true].some(isJsonObject)).toBe(false);
  expect(isJsonObject({})).toBe(true);
  expect(isJsonArray([])).toBe(true);
});

test("what is inherited is not an own value", () => {
  expect(ownValue({}, "constructor")).toBeUndefined();
  expect(ownValue({}, "__proto__")).toBeUndefined();
  expect(ownValue({ constructor: 1 }, "constructor")).toBe(1);
});

describe("problems", () => {
  test("__proto__ is found anywhere", () => {
    for (const text of ['{"__proto__":1}', '[{"a":[{"__proto__":{}}]}]']) {
      expect(jsonProblem(JSON.parse(text))).toBe('the key "__proto__" is not allowed');
    }
    expect(jsonProblem({ constructor: { prototype: {} } })).toBeUndefined();
  });

  test("a hundred levels are allowed, and no more", () => {
    expect(jsonProblem(JSON.parse("[".repeat(100) + "]".repeat(100)))).toBeUndefined();
    expect(jsonProblem(JSON.parse("[".repeat(101) + "]".repeat(101)))).toBe("JSON nested too deeply");
    expect(jsonProblem(JSON.parse('{"a":'.repeat(200_000) + "1" + "}".repeat(200_000)))).toBe("JSON nested too deeply");
  });
});
