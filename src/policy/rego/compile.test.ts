import { describe, expect, test } from "vitest";
import { compileRego, type RegoQuestion } from "./compile.ts";
import { toJsonText } from "./json.ts";
import { usualLimits } from "./limits.ts";

const v1 = (body: string): string => `package p\n\n${body}\n`;

/** What `data.p.x` is, as JSON, `undefined`, or the error. */
function valueOf(text: string, question: Partial<RegoQuestion> = {}): string {
  const ask = compileRego([{ file: "p.rego", text }]).prepare("data.p.x");
  const outcome = ask({ limits: usualLimits, now: () => 1_700_000_000_000, ...question });
  if ("error" in outcome) return outcome.error.message;
  return outcome.value === undefined ? "undefined" : toJsonText(outcome.value);
}

const input = { a: [1, 2, 3], o: { k: "v", n: 1 }, groups: ["admin", "dev"], user: "jane" };

describe("what rules are worth", () => {
  test.each([
    ["a complete rule", "x := 1", "1"],
    ["a default", "default x := false\n\nx if input.nothing", "false"],
    ["a rule that does not hold", "x if input.nothing", "undefined"],
    ["else, in order", 'x := "a" if input.user == "joe" else := "b" if input.user == "jane" else := "c"', '"b"'],
    ["a partial set, in order", "x contains n if some n in input.a", "[1,2,3]"],
    ["a partial object", "x[k] := v if some k, v in input.o", '{"k":"v","n":1}'],
    ["a head of several parts", 'x.a.b := 1\nx.a[k] := 2 if some k in ["c", "d"]', '{"a":{"b":1,"c":2,"d":2}}'],
    ["a head with a set at its end", "x[k] contains v if some k, v in input.o", '{"k":["v"],"n":[1]}'],
    ["a function", "f(a, b) := a + b\nx := f(1, 2)", "3"],
    ["a function of patterns", 'f("a") := 1\nf([b, _]) := b\nx := [f("a"), f([2, 3])]', "[1,2]"],
    ["a function with else", "f(a) := 1 if a > 5 else := 2\nx := [f(6), f(1)]", "[1,2]"],
    ["iteration", "x := [v | v := input.a[_]]", "[1,2,3]"],
    ["iteration with its keys", "x := {k: v | v := input.o[k]}", '{"k":"v","n":1}'],
    ["a join", "x := [i | input.a[i] == input.o.n]", "[0]"],
    ["every that holds", "x if every v in input.a { v > 0 }", "true"],
    ["every that does not", "x if every v in input.a { v > 1 }", "undefined"],
    ["every of nothing", "x if every v in [] { v > 1 }", "true"],
    ["unification both ways", "x := [a, b] if [a, 2] = [1, b]", "[1,2]"],
    ["unification with an object", 'x := v if input.o = {"k": v, "n": 1}', '"v"'],
    [
      "expressions in an order that does not work",
      "x := b if { b == a + 1; a := 1; b = 2 }".replace("a := 1; ", "a = 1; "),
      "2",
    ],
    ["membership", 'x if { "admin" in input.groups; not "root" in input.groups }', "true"],
    ["membership with a key", 'x if "k", "v" in input.o', "true"],
    ["set operators", "x := ({1, 2, 3} & {2, 3, 4}) | ({5} - {5})", "[2,3]"],
    ["precedence", "x := 1 + 2 * 3 - 4 / 2", "5"],
    ["integers beyond 2^53", "x := 9007199254740993 + 1", "9007199254740994"],
    ["raw strings", "x := `a\\n`", '"a\\\\n"'],
    ["with on input", 'y := input.user\nx := r if r = y with input.user as "joe"', '"joe"'],
    ["with from a variable", 'y := input.user\nx := r if { n = "joe"; r = y with input.user as n }', '"joe"'],
    ["with on data", "y := data.other.z\nx := r if r = y with data.other.z as 7", "7"],
    ["with on a built-in function", "f(_) := 7\ny := count([])\nx := r if r = y with count as f", "7"],
    ["with on a function of ours", "f(_) := 7\ng(a) := a\nx := r if r = g(1) with g as f", "7"],
    ["a package as a whole", "y := 1\nz := 2\nf(a) := a\nx := data.p.sub", "undefined"],
    ["walk", 'x := [p | walk({"a": [1]}, [p, 1])]', '[["a",0]]'],
    ["an output argument", "x := n if count([1, 2], n)", "2"],
    ["null and false", "x := [null, false]", "[null,false]"],
    ["a keyword as the name of a member", 'x := {"if": 1, "in": 2}.if', "1"],
    [
      "keys that mean something to JavaScript",
      'x := {"__proto__": 1, "constructor": 2}',
      '{"__proto__":1,"constructor":2}',
    ],
  ])("%s", (_name, rules, wanted) => {
    expect(valueOf(v1(rules), { input })).toBe(wanted);
  });

  test("a key __proto__ of the input is a member and nothing else", () => {
    const hostile: unknown = JSON.parse('{"__proto__": {"user": "root"}, "user": "jane"}');
    expect(valueOf(v1("x := [input.user, input.__proto__.user]"), { input: hostile })).toBe('["jane","root"]');
    expect(valueOf(v1("x := input.toString"), { input: {} })).toBe("undefined");
  });
});

