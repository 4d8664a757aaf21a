import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { warningHeaders } from "./warnings.ts";

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

  it("hold nothing that a header may not, whatever the text", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" })), (texts) => {
        for (const header of warningHeaders(texts)) expect(header).toMatch(/^299 - "[\x20-\x7e]*"$/);
      }),
    );
  });
});
