import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { jsonText, printable } from "./printable.ts";
import { textTable } from "./output.ts";
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

/** Any code points, halves of surrogate pairs too; half of them from the first page, where the controls are. */
const anyText = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 255 }), fc.integer({ min: 0, max: 0x10_ffff })))
  .map((points) => String.fromCodePoint(...points));

describe("printable", () => {
  const cases: Readonly<Record<string, readonly [string, string]>> = {
    "leaves letters, digits, marks and blanks alone": ["Größe 5, 東京: a_b (c)", "Größe 5, 東京: a_b (c)"],
    "shows an escape sequence instead of sending it": ["a\u001b[31mb", "a\\u{1b}[31mb"],
    "shows an operating system command": ["\u001b]0;title\u0007", "\\u{1b}]0;title\\u{7}"],
    "shows a line break and a carriage return": ["a\nb\rc", "a\\u{a}b\\u{d}c"],
    "shows C1 controls, which some terminals obey": ["a\u009b31mb", "a\\u{9b}31mb"],
    "shows marks that turn the direction of reading": ["a\u202eb\u2066c", "a\\u{202e}b\\u{2066}c"],
    "shows line and paragraph separators": ["a\u2028b\u2029c", "a\\u{2028}b\\u{2029}c"],
    "shows characters that cannot be seen": [
      "a\u200bb\u00adc\ufeffd\u3164e",
      "a\\u{200b}b\\u{ad}c\\u{feff}d\\u{3164}e",
    ],
    "shows blanks that are not the blank": ["a\u00a0b\u3000c", "a\\u{a0}b\\u{3000}c"],
    "shows blanks at the end, and leaves those at the beginning": ["  a b  ", "  a b\\u{20}\\u{20}"],
    "shows half of a surrogate pair": ["a\ud800b", "a\\u{d800}b"],
    "shows tag characters beyond the basic plane": ["a\u{e0041}b", "a\\u{e0041}b"],
    "doubles a backslash, so that an escape cannot be faked": ["\\u{1b}", "\\\\u{1b}"],
  };
  test.each(Object.entries(cases))("%s", (_title, [text, expected]) => {
    expect(printable(text)).toBe(expected);
  });

  test("lets nothing through that a terminal could obey, whatever the text", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(printable(text)).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
      }),
      { numRuns: 200 },
    );
  });

  test("gives different texts different forms", () => {
    fc.assert(
      fc.property(anyText, anyText, (one, other) => {
        expect(printable(one) === printable(other)).toBe(one === other);
      }),
      { numRuns: 200 },
    );
  });
});
