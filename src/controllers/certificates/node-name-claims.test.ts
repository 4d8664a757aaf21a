import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { matchesNodePattern, nodePatternProblem } from "./node-name-claims.ts";

describe("a pattern of node names", () => {
  test.each<[string, string, boolean]>([
    ["node-1", "node-1", true],
    ["node-1", "node-10", false],
    ["node-1*", "node-10", true],
    ["node-1*", "node-1", false],
    ["node-*", "node-", false],
    ["*-db", "eu-db", true],
    ["*-db", "-db", false],
    ["*.edge", "a.edge", true],
    ["*.edge", "a-edge", false],
    ["*", "anything", true],
    ["edge-*", "xedge-1", false],
  ])("%s and node %s", (pattern, node, expected) => {
    expect(matchesNodePattern(pattern, node)).toBe(expected);
  });

  test.each<[string, string]>([
    ["", "must not be empty"],
    ["a*b", "must hold * only at its beginning or its end"],
    ["*a*", "must hold * only once"],
    ["**", "must hold * only once"],
    ["A*", "must hold only lower case letters, digits, - and . besides *"],
    ["a.+*", "must hold only lower case letters, digits, - and . besides *"],
    ["[a-z]*", "must hold only lower case letters, digits, - and . besides *"],
    [`${"a".repeat(253)}*`, "must be no more than 253 characters"],
  ])("%j is refused", (pattern, problem) => {
    expect(nodePatternProblem(pattern)).toBe(problem);
  });

  const name = fc.stringMatching(/^[a-z0-9]([a-z0-9.-]{0,8}[a-z0-9])?$/);

  test("without a star means one name and no other", () => {
    fc.assert(
      fc.property(name, name, (pattern, node) => {
        expect(matchesNodePattern(pattern, node)).toBe(pattern === node);
      }),
      { numRuns: 200 },
    );
  });

  test("with a star means what begins or ends so, and is longer", () => {
    fc.assert(
      fc.property(name, name, (fixed, more) => {
        expect(matchesNodePattern(`${fixed}*`, fixed + more)).toBe(true);
        expect(matchesNodePattern(`*${fixed}`, more + fixed)).toBe(true);
        expect(matchesNodePattern(`${fixed}*`, more)).toBe(more.startsWith(fixed) && more !== fixed);
        expect(matchesNodePattern(`*${fixed}`, more)).toBe(more.endsWith(fixed) && more !== fixed);
      }),
      { numRuns: 200 },
    );
  });
});
