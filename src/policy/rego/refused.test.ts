import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileRego, type RegoOutcome } from "./compile.ts";
import { tokenize } from "./lexer.ts";
import { usualLimits, type RegoLimits } from "./limits.ts";
import { parseModule } from "./parse-module.ts";
import { RegoError } from "./rego-error.ts";

function problemOf(text: string): string {
  try {
    compileRego([{ file: "p.rego", text }]);
    return "none";
  } catch (error) {
    if (error instanceof RegoError) return error.message;
    throw error;
  }
}

describe("what does not compile, with its place and in the words of OPA", () => {
  test.each([
    ["x := y", "p.rego:3:6: rego_unsafe_var_error: var y is unsafe"],
    ["x if not input.a[_] == 1", "p.rego:3:6: rego_unsafe_var_error: var _ is unsafe"],
    ["x if { y > 1 }", "p.rego:3:8: rego_unsafe_var_error: var y is unsafe"],
    ["x if { y := 1; y := 2 }", "p.rego:3:16: rego_compile_error: var y assigned above"],
    ["x if { y == 1; y := 1 }", "p.rego:3:16: rego_compile_error: var y referenced above"],
    ["x if { some y in [1]; some y in [2] }", "p.rego:3:28: rego_compile_error: var y declared above"],
    ["f(a) := 1 if { a := 1 }", "p.rego:3:16: rego_compile_error: arg a redeclared"],
    ["x := foo.bar(1)", "p.rego:3:6: rego_type_error: undefined function foo.bar"],
    ["x := http.send({})", "p.rego:3:6: rego_type_error: undefined function http.send"],
    ["x := count()", "p.rego:3:6: rego_type_error: function count has arity 1, got 0 arguments"],
    ["x := any([true])", "p.rego:3:6: rego_type_error: deprecated built-in function calls in expression: any"],
    [
      "a := b\nb := a",
      "p.rego:3:1: rego_recursion_error: rule data.p.a is recursive: data.p.a -> data.p.b -> data.p.a",
    ],
    ["f(a) := f(a)", "p.rego:3:1: rego_recursion_error: rule data.p.f is recursive: data.p.f -> data.p.f"],
    ["a if data.p[input.x]", "p.rego:3:1: rego_recursion_error: rule data.p.a is recursive: data.p.a -> data.p.a"],
    ["x if { some y; true }", "p.rego:3:8: rego_compile_error: declared var y unused"],
    ["x if { every y in [1] { true } }", "p.rego:3:8: rego_compile_error: declared var y unused"],
    ["x if { not y := 1 }", "p.rego:3:12: rego_compile_error: cannot assign vars inside negated expression"],
    ['x := $"{y.a}"', "p.rego:3:9: rego_compile_error: var y is undeclared"],
    ["x := 1\nx.y := 2", "p.rego:3:1: rego_type_error: rule data.p.x conflicts with: data.p.x.y"],
    ["f(input.a) := 1", "p.rego:3:3: rego_unsafe_var_error: var input is unsafe"],
    ["default x := input.a", "p.rego:3:14: rego_parse_error: illegal default rule (value cannot contain ref)"],
    ["x if { true; }", "p.rego:3:14: rego_parse_error: unexpected } token"],
    ["x if not not true", "p.rego:3:10: rego_parse_error: unexpected not keyword"],
    ["x := 1\nx contains 1", "p.rego:4:1: rego_type_error: conflicting rules data.p.x found"],
    ["default x := 1\ndefault x := 2", "p.rego:4:1: rego_type_error: multiple default rules data.p.x found"],
    ["input := 1", "p.rego:3:1: rego_compile_error: rules must not shadow input (use a different rule name)"],
    [
      "x if { input := 1 }",
      "p.rego:3:8: rego_compile_error: variables must not shadow input (use a different variable name)",
    ],
    ["x { true }", "p.rego:3:3: rego_parse_error: `if` keyword is required before rule body"],
  ])("%s", (rules, wanted) => {
    expect(problemOf(`package p\n${rules.startsWith("x {") ? "import rego.v1" : ""}\n${rules}\n`)).toBe(wanted);
  });

  test.each([
    'x := "a',
    "x := `a",
    "x := 1 +",
    "x := [1",
    "x := {1: }",
    "x := 08",
    "x := 1e99999",
    "x if {",
    "x := $",
    'x := "\\q"',
  ])("%s", (rules) => {
    expect(problemOf(`package p\n\n${rules}\n`)).toMatch(/^p\.rego:\d+:\d+: rego_parse_error: /);
  });
});

const words = [
  "package p\n",
  "x",
  "y",
  "if",
  "{",
  "}",
  "[",
  "]",
  "(",
  ")",
  ":=",
  "=",
  "==",
  "|",
  ",",
  ".",
  "not",
  "some",
  "in",
  "every",
  "with",
  "as",
  "contains",
  "else",
  "default",
  "import",
  "input",
  "data",
  "_",
  "1",
  '"a"',
  "`",
  "\n",
  "#",
  "-",
  "+",
  "count",
];

