import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { builtins, deprecatedBuiltins } from "./builtins.ts";
import { compileRego } from "./compile.ts";
import { toJsonText } from "./json.ts";
import { usualLimits } from "./limits.ts";

const page = resolve(import.meta.dirname, "../../../docs/rego-builtins.md");
const operators = new Set([
  "and",
  "div",
  "equal",
  "gt",
  "gte",
  "internal.member_2",
  "internal.member_3",
  "internal.template_string",
  "lt",
  "lte",
  "minus",
  "mul",
  "neq",
  "or",
  "plus",
  "rem",
]);

function builtinDocs(): string {
  const names = builtins.map(({ name }) => name).filter((name) => !operators.has(name));
  const rows = builtins
    .filter(({ name }) => names.includes(name))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, operands }) => {
      const shown = operands.map((operand) => operand.replaceAll("|", " or ")).join(", ");
      return `| \`${name}\` | ${shown} | ${deprecatedBuiltins.has(name) ? "v0 only" : ""} |`;
    });
  return `# Built-in functions of Rego

What policies may call, besides the operators; see [policies](policy.md). Every other function is a compile error.

| function | operands |  |
| --- | --- | --- |
${rows.join("\n")}
`;
}

test("docs/rego-builtins.md lists the functions that are there", async () => {
  // A page that is missing would be written and pass.
  expect(existsSync(page)).toBe(true);
  expect(new Set(builtins.map(({ name }) => name)).size).toBe(builtins.length);
  await expect(builtinDocs()).toMatchFileSnapshot(page);
});

/** The value of an expression in v1, or in v0 where `v0` is said. */
function valueOf(expression: string, version: "v0" | "v1" = "v1"): string {
  const text = version === "v1" ? `package p\n\nx := ${expression}\n` : `package p\n\nx = y { y := ${expression} }\n`;
  const ask = compileRego([{ file: "p.rego", text }]).prepare("data.p.x");
  const outcome = ask({ limits: usualLimits, now: () => 1_700_000_000_000 });
  if ("error" in outcome) return outcome.error.message;
  return outcome.value === undefined ? "undefined" : toJsonText(outcome.value);
}

