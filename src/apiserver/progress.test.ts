import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addWarning, warningHeaders } from "./progress.ts";

describe("Warning headers", () => {
  it("quote their text and come once each", () => {
    expect(warningHeaders(['unknown field "a\\b"', "x", "x"])).toEqual([
      String.raw`299 - "unknown field \"a\\b\""`,
      '299 - "x"',
    ]);
  });

  it("are cut to 256 characters each when all take more than 4096, and then end at 4096", () => {
    const many = warningHeaders(Array.from({ length: 40 }, (_, index) => `${index} ${"x".repeat(1000)}`));
    expect(many).toHaveLength(16);
    expect(new Set(many.map(({ length }) => length))).toEqual(new Set([256 + '299 - ""'.length]));
  });

  it("are at most 100, however short they are", () => {
    expect(warningHeaders(Array.from({ length: 1000 }, (_, index) => String(index)))).toHaveLength(100);
  });

  it("are kept no longer than they can be shown, however many a request gives reason for", () => {
    const texts: string[] = [];
    for (let index = 0; index < 10_000; index += 1) addWarning(texts, `${index} ${"x".repeat(10_000)}`);
    expect(texts).toHaveLength(100);
    expect(texts.reduce((sum, { length }) => sum + length, 0)).toBe(100 * 4097);
    expect(warningHeaders(texts)).toHaveLength(16);
  });

  it("hold nothing that a header may not, whatever the text", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" })), (texts) => {
        for (const header of warningHeaders(texts)) expect(header).toMatch(/^299 - "[\x20-\x7e]*"$/);
      }),
    );
  });
});
