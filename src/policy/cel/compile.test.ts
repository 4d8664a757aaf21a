import { describe, expect, it } from "vitest";
import { compileCel, type CelOutcome } from "./compile.ts";
import { celFunction, type CelFunction } from "./environment.ts";
import { celToJson } from "./convert.ts";
import {
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  objectType,
  stringType,
  timestampType,
  type CelType,
} from "./types.ts";
import { celFailure, celOpaque, type CelOpaque } from "./values.ts";

interface Given {
  readonly types?: Readonly<Record<string, CelType>>;
  readonly functions?: readonly CelFunction[];
  readonly budget?: number;
}

function evaluate(source: string, values: Readonly<Record<string, unknown>> = {}, given: Given = {}): CelOutcome {
  const types = Object.fromEntries(Object.keys(values).map((name) => [name, dynType]));
  const program = compileCel(source, { variables: given.types ?? types, functions: given.functions ?? [] });
  return program.evaluate(values, { budget: given.budget ?? 1_000_000 });
}

/** The value as JSON, or the error. */
function result(source: string, values?: Readonly<Record<string, unknown>>, given?: Given): unknown {
  const outcome = evaluate(source, values, given);
  return "error" in outcome ? outcome.error : celToJson(outcome.value);
}

const overLimit = "operation cancelled: actual cost limit exceeded";

describe("JSON as variables", () => {
  const types = {
    self: objectType("object", {
      count: intType,
      ratio: doubleType,
      ratios: listType(doubleType),
      shares: mapType(stringType, doubleType),
      since: timestampType,
      timeout: durationType,
      data: bytesType,
      name: stringType,
      renamed__dash__field: { type: intType, key: "renamed-field" },
      any: dynType,
    }),
  };
  const self = {
    count: 2,
    ratio: 2,
    ratios: [1, 2.5],
    shares: { a: 1 },
    since: "2024-02-29T12:00:00+02:00",
    timeout: "1m30s",
    data: "aGk=",
    name: "x",
    "renamed-field": 7,
    any: { whole: 3, part: 3.5, list: [1, 2.5], big: 2 ** 60 },
  };

  it.each<readonly [string, unknown]>([
    ["self.count + 1", 3],
    ["type(self.count) == int && type(self.ratio) == double", true],
    ["self.ratio / 4.0", 0.5],
    ["self.ratios.map(r, r * 2.0)", [2, 5]],
    ["type(self.ratios[0]) == double && type(dyn(self.ratios)[0]) == double", true],
    ["self.shares.a + self.shares['a']", 2],
    ["self.since == timestamp('2024-02-29T10:00:00Z')", true],
    ["self.timeout > duration('89s') && self.timeout.getSeconds() == 90", true],
    ["self.data == b'hi' && string(self.data) == 'hi'", true],
    ["self.renamed__dash__field", 7],
    ["has(self.renamed__dash__field) && !has(self.any.absent)", true],
    ["type(self.any.whole) == int && type(self.any.part) == double", true],
    ["self.any.list[1] == 2.5 && self.any.list == [1, 2.5]", true],
    ["self.any.big == 1152921504606846976", true],
    ["self.any.absent", "no such key: absent"],
    ["self.any.list[7]", "index out of bounds: 7"],
    ["self.name + 'y'", "xy"],
  ])("reads %s by the declared types", (source, expected) => {
    expect(result(source, { self }, { types })).toStrictEqual(expected);
  });

  it("refuses what is not of its declared type when it is used, not before", () => {
    const wrong = { ...self, name: null, count: "many", since: "yesterday" };
    expect(result("has(self.name)", { self: wrong }, { types })).toBe(false);
    expect(result("self.name.startsWith('x')", { self: wrong }, { types })).toBe("no such key: name");
    expect(result("self.count + 1", { self: wrong }, { types })).toBe("no such overload");
    expect(result("self.since.getFullYear()", { self: wrong }, { types })).toBe("no such overload");
  });

  it("says that a variable is missing", () => {
    expect(result("self.count == 1", {}, { types })).toBe("no such attribute(s): self");
  });

  it("leaves the variables as they are", () => {
    const list = Object.freeze([3, 1, 2]);
    expect(result("[list + [4], list.map(x, x), list.filter(x, x > 1)].size()", { list })).toBe(3);
    expect(evaluate("list", { list })).toMatchObject({ value: list });
  });
});