describe("negation", () => {
  test.each([
    ["a comparison with what is not there", 'x if not input.nothing == "a"', "true"],
    ["a reference that is not there", "x if not input.nothing.below", "true"],
    ["a function of what is not there has no value, as in OPA", 'x if not startswith(input.nothing, "a")', "undefined"],
    ["a nested function of what is not there", 'x if not lower(input.nothing) == "a"', "undefined"],
    ["a difference from what is not there", 'x if not input.nothing != "a"', "undefined"],
    ["membership of what is not there", 'x if not input.nothing in ["a"]', "undefined"],
    ["a key that is not there", "x if not input.o[input.nothing]", "undefined"],
    ["something within a list that is not there", "x if not [input.nothing] == [1]", "undefined"],
    ["a comprehension", "x if not {y | y := input.nothing[_]}[3]", "true"],
  ])("of %s", (_name, rules, wanted) => {
    expect(valueOf(v1(rules), { input })).toBe(wanted);
  });
});

describe("built-in functions that fail", () => {
  test("have no value, or end the evaluation where that is asked for", () => {
    expect(valueOf(v1("x := 1 / 0"))).toBe("undefined");
    expect(valueOf(v1("x := 1 / 0"), { isStrict: true })).toBe("p.rego:3:6: eval_builtin_error: div: divide by zero");
    expect(valueOf(v1("x := lower(input)"), { input: 1, isStrict: true })).toBe(
      "p.rego:3:6: eval_type_error: lower: operand 1 must be string but got number",
    );
  });
});

describe("what contradicts itself at run time", () => {
  test.each([
    [
      "two values of a rule",
      "x := 1 if input.user\nx := 2 if input.a",
      /eval_conflict_error: complete rules must not produce multiple outputs/,
    ],
    [
      "two values of a function",
      "f(a) := 1\nf(a) := 2 if a\nx := f(1)",
      /eval_conflict_error: functions must not produce multiple outputs/,
    ],
    [
      "two values of a member",
      'x[k] := v if { some v in input.a; k := "k" }',
      /eval_conflict_error: .*object keys must be unique/,
    ],
    [
      "two values in a comprehension",
      'x := {"k": v | some v in input.a}',
      /eval_conflict_error: object keys must be unique/,
    ],
  ])("%s", (_name, rules, wanted) => {
    expect(valueOf(v1(rules), { input })).toMatch(wanted);
  });
});

describe("newer syntax", () => {
  const v2 = (body: string): string => `package p\n\nimport rego.v2\n\nx if { ${body} }\n`;

  test.each([
    ["or", "input.none or input.user", "true"],
    ["and before or", "false and true or input.user", "true"],
    ["parentheses", "false and (true or input.user)", "undefined"],
    ["bodies as operands, with variables of their own", "y := 1; { y := 2; y > 1 } and y == 1", "true"],
    ["not with a body", "not { some v in input.a; v > 100 }", "true"],
    ["not of what has no value", "not count(input.none) > 0", "true"],
    ["not of a group", "not (input.none or input.user)", "undefined"],
    ["with over all operands", "input.none == 1 or false with input.none as 1", "true"],
    ["and as a function", "and({1, 2}, {2}) == {2}", "true"],
  ])("%s", (_name, body, wanted) => {
    expect(valueOf(v2(body), { input })).toBe(wanted);
  });

  test("without the import, operands that have no value leave a negation without one", () => {
    expect(valueOf("package p\n\nx if not count(input.none) > 0\n", { input })).toBe("undefined");
    expect(() => valueOf("package p\n\nx if input.none or input.user\n")).toThrow(/rego_parse_error/);
  });

  test("keywords may be parts of references, and begin one where a rule or an expression begins", () => {
    const text = "package p\n\nif.not := 1\n\nx := y if {\n\tif.not == 1\n\ty := data.p.if.not + 1\n}\n";
    expect(valueOf(text)).toBe("2");
    expect(() => valueOf("package p\n\nimport rego.v1\nimport data.a.if\n\nx := 1\n")).toThrow(
      /must not end with a keyword/,
    );
  });
});

describe("Rego v0", () => {
  test.each([
    ["rules without if", "package p\n\nx { input.user }", "true"],
    ["sets in brackets", "package p\n\nx[v] { v := input.a[_] }", "[1,2,3]"],
    ["objects in brackets", "package p\n\nx[k] = v { v := input.o[k] }", '{"k":"v","n":1}'],
    ["several bodies", "package p\n\nx { false } { true }", "true"],
    ["else", "package p\n\nx = 1 { false } else = 2 { true }", "2"],
    ["one keyword of the future", 'package p\n\nimport future.keywords.in\n\nx { "admin" in input.groups }', "true"],
    ["all of them", "package p\n\nimport future.keywords\n\nx if { every v in input.a { v > 0 } }", "true"],
    ["functions that v1 has no more", "package p\n\nx { any([false, true]); re_match(`^j`, input.user) }", "true"],
  ])("knows %s", (_name, text, wanted) => {
    expect(valueOf(text, { input })).toBe(wanted);
  });

  test("is what v1 refuses when rego.v1 is imported", () => {
    expect(() => valueOf("package p\n\nimport rego.v1\n\nx { true }")).toThrow(
      /`if` keyword is required before rule body/,
    );
  });
});