describe("built-in functions", () => {
  test.each([
    ["count({1, 2, 2})", "2"],
    ["bits.and(12, 10)", "8"],
    ["bits.lsh(1, 70)", "1180591620717411303424"],
    ["bits.lsh(1, -1)", "undefined"],
    ['graph.reachable({"a": ["b"], "b": ["a"], "c": []}, ["a"])', '["a","b"]'],
    ['graph.reachable_paths({"a": ["b", "c"], "b": ["a"], "c": []}, ["a"])', '[["a","b"],["a","c"]]'],
    ['semver.compare("1.2.3-rc.2", "v1.2.3-rc.10")', "-1"],
    ['semver.compare("1.2", "1.2.3")', "undefined"],
    ['semver.is_valid("01.2.3")', "false"],
    ['strings.split_n("a:b:c", ":", -2)', '["b","c"]'],
    ['strings.replace_n({"": "-", "a": "b"}, "ac")', '"-b-c-"'],
    ['net.cidr_contains_matches(["10.0.0.0/8"], {"10.1.1.1", "11.0.0.0"})', '[[0,"10.1.1.1"]]'],
    ['json.patch({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}])', '{"a":[1,2]}'],
    ['json.patch({"a": 1}, [{"op": "remove", "path": "/b"}])', "undefined"],
    ['json.remove({"a": [{"b": 1, "c": 2}, 3]}, ["a/0/b", "a/1"])', '{"a":[{"c":2}]}'],
    ['json.unmarshal("[12345678901234567890, 1e2]")', "[12345678901234567890,100]"],
    ['json.marshal("<a&b>")', '"\\"\\\\u003ca\\\\u0026b\\\\u003e\\""'],
    ['time.date([1517814000000000000, "America/Los_Angeles"])', "[2018,2,4]"],
    ['time.date([0, "+05:00"])', "undefined"],
    ["time.add_date(1706659200000000000, 0, 1, 0)", "1709337600000000000"],
    ["time.diff(1709337600000000000, 1706659200000000000)", "[0,1,2,0,0,0]"],
    ['$"{1} {"a"} {[1, "b"]} {data.none}"', '"1 a [1, \\"b\\"] <undefined>"'],
    ["$`{1 + 1}\\{`", '"2{"'],
    ['$"{$"{1}"}"', '"1"'],
    ["-count([1])", "-1"],
    ["1e3 == 1000", "true"],
    ['count("é😀")', "2"],
    ["sum([1, 2.5])", "3.5"],
    ["product([2, 3])", "6"],
    ["max([])", "undefined"],
    ["min({3, 1})", "1"],
    ["sort([3, 1, 2])", "[1,2,3]"],
    ['sort(["b", 1, null, true, [], {}])', '[null,true,1,"b",[],{}]'],
    ["7 % 4", "3"],
    ["1.5 % 1", "undefined"],
    ["10 / 4", "2.5"],
    ["round(-2.5)", "-3"],
    ["numbers.range(3, 1)", "[3,2,1]"],
    ["array.concat([1], [2])", "[1,2]"],
    ["array.slice([1, 2, 3], 1, 9)", "[2,3]"],
    ["union({{1}, {2}})", "[1,2]"],
    ["intersection({{1, 2}, {2}})", "[2]"],
    ['object.get({"a": {"b": 1}}, ["a", "b"], 0)', "1"],
    ['object.get({"a": 1}, "z", "none")', '"none"'],
    ['object.union({"a": {"b": 1}}, {"a": {"c": 2}})', '{"a":{"b":1,"c":2}}'],
    ['object.remove({"a": 1, "b": 2}, ["a"])', '{"b":2}'],
    ['object.keys({"b": 1, "a": 2})', '["a","b"]'],
    ['object.filter({"a": 1, "b": 2}, {"a"})', '{"a":1}'],
    ['json.filter({"a": {"b": 1, "c": 2}}, ["a/b"])', '{"a":{"b":1}}'],
    ['json.unmarshal("{\\"a\\": [1]}")', '{"a":[1]}'],
    ['json.unmarshal("{")', "undefined"],
    ["json.marshal({2, 1})", '"[1,2]"'],
    ['base64.decode(base64.encode("é"))', '"é"'],
    ['base64url.decode("8J-YgA")', '"😀"'],
    ['concat("/", ["a", "b"])', '"a/b"'],
    ['contains("abc", "bc")', "true"],
    ['indexof("é😀b", "b")', "2"],
    ["format_int(255, 16)", '"ff"'],
    ['lower("ABC")', '"abc"'],
    ['replace("a.b.c", ".", "$&")', '"a$&b$&c"'],
    ['split("a,b", ",")', '["a","b"]'],
    ['sprintf("%s has %d of %v, %.2f%%", ["a", 3, {"k": [1]}, 0.5])', '"a has 3 of {\\"k\\": [1]}, 0.50%"'],
    ['sprintf("%d", [])', '"%!d(MISSING)"'],
    ['substring("abcdef", 2, 3)', '"cde"'],
    ['trim("xxaxx", "x")', '"a"'],
    ['trim_prefix("system:node:a", "system:node:")', '"a"'],
    ['trim_suffix("a.b", ".b")', '"a"'],
    ['trim_space(" a ")', '"a"'],
    ['strings.any_prefix_match(["system:a"], ["kube:", "system:"])', "true"],
    ['regex.match("^team-[a-z]+$", "team-red")', "true"],
    ['regex.match("^(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")', "false"],
    ['regex.match("(", "a")', "undefined"],
    ['regex.is_valid("(")', "false"],
    ['regex.split("-+", "a--b-c")', '["a","b","c"]'],
    ['regex.find_n("[0-9]", "a1b2", 1)', '["1"]'],
    ['regex.replace("a1b2", "([0-9])", "<$1>")', '"a<1>b<2>"'],
    ['glob.match("*.example.com", [], "a.example.com")', "true"],
    ['glob.match("*.example.com", [], "a.b.example.com")', "false"],
    ['glob.match("**.example.com", [], "a.b.example.com")', "true"],
    ['glob.match("team:{red,blue}:[a-c]?", [":"], "team:blue:bx")', "true"],
    ['glob.match("*:*", null, "a.b:c")', "true"],
    ["time.now_ns()", "1700000000000000000"],
    ['time.parse_rfc3339_ns("2023-11-14T22:13:20.5Z")', "1700000000500000000"],
    ['time.parse_rfc3339_ns("2023-02-30T00:00:00Z")', "undefined"],
    ["time.weekday(1700000000000000000)", '"Tuesday"'],
    ['net.cidr_contains("10.0.0.0/8", "10.2.3.4")', "true"],
    ['net.cidr_contains("10.0.0.0/8", "10.2.0.0/16")', "true"],
    ['net.cidr_contains("10.0.0.0/8", "x")', "undefined"],
    ['to_number("1.5")', "1.5"],
    ["type_name(set())", '"set"'],
    ["is_string(1)", "false"],
  ])("%s is %s", (expression, wanted) => {
    expect(valueOf(expression)).toBe(wanted);
  });

  test.each([
    ["any([false, true])", "true"],
    ["all({true, false})", "false"],
    ['re_match("b", "abc")', "true"],
  ])("of v0: %s is %s", (expression, wanted) => {
    expect(valueOf(expression, "v0")).toBe(wanted);
  });

  test.each([
    ['regex.find_n("x*y|x", TEXT, -1)'],
    ['regex.find_all_string_submatch_n("x*?(y)|x", TEXT, -1)'],
    ['regex.split("x*y|x", TEXT)'],
    ['regex.replace(TEXT, "x*y|x", "")'],
  ])("%s pays for each search that reads to the end of the text", (expression) => {
    const text = JSON.stringify("x".repeat(20_000));
    expect(valueOf(expression.replace("TEXT", text))).toContain("more steps than it may");
  });

  test("the places of a letter are found in one reading of the text", () => {
    expect(valueOf(`count(indexof_n("${"x".repeat(200_000)}", "x"))`)).toBe("200000");
    expect(valueOf('indexof_n("é😀b😀bb", "b")')).toBe("[2,4,5]");
    expect(valueOf('indexof_n("😀aaa", "aa")')).toBe("[1,2]");
  });

  test("print says nothing, and needs no value", () => {
    const text = 'package p\n\nx if { print("a", input.nothing); true }\n';
    const ask = compileRego([{ file: "p.rego", text }]).prepare("data.p.x");
    expect(ask({ limits: usualLimits, now: () => 0 })).toEqual({ value: true });
  });
});