describe("failures", () => {
  it.each<readonly [string, unknown]>([
    ["1 / 0", "division by zero"],
    ["1 % 0", "modulus by zero"],
    ["9223372036854775807 + 1", "integer overflow"],
    ["-9223372036854775807 - 2", "integer overflow"],
    ["9223372036854775807 * 2", "integer overflow"],
    ["-(-9223372036854775807 - 1)", "integer overflow"],
    ["0u - 1u", "unsigned integer overflow"],
    ["9007199254740993 - 9007199254740992", 1],
    ["9007199254740991 + 2 == 9007199254740993", true],
    ["0 * -1 == 0 && string(0 * -1) == '0'", true],
    ["{'a': 1}.b", "no such key: b"],
    ["{1: 1, 1: 2}", "Failed with repeated key"],
    ["dyn(1) + 'a'", "no such overload"],
    ["[1][dyn('a')]", "no such overload"],
    ["1 / 0 == 1 || true", true],
    ["true || 1 / 0 == 1", true],
    ["1 / 0 == 1 && false", false],
    ["1 / 0 == 1 || false", "division by zero"],
    ["[0, 2].exists(x, 4 / x == 2)", true],
    ["[0, 2].all(x, 4 / x == 1)", false],
    ["[0, 2].all(x, 4 / x == 2)", "division by zero"],
    ["[0].map(x, 4 / x)", "division by zero"],
    ["'a'.matches('(')", "error parsing regexp: missing closing ): `(`"],
    ["true ? 1 : 1 / 0", 1],
    ["optional.of(1).orValue(1 / 0)", 1],
    ["optional.none().orValue(2)", 2],
  ])("%s comes to what cel-go makes of it", (source, expected) => {
    expect(result(source)).toStrictEqual(expected);
  });
});

describe("functions of a library", () => {
  const functions: readonly CelFunction[] = [
    celFunction(
      "point(int): geo.Point",
      (x: number) =>
        x < 0 ? celFailure("point below zero") : celOpaque("geo.Point", x, (other: CelOpaque) => other.value === x),
      () => 40,
    ),
    celFunction("<geo.Point>.x(): int", (given: CelOpaque) => given.value as number),
    celFunction("size(geo.Point): int", () => 0),
  ];

  it("are called, compared, and fail by what they return", () => {
    expect(result("point(3).x() + 1", {}, { functions })).toBe(4);
    expect(result("point(3) == point(3) && point(3) != point(4)", {}, { functions })).toBe(true);
    expect(result("point(-1).x()", {}, { functions })).toBe("point below zero");
    expect(result("dyn(point(1)).x()", {}, { functions })).toBe(1);
    expect(result("dyn(1).x()", {}, { functions })).toBe("no such overload");
  });

  it("add overloads to standard functions", () => {
    expect(result("size(point(1)) + size('ab')", {}, { functions })).toBe(2);
  });

  it("are paid for before they work", () => {
    expect(result("point(1).x()", {}, { functions, budget: 41 })).toBe(1);
    expect(result("point(1).x()", {}, { functions, budget: 40 })).toBe(overLimit);
  });
});

