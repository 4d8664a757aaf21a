import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { boolType, intType, listType, mapType, stringType, type CelType } from "../cel/types.ts";
import { compileKubernetesCel } from "../kubernetes/compile-kubernetes-cel.ts";
import { estimateCost } from "./estimate-cost.ts";

const variables: Readonly<Record<string, CelType>> = {
  bounded: { kind: "string", maxSize: 10 },
  nothing: { kind: "string", maxSize: 0 },
  endless: stringType,
  count: intType,
  flag: boolType,
  words: listType(stringType, 5),
  none: listType(stringType, 0),
  all: listType(stringType),
  map: mapType(stringType, stringType, 5),
};

function costOf(source: string): number {
  return estimateCost(compileKubernetesCel(source, variables).ast);
}

/** Expressions that are strings, and those that are true or false, of any depth. */
const expressions = fc.letrec<{ text: string; list: string; truth: string }>((tie) => ({
  text: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom("bounded", "nothing", "endless", "'literal'", "''", "words[0]", "map['k']"),
    fc.tuple(tie("text"), tie("text")).map(([one, other]) => `(${one} + ${other})`),
    fc.tuple(tie("truth"), tie("text"), tie("text")).map(([if_, one, other]) => `(${if_} ? ${one} : ${other})`),
    fc.tuple(tie("text"), tie("text"), tie("text")).map((parts) => `${parts[0]}.replace(${parts[1]}, ${parts[2]})`),
    fc.tuple(tie("list"), tie("text")).map(([list, by]) => `${list}.join(${by})`),
    tie("text").map((one) => `${one}.lowerAscii()`),
    tie("text").map((one) => `'%s'.format([${one}])`),
  ),
  list: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom("words", "none", "all", "['a', 'b']"),
    fc.tuple(tie("text"), tie("text")).map(([one, by]) => `${one}.split(${by})`),
    fc.tuple(tie("list"), tie("list")).map(([one, other]) => `(${one} + ${other})`),
    fc.tuple(tie("list"), tie("text")).map(([one, made]) => `${one}.map(x, x + ${made})`),
    fc.tuple(tie("list"), tie("truth")).map(([one, kept]) => `${one}.filter(x, ${kept})`),
    tie("list").map((one) => `${one}.distinct()`),
  ),
  truth: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom("flag", "true"),
    fc.tuple(tie("text"), tie("text")).map(([one, other]) => `${one}.contains(${other})`),
    fc.tuple(tie("text"), tie("text")).map(([one, other]) => `${one}.matches(${other})`),
    fc.tuple(tie("text"), tie("list")).map(([one, list]) => `${one} in ${list}`),
    fc.tuple(tie("list"), tie("truth")).map(([one, each]) => `${one}.all(y, ${each})`),
    fc.tuple(tie("list"), tie("list")).map(([one, other]) => `sets.contains(${one}, ${other})`),
    fc.tuple(tie("truth"), tie("truth")).map(([one, other]) => `(${one} && ${other})`),
    tie("list").map((one) => `${one}.isSorted()`),
  ),
}));

describe("the estimate", () => {
  test("is a number, at least as large as that of each part", () => {
    fc.assert(
      fc.property(expressions.truth, (source) => {
        const cost = costOf(source);
        expect(cost).toBeGreaterThanOrEqual(0);
        expect(costOf(`${source} && flag`)).toBeGreaterThanOrEqual(cost);
        expect(costOf(`words.all(z, ${source})`)).toBeGreaterThanOrEqual(cost);
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    "sets.contains([], all)",
    "sets.contains(none, all)",
    "none.join(endless) == ''",
    "''.replace(endless, endless) == ''",
    "endless.replace(nothing, '') == ''",
    "none.all(x, all.all(y, y.matches(x)))",
    "''.matches('' + endless)",
  ])("of %s is a number, though a part is endless and another nothing", (source) => {
    expect(costOf(source)).not.toBeNaN();
  });

  test("of a range is not less for one below zero", () => {
    const costly = "all.all(x, all.all(y, x == y))";
    expect(costOf("lists.range(-1000000).size() == 0")).toBeGreaterThan(0);
    expect(costOf(`lists.range(-1000000000).size() == 0 && ${costly}`)).toBe(Infinity);
    expect(costOf("bounded.split(',', -1000000).size() == 0")).toBeGreaterThan(0);
  });

  test("of what nothing bounds is infinite, and of what reaches nothing is not", () => {
    expect(costOf("all.all(x, all.all(y, x == y))")).toBe(Infinity);
    expect(costOf("none.all(x, all.all(y, x == y))")).toBeLessThan(10);
  });
});
