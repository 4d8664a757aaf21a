import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { jsonText } from "./json-text.ts";
import { textTable } from "./text-table.ts";
import { yamlText } from "./yaml-text.ts";

const hostile = "a\u001b[31m\u009bb\u202ec\u007f\u200bd\u{e0041}\ne";

describe("textTable", () => {
  test("aligns columns and leaves no blanks at the end", () => {
    expect(
      textTable({
        headings: ["NAME", "AGE"],
        rows: [
          ["a-long-name", "1s"],
          ["b", ""],
        ],
      }),
    ).toBe("NAME          AGE\na-long-name   1s\nb\n");
  });

  test("keeps each row on its line and each cell in its column", () => {
    expect(textTable({ headings: ["A", "B"], rows: [["x\ny", "z   forged   cell"]] })).toBe(
      "A         B\nx\\u{a}y   z \\u{20}\\u{20}forged \\u{20}\\u{20}cell\n",
    );
  });

  test("prints headings where there are no rows", () => {
    expect(textTable({ headings: ["A", "B"], rows: [] })).toBe("A   B\n");
  });
});

describe("JSON and YAML", () => {
  test("hold nothing that a terminal could obey, and still the same value", () => {
    for (const [text, read] of [
      [jsonText({ hostile }), (one: string): unknown => JSON.parse(one)],
      [yamlText({ hostile }), parse],
    ] as const) {
      expect(text.replaceAll("\n", "")).toMatch(/^[ -~]+$/);
      expect(read(text)).toEqual({ hostile });
    }
  });

  test("keep every text, whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string(), (one, other) => {
        const value = { one, list: [other, one] };
        expect(JSON.parse(jsonText(value, 2))).toEqual(value);
        expect(parse(yamlText(value))).toEqual(value);
      }),
      { numRuns: 100 },
    );
  });

  test("in YAML, a text that looks like something else is quoted", () => {
    expect(yamlText({ a: "yes", b: "2026-11-21T00:00:00Z", c: "007", d: true })).toBe(
      'a: "yes"\nb: "2026-11-21T00:00:00Z"\nc: "007"\nd: true\n',
    );
  });
});
