import { describe, expect, it } from "vitest";
import { compileCel } from "./compile.ts";
import { functionTable } from "./environment.ts";
import { standardFunctions } from "./standard-library.ts";
import { celToJson } from "./convert.ts";

function result(source: string): unknown {
  const outcome = compileCel(source, { variables: {}, functions: [] }).evaluate({}, { budget: 100_000 });
  return "error" in outcome ? `error: ${outcome.error}` : celToJson(outcome.value);
}

/** Beyond the published suite: what it leaves out, and the edges. By function. */
const cases: Readonly<Record<string, readonly (readonly [string, unknown])[]>> = {
  sets: [
    ["sets.contains([1, 2, 3], [3, 1])", true],
    ["sets.contains([1], [1, 1.0, 1u])", true],
    ["sets.contains([], [1])", false],
    ["sets.equivalent([1, 2, 2], [2, 1])", true],
    ["sets.equivalent([1], [1, 2])", false],
    ["sets.intersects([1, 2], [2, 3])", true],
    ["sets.intersects([[1]], [[2], [1]])", true],
    ["sets.intersects([], [])", false],
  ],
  lists: [
    ["[1, 2].first().value() + [1, 2].last().value()", 3],
    ["[].first().hasValue()", false],
    ["[optional.of(1), optional.none()].unwrapOpt()", [1]],
    ["[?optional.none(), 1, ?optional.of(2)]", [1, 2]],
  ],
  math: [
    ["math.sqrt(16) == 4.0 && math.sqrt(2.25) == 1.5", true],
    ["math.greatest(1, 2u, 2.5, -3)", 2.5],
    ["math.least([3, 1, 2])", 1],
    ["math.least(dyn([]))", "error: math.least(list) argument must not be empty"],
    ["math.greatest(1, dyn('a'))", "error: no such overload"],
    ["math.abs(-9223372036854775807 - 1)", "error: integer overflow"],
  ],
  text: [
    ["'a😁b'.size() == 3 && 'a😁b'.charAt(1) == '😁' && 'a😁b'.indexOf('b') == 2", true],
    ["'a😁b'.substring(1, 2) + 'a😁b'.reverse()", "😁b😁a"],
    ["'a😁b😁'.lastIndexOf('😁') == 3 && 'a😁b😁'.indexOf('😁', 2) == 3", true],
    ["'😁'.split('')", ["😁"]],
    ["'ab'.replace('', '-') + ' ' + 'ab'.replace('', '-', 1)", "-a-b- -ab"],
    ["'aaa'.replace('a', '$&', 2)", "$&$&a"],
    ["'a,b,c'.split(',', 2)", ["a", "b,c"]],
    ["['a', 'b'].join('-') + [''].join()", "a-b"],
    ["'ÀaZ'.lowerAscii() + 'àaZ'.upperAscii()", "ÀazàAZ"],
    ["'\\u2003 a \\u00a0'.trim()", "a"],
    ["strings.quote('a\"\\n\\\\')", '"a\\"\\n\\\\"'],
    [
      "'%s %d %.2f %e %x %X %o %b %%'.format(['a', 1, 0.125, 12345.678, 255, 'k', 8, 5])",
      "a 1 0.12 1.234568e+04 ff 6B 10 101 %",
    ],
    ["'%s'.format([])", "error: index 0 out of range"],
    ["'%s'.format([{'b': [1, null], 'a': 1e30}])", "{a: 1000000000000000000000000000000, b: [1, null]}"],
    ["'%.101f'.format([1.0])", "error: precision 101 is too large"],
    ["'\\U0001F600' > '\\uFFFF'", true],
  ],
  conversions: [
    ["string(1e6) + ' ' + string(100000.0) + ' ' + string(0.00001) + ' ' + string(-1.5)", "1e+06 100000 1e-05 -1.5"],
    ["string(double('inf')) + string(double('NaN'))", "+InfNaN"],
    ["double('1e400')", "error: type conversion error from 'string' to 'double'"],
    ["double('0x10')", "error: type conversion error from 'string' to 'double'"],
    ["int('9223372036854775808')", "error: type conversion error from 'string' to 'int'"],
    ["int('')", "error: type conversion error from 'string' to 'int'"],
    ["uint('-1')", "error: type conversion error from 'string' to 'uint'"],
    ["string(duration('1h1m1.5s')) + ' ' + string(duration('-1ns'))", "3661.5s -0.000000001s"],
    [
      "string(timestamp('2024-02-29T23:59:59.120Z')) + ' ' + string(timestamp(0))",
      "2024-02-29T23:59:59.12Z 1970-01-01T00:00:00Z",
    ],
    ["string(b'\\xff')", "error: invalid UTF-8 in bytes, cannot convert to string"],
  ],
  time: [
    ["timestamp('2023-02-29T00:00:00Z')", 'error: invalid timestamp: "2023-02-29T00:00:00Z" is out of range'],
    ["timestamp('2024-01-01')", 'error: invalid timestamp: cannot parse "2024-01-01"'],
    ["timestamp('0001-01-01T00:00:00Z').getFullYear('America/New_York')", 0],
    [
      "timestamp('2024-12-31T23:00:00Z').getDayOfYear() + timestamp('2024-12-31T23:00:00Z').getDayOfYear('+01:00')",
      365,
    ],
    ["timestamp(0).getHours('Nowhere/At_All')", "error: unknown time zone Nowhere/At_All"],
    ["timestamp(0).getHours('../../etc/passwd')", "error: unknown time zone ../../etc/passwd"],
    ["duration('1h') - duration('90m') == duration('-30m')", true],
    ["duration('')", 'error: time: invalid duration ""'],
    ["duration('1')", 'error: time: invalid duration "1"'],
    ["duration('1.h')", "3600s"],
  ],
  encoders: [
    ["base64.encode(b'\\x00\\xff') + string(base64.decode('aGk')) + string(base64.decode('aGk='))", "AP8=hihi"],
    ["base64.decode('a-_=')", "error: illegal base64 data"],
    ["base64.decode('aGk==')", "error: illegal base64 data"],
  ],
  maps: [
    ["{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v * 10)", { b: 20 }],
    ["{'a': 1}.transformMapEntry(k, v, {v: k})", { 1: "a" }],
    ["{'a': 1, 'b': 1}.transformMapEntry(k, v, {v: k})", "error: insert failed: key 1 already exists"],
    ["[5, 6].transformList(i, v, i + v)", [5, 7]],
    ["{1: 'a'}[dyn(1u)] + {1u: 'b'}[dyn(1)] + {2: 'c'}[dyn(2.0)]", "abc"],
    ["{true: 1}[true]", 1],
    ["{1.5: 1}", "error: unsupported key type"],
    ["{'a': {'b': 1}}.?a.?b.orValue(0) + {'a': {'b': 1}}.?x.?b.orValue(5)", 6],
    ["{'a': 1}[?'b'].optMap(x, x + 1).or(optional.of(9)).value()", 9],
    ["optional.none().value()", "error: optional.none() dereference"],
  ],
};

describe.each(Object.keys(cases))("%s", (name) => {
  it.each(cases[name] ?? [])("%s", (source, expected) => {
    expect(result(source)).toStrictEqual(expected);
  });
});

it("names no function of JavaScript", () => {
  const { byName } = functionTable(standardFunctions);
  expect([...byName.keys()].length).toBeGreaterThan(80);
  expect(byName.get("constructor")).toBeUndefined();
});
