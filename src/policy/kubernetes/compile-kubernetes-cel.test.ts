import { describe, expect, test } from "vitest";
import { compileKubernetesCel } from "./compile-kubernetes-cel.ts";

describe("literals", () => {
  test.each([
    ["'a'.matches(')')", "ERROR: <input>:1:13: invalid matches argument"],
    ["'a'.find('x++') == ''", "ERROR: <input>:1:10: invalid find argument"],
    ["'a'.findAll('(', 1) == []", "invalid findAll argument"],
    ["duration('1d') == duration('1s')", "ERROR: <input>:1:10: invalid duration argument"],
    ["timestamp('1000-00-00T00:00:00Z') == timestamp(0)", "ERROR: <input>:1:11: invalid timestamp argument"],
    ["timestamp(-62135596801) == timestamp(0)", "invalid timestamp argument"],
    ["[1, 'a', false].size() == 3", "ERROR: <input>:1:5: expected type 'int' but found 'string'"],
    ["{'a': 'b', 'c': 1}.size() == 2", "expected type 'string' but found 'int'"],
    ["{'a': 1, 2: 1}.size() == 2", "expected type 'string' but found 'int'"],
    ["[1].exists(x, 'a'.matches('['))", "invalid matches argument"],
  ])("%s is refused", (source, message) => {
    expect(() => compileKubernetesCel(source, {})).toThrow(message);
  });

  test.each([
    "'a'.matches('^a$') && 'a'.matches('(' + 'a)')",
    "duration('1h2m') > duration('0') && timestamp(0) < timestamp('2000-01-01T00:00:00Z')",
    "[1, dyn('a')].size() == 2 && [[], ['a']].size() == 2 && {'a': 1}.size() == 1",
    "'%d %s'.format([1, 'a']) == '1 a'",
  ])("%s is taken", (source) => {
    expect(compileKubernetesCel(source, {}).evaluate({}, { budget: 1_000 })).toMatchObject({ value: true });
  });
});
