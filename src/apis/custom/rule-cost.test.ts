import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../apimachinery/json-value.ts";
import { estimateCost } from "../../policy/cel-cost/estimate-cost.ts";
import { compileCel } from "../../policy/cel/compile.ts";
import { kubernetesFunctions } from "../../policy/kubernetes/compile-kubernetes-cel.ts";
import { ruleType } from "./rule-type.ts";
import { readStructural } from "./structural-schema.ts";

function costOf(schema: JsonObject, rule: string): number {
  const type = ruleType(readStructural(schema), { name: "selfType", isResource: false });
  if (type === undefined) throw new TypeError("no type");
  const program = compileCel(rule, { variables: { self: type.type }, functions: kubernetesFunctions });
  return estimateCost(program.ast);
}

const formats = ["duration", "date", "date-time", "byte"];

function scalar(type: string): JsonObject {
  if (type === "int-or-string") return { "x-kubernetes-int-or-string": true };
  return formats.includes(type) ? { type: "string", format: type } : { type };
}

function listOf(items: JsonObject, maxItems?: number): JsonObject {
  return { type: "array", items, ...(maxItems === undefined ? {} : { maxItems }) };
}

function mapOf(values: JsonObject, maxProperties?: number): JsonObject {
  return { type: "object", additionalProperties: values, ...(maxProperties === undefined ? {} : { maxProperties }) };
}

function text(maxLength?: number): JsonObject {
  return { type: "string", ...(maxLength === undefined ? {} : { maxLength }) };
}

const all = "self.all(x, true)";

// The numbers are those that Kubernetes expects of itself: apiextensions-apiserver schema/cel TestCostEstimation.
describe("the estimated cost of", () => {
  test.each([
    ["number", 4_718_591],
    ["string", 3_145_727],
    ["boolean", 1_887_437],
    ["int-or-string", 4_718_591],
    ["duration", 2_359_295],
    ["date", 725_936],
    ["date-time", 428_963],
  ])("a walk over a list of %s without bound", (type, cost) => {
    expect(costOf(listOf(scalar(type)), all)).toBe(cost);
    expect(costOf(listOf(scalar(type), 10), all)).toBe(32);
  });

  test.each([
    ["number", 1_348_169],
    ["string", 1_179_647],
    ["boolean", 943_718],
    ["int-or-string", 1_348_169],
    ["duration", 1_048_577],
    ["date", 524_288],
    ["date-time", 349_526],
  ])("a walk over a map of %s without bound", (type, cost) => {
    expect(costOf(mapOf(scalar(type)), all)).toBe(cost);
    expect(costOf(mapOf(scalar(type), 25), all)).toBe(77);
  });

  const object = {
    type: "object",
    properties: { required: text(), optional: text() },
    required: ["required"],
  };

  test.each([
    ["a list of lists", listOf(listOf(scalar("number"))), all, 3_145_727],
    ["a list of objects", listOf(object), all, 555_128],
    ["a map of objects", mapOf(object), all, 428_963],
    ["a map of maps", mapOf(mapOf(scalar("number"))), all, 1_179_647],
    ["a map of lists", mapOf(listOf(scalar("number"))), all, 1_179_647],
    ["a list of maps, one entry each", listOf(mapOf(scalar("number"))), "self.all(x, x.y == 25.2)", 6_291_452],
    ["a list longer than a request", listOf(scalar("number"), 3 * 1024 * 2048), "self.all(x, x == 0.0)", 25_165_826],
    ["a list, twice", listOf(scalar("number"), 10), "self.all(x, self.all(y, true))", 352],
    ["a list, thrice", listOf(scalar("number"), 10), "self.all(x, self.all(y, self.all(z, true)))", 3_552],
    ["a map with its values", mapOf(text(10), 10), "self.all(x, x.contains(self[x]))", 72],
  ])("a walk over %s", (_name, schema, rule, cost) => {
    expect(costOf(schema, rule)).toBe(cost);
  });

  test.each([
    ["self.contains('test')", 314_574, 10, 5],
    ["self.startsWith('test')", 2, 15, 2],
    ["self.endsWith('test')", 2, 30, 2],
    ['size(self + "hello") > size("hello")', 314_578, 4, 7],
    ['self.matches("x")', 314_574, 50, 22],
    ['"".matches("(((((((((())))))))))[0-9]")', 7, 10, 7],
    ['self.matches("")', 1, 100, 1],
    ['self == "x"', 2, 0, 1],
    ["self.find('[0-9]+') == ''", 629_147, 10, 11],
    ["self.lowerAscii() == 'lower!'", 314_575, 10, 6],
  ])("%s on a text is %i, and %4$i within bounds", (rule, unbounded, maxLength, bounded) => {
    expect(costOf(text(), rule)).toBe(unbounded);
    expect(costOf(text(maxLength), rule)).toBe(bounded);
  });

  test.each([
    ["number", "self[1] == 0.0", 2],
    ["string", "self[1] == self[1]", 314_577],
    ["int-or-string", "self[0] == 5", 3],
    ["boolean", "self[0] == false", 2],
    ["duration", "self[0].getHours() == 2", 4],
    ["date", "self[2].getDayOfMonth() == 13", 4],
    ["date-time", "self[2].getMinutes() == 45", 4],
  ])("an element of a list of %s in %s", (type, rule, cost) => {
    expect(costOf(listOf(scalar(type)), rule)).toBe(cost);
  });

  test("what the library of Kubernetes does with lists and texts", () => {
    expect(costOf(listOf(text()), "self.join(' ') == 'aa bb'")).toBe(329_853_068_905);
    expect(costOf(listOf(text(10), 10), "self.join(' ') == 'aa bb'")).toBe(43);
    expect(costOf(listOf(text()), "self.isSorted() == true")).toBe(329_854_432_052);
    expect(costOf(listOf(text(10), 10), "self.isSorted() == true")).toBe(52);
    const replaced = "self.str.replace(self.before, self.after) == 'does not matter'";
    const properties = (maxLength?: number): JsonObject => ({
      type: "object",
      properties: { str: text(maxLength), before: text(2), after: text(4) },
    });
    expect(costOf(properties(), replaced)).toBe(629_154);
    expect(costOf(properties(4), replaced)).toBe(12);
    const split = "self.str.split(self.separator) == []";
    const separated = (maxLength?: number): JsonObject => ({
      type: "object",
      properties: { str: text(maxLength), separator: text(maxLength) },
    });
    expect(costOf(separated(), split)).toBe(629_160);
    expect(costOf(separated(10), split)).toBe(22);
  });

  test.each([
    ["times", mapOf(scalar("date-time")), 'self["a"] == self["b"]', 8],
    ["durations", mapOf(scalar("duration")), 'self["c"] == self["d"]', 8],
    ["sizes", mapOf(scalar("integer")), "self.size() == self.size()", 5],
    ["a text of few values", { ...text(), enum: ["A", "B", "C", "LongValue"] }, "self.contains('A')", 2],
    ["a quantity or a number", scalar("int-or-string"), "isQuantity(self)", 314_574],
  ])("%s", (_name, schema, rule, cost) => {
    expect(costOf(schema, rule)).toBe(cost);
  });
});