describe("attacks by work", () => {
  const list = Array.from({ length: 200 }, (_, at) => at);

  it("stops three nested walks over 200 elements at the budget", () => {
    const source = "list.all(a, list.all(b, list.all(c, a + b + c >= 0)))";
    expect(result(source, { list }, { budget: 100_000 })).toBe(overLimit);
  });

  it("absorbs no exceeded budget", () => {
    const source = "list.all(a, list.all(b, a + b < 0 || true)) || true || list.exists(a, true)";
    expect(result(source, { list }, { budget: 1000 })).toBe(overLimit);
    expect(result("true", {}, { budget: Number.NaN })).toBe(true);
    expect(result("1 + 1", {}, { budget: Number.NaN })).toBe(overLimit);
  });

  it("does not backtrack in regular expressions", () => {
    expect(result("text.matches('^(a+)+$')", { text: `${"a".repeat(5000)}!` }, { budget: 1e9 })).toBe(false);
  });

  it("counts repetition in regular expressions by what it unfolds to", () => {
    expect(result("text.matches('(?:a{0,30}){0,30}$')", { text: "a".repeat(50_000) }, { budget: 100_000 })).toBe(
      overLimit,
    );
  });

  it("compiles no more patterns from data than it has room for", () => {
    const list = Array.from({ length: 300 }, (_, at) => `(?i)${"[\\x{100}-\\x{ffff}]".repeat(2)}${at}`);
    expect(result("list.exists(pattern, 'a'.matches(pattern))", { list }, { budget: 10_000_000 })).toBe(overLimit);
    const dear = `(?i)${"[\\x{100}-\\x{ffff}]".repeat(20)}`;
    expect(result("'a'.matches(text)", { text: dear })).toBe("error parsing regexp: expression too large");
    expect(result("'a'.matches(text)", { text: "a".repeat(2001) })).toBe(
      "error parsing regexp: longer than 2000 characters",
    );
  });

  it("counts the keys of a map and the characters of a text once", () => {
    const map = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, at]));
    const text = "😁".repeat(20_000);
    const source = "map.all(k, map.size() == text.size() && map.exists(first, true))";
    expect(result(source, { map, text }, { budget: 10_000_000 })).toBe(true);
  });

  it.each<readonly [string, string]>([
    ["text that doubles", `${nest("x + x", 40, "'aaaaaaaaaa'")}.size()`],
    ["lists that double", `${nest("x + x", 40, "[1, 2, 3]")}.size()`],
    ["replacements that multiply", nest("x.replace('a', 'aaaaaaaaaa')", 12, "'a'")],
    ["joined lists", `${nest("[x, x, x, x].join(x)", 15, "'ab'")} == ''`],
    ["formatted lists", `'%s'.format([${nest("[x, x]", 40, "[1]")}])`],
    ["equal values that share their parts", `${nest("[x, x]", 60, "[1]")} == ${nest("[x, x]", 60, "[1]")}`],
    ["quotes of quotes", nest("strings.quote(x)", 60, "'\"'")],
  ])("stops %s", (_, source) => {
    expect(result(source, {}, { budget: 10_000_000 })).toBe(overLimit);
  });

  it("converts what is read in a loop once", () => {
    const many = Array.from({ length: 3000 }, () => 1.5);
    const given: Given = { types: { self: objectType("object", { many: listType(doubleType) }) } };
    expect(result("self.many.all(x, self.many[0] == x)", { self: { many } }, given)).toBe(true);
  });
});

/** A value of which each step makes the next, as nested binds. */
function nest(step: string, times: number, start: string): string {
  const name = (at: number): string => `x${at}`;
  let source = name(times);
  for (let at = times; at > 0; at--) {
    source = `cel.bind(${name(at)}, ${step.replaceAll(/\bx\b/g, name(at - 1))}, ${source})`;
  }
  return `cel.bind(x0, ${start}, ${source})`;
}

describe("attacks by names", () => {
  const hostile: unknown = JSON.parse('{"__proto__": {"admin": true}, "constructor": 1, "real": {}}');

  it.each<readonly [string, unknown]>([
    ["o.real.admin", "no such key: admin"],
    ["has(o.real.admin) || has(o.real.constructor) || has(o.real.__proto__)", false],
    ["o.real.toString", "no such key: toString"],
    ["o.real['__proto__']", "no such key: __proto__"],
    ["'__proto__' in o.real || 'hasOwnProperty' in o.real", false],
    ["o.__proto__.admin", true],
    ["o.constructor", 1],
    ["{'__proto__': 1}.__proto__", 1],
    ["{'__proto__': 1}.size()", 1],
    ["o.map(k, k).size()", 3],
    ["o == {'__proto__': {'admin': true}, 'constructor': 1, 'real': {}}", true],
    [
      "[1].constructor == null",
      "ERROR: <input>:1:4: type 'list(int)' does not support field selection\n | [1].constructor == null\n | ...^",
    ],
  ])("%s finds own members alone", (source, expected) => {
    const outcome = (): unknown => {
      try {
        return result(source, { o: hostile });
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(outcome()).toStrictEqual(expected);
  });

  it("hands back __proto__ as an ordinary key", () => {
    const value = result("{'__proto__': {'admin': true}}") as object;
    expect(Object.hasOwn(value, "__proto__")).toBe(true);
    expect("admin" in value).toBe(false);
  });

  it("does not let an object of JSON pose as another kind of value", () => {
    const posing = { kind: "double", value: 1, nanos: 1, entries: {}, equals: true, error: "x", celKind: "failure" };
    expect(result("type(o) == map && o.kind == 'double' && o.error == 'x'", { o: posing })).toBe(true);
  });

  it("finds no variable that the environment does not declare", () => {
    expect(() => result("constructor", {})).toThrow("undeclared reference to 'constructor' (in container '')");
    expect(() => result("toString()", {})).toThrow("undeclared reference to 'toString' (in container '')");
    expect(() => result("''.constructor()", {})).toThrow("undeclared reference to 'constructor' (in container '')");
  });
});