describe("attacks", () => {
  test("no text makes the lexer or parser throw anything but RegoError", () => {
    const onlyRego = (run: () => unknown): boolean => {
      try {
        run();
        return true;
      } catch (error) {
        return error instanceof RegoError;
      }
    };
    const program = fc
      .array(fc.constantFrom(...words), { maxLength: 40 })
      .map((parts) => `package p\n${parts.join(" ")}`);
    const checked = [
      fc.check(
        fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => onlyRego(() => tokenize(text, "f"))),
        { numRuns: 150 },
      ),
      fc.check(
        fc.property(program, (text) => onlyRego(() => parseModule(text, "f"))),
        { numRuns: 200 },
      ),
      fc.check(
        fc.property(program, (text) => onlyRego(() => compileRego([{ file: "f", text }]))),
        { numRuns: 200 },
      ),
    ];
    expect(checked.map(({ counterexample }) => counterexample)).toEqual([null, null, null]);
  });

  test.each([
    ["brackets", `x := ${"[".repeat(20_000)}`],
    ["parentheses", `x := ${"(".repeat(20_000)}1`],
    ["comprehensions that are none", `x := ${"[a | ".repeat(90)}b, c${", c]".repeat(90)}`],
    ["operators", `x := 1${" + 1".repeat(20_000)}`],
    ["negations", `x if ${"not ".repeat(20_000)}true`],
    ["references", `x := input${"[input".repeat(5_000)}`],
    ["templates", `x := ${'$"{'.repeat(5_000)}1${'}"'.repeat(5_000)}`],
  ])("deep %s are refused", (_name, rules) => {
    expect(problemOf(`package p\n\n${rules}\n`)).toMatch(/rego_parse_error|size/);
  });

  test("lists within lists are read without trying every way twice", () => {
    expect(problemOf(`package p\n\nx := ${"[".repeat(45)}${"]".repeat(45)}\n`)).toBe("none");
    expect(problemOf(`package p\n\nx := ${"{1: ".repeat(45)}1${"}".repeat(45)}\n`)).toBe("none");
  });

  test.each([
    ["bodies in braces", `x if ${"{ ".repeat(60)}true${" }".repeat(60)}`],
    ["bodies in braces as operands", `x if ${"{ ".repeat(40)}true${" } or false".repeat(40)}`],
    ["groups", `x if ${"(".repeat(40)}true${")".repeat(40)}`],
    ["groups as operands", `x if ${"(".repeat(40)}true${" or false)".repeat(40)}`],
    ["negated groups", `x if ${"not (".repeat(40)}true${")".repeat(40)}`],
    ["operators", `x if true${" or true and true".repeat(2_000)}`],
  ])("%s are read, or refused, in little time", (_name, rules) => {
    expect(problemOf(`package p\nimport rego.v2\n${rules}\n`)).toMatch(/none|rego_parse_error|size/);
  });

  test("a source beyond its size is refused before it is read", () => {
    expect(problemOf(`package p\n${" ".repeat(1_000_001)}`)).toMatch(/: size: /);
  });

  const few: RegoLimits = { steps: 20_000, room: 100_000, timeMs: 1_000 };
  const run = (rules: string, limits = few, now = (): number => 0): RegoOutcome =>
    compileRego([{ file: "p.rego", text: `package p\n\n${rules}\n` }]).prepare("data.p.x")({
      limits,
      now,
      input: { list: Array.from({ length: 100 }, (_none, at) => at), text: "x".repeat(64_000) },
    });
  const list = "input.list";

  test.each([
    [
      "iteration over everything four times",
      `x if { ${list}[a]; ${list}[b]; ${list}[c]; ${list}[d]; a + b + c + d == 1000 }`,
    ],
    [
      "values that double",
      `x := f40\nf0 := [1]\n${Array.from({ length: 40 }, (_none, at) => `f${at + 1} := [f${at}, f${at}]`).join("\n")}`,
    ],
    [
      "texts that double",
      `x := f40\nf0 := "ab"\n${Array.from({ length: 40 }, (_none, at) => `f${at + 1} := concat("", [f${at}, f${at}])`).join("\n")}`,
    ],
    ["all paths through a graph", `x := graph.reachable_paths({v: ${list} | some v in ${list}}, [1])`],
    [
      "a patch that grows",
      `x := json.patch([], [{"op": "add", "path": "/-", "value": ${list}} | ${list}[_]; ${list}[_]])`,
    ],
    ["a shift", "x := bits.lsh(1, 100000000)"],
    ["a number with a large exponent", "x := 1e4999 * 1e4999"],
    ["a long range", "x := numbers.range(0, 1000000000)"],
    ["a wide format", 'x := sprintf("%09999d", [1])'],
    [
      "replacement",
      `x := replace(replace(replace(concat("", [s | some _ in ${list}; s := "aaaaaaaa"]), "a", "aaaaaaaa"), "a", "aaaaaaaa"), "a", "aaaaaaaa")`,
    ],
    ["a pattern of repetitions", 'x := regex.match("((a{500}){500})", "a")'],
    ["keys of an object that are long", `x := {[input.text, a]: 1 | ${list}[a]}`],
    ["long keys that are looked up", `x := count([1 | o := {[input.text]: 1}; ${list}[a]; o[[input.text]] == 1])`],
    ["long keys of a rule", `x[[input.text, a]] := 1 if ${list}[a]`],
  ])("%s ends at a limit", (_name, rules) => {
    const outcome = run(rules);
    const ended = "error" in outcome ? outcome.error.code : outcome.value === undefined ? "no value" : "a value";
    expect(["eval_cancel_error", "no value"]).toContain(ended);
  });

  test("an evaluation ends when its time is over, by the clock that it is given", () => {
    let time = 0;
    const outcome = run(`x if { ${list}[a]; ${list}[b]; a + b == 1000 }`, usualLimits, () => (time += 600));
    expect("error" in outcome && outcome.error.text).toBe("the policy takes longer than it may");
  });

  test("an input nested beyond bounds is an error, not a crash", () => {
    let deep: unknown = 1;
    for (let at = 0; at < 10_000; at++) deep = [deep];
    const ask = compileRego([{ file: "p.rego", text: "package p\n\nx := 1\n" }]).prepare("data.p.x");
    expect(ask({ limits: few, now: () => 0, input: deep })).toHaveProperty("error.code", "eval_cancel_error");
  });
});
