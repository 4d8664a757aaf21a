import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { quoted } from "./quoted.ts";

describe("quoted", () => {
  it.each([
    ["", '""'],
    ["ann", '"ann"'],
    ["grün 日本 🙂 <b>&", '"grün 日本 🙂 <b>&"'],
    ['a"b\\c', '"a\\"b\\\\c"'],
    ["\u0007\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'],
    ["\u0000\u001b\u007f", '"\\x00\\x1b\\x7f"'],
    ["\u0080\u00a0\u00ad\u200b\u2028\ufeff", '"\\u0080\\u00a0\\u00ad\\u200b\\u2028\\ufeff"'],
    ["\ue000\u{e0001}", '"\\ue000\\U000e0001"'],
    ["a\ud800b", '"a\ufffdb"'],
  ])("shows %j as Go does", (text, shown) => {
    expect(quoted(text)).toBe(shown);
  });

  it("shows texts that differ differently, without anything that cannot be seen", () => {
    const text = fc.string({ unit: "binary" });
    const run = (one: string, other: string): void => {
      expect(quoted(one) === quoted(other)).toBe(one === other);
      expect(quoted(one)).toMatch(/^"[\p{L}\p{M}\p{N}\p{P}\p{S} ]*"$/u);
    };
    fc.assert(fc.property(text, text, run), { numRuns: 200 });
  });

  it("shows plain texts as JSON does", () => {
    const plain = fc.stringMatching(/^[ -~]*$/);
    const run = (text: string): void => {
      expect(quoted(text)).toBe(JSON.stringify(text));
    };
    fc.assert(fc.property(plain, run), { numRuns: 100 });
  });
});
