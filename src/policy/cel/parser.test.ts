import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CelError } from "./cel-error.ts";
import { compileCel } from "./compile.ts";
import { parseCel } from "./parser.ts";

function codeOf(source: string): string {
  try {
    compileCel(source, { variables: {}, functions: [] });
    return "compiled";
  } catch (error) {
    if (error instanceof CelError) return error.code;
    throw error;
  }
}

const codes = ["compiled", "syntax", "type", "size"];

const words = [
  ...Array.from("()[]{}.,:?!-+*/%<>\"'`\\\n\t $@é😁09axu_"),
  "&&",
  "||",
  "==",
  "in",
  "true",
  "null",
  "1.5",
  "0x",
  "1u",
  '"""',
  "r'",
  'b"',
  "\\u",
  "has(",
  ".all(x,",
  ".map(",
  "cel.bind(",
  "//",
];

const anyText = fc.array(fc.integer({ min: 0, max: 0x10ffff })).map((points) => String.fromCodePoint(...points));

describe("any text", () => {
  it("is read or refused, and nothing else happens", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(codes).toContain(codeOf(text));
      }),
      {
        numRuns: 100,
      },
    );
  });

  it("made of the language's own words is read or refused", () => {
    const text = fc.array(fc.constantFrom(...words), { maxLength: 40 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, (source) => {
        expect(codes).toContain(codeOf(source));
      }),
      { numRuns: 200 },
    );
  });
});

describe("attacks by size", () => {
  it.each<readonly [string, string]>([
    ["parentheses", "(".repeat(50_000)],
    ["lists", "[".repeat(50_000)],
    ["maps", "{1:".repeat(30_000)],
    ["indexes", `a${"[a".repeat(40_000)}`],
    ["selections", `a${".a".repeat(40_000)}`],
    ["calls", `a${".a()".repeat(20_000)}`],
    ["sums", `1${"+1".repeat(40_000)}`],
    ["conditions", "a?b:".repeat(20_000)],
    ["macros", "[1].all(x,".repeat(9_000)],
    ["a text longer than any rule", "a".repeat(100_001)],
  ])("refuses %s that nest or go on too long", (_, source) => {
    expect(codeOf(source)).toBe("size");
  });

  it("takes long chains of conditions and long lists, which do not nest", () => {
    expect(codeOf(`true${" && true".repeat(10_000)}`)).toBe("compiled");
    expect(codeOf(`[${"1,".repeat(40_000)}]`)).toBe("compiled");
  });

  it("refuses types that double at each step, and takes many empty lists, quickly", () => {
    const doubled = Array.from({ length: 40 }, (_, at) => `cel.bind(x${at + 1}, {x${at}: x${at}}, `).join("");
    expect(codeOf(`cel.bind(x0, dyn(1), ${doubled}x40${")".repeat(41)}`)).toBe("size");
    expect(codeOf(`[${"[]==[],".repeat(10_000)}]`)).toBe("compiled");
  });

  it("takes signs without end as what they come to", () => {
    expect(codeOf(`${"!".repeat(50_000)}true`)).toBe("compiled");
  });

  it("refuses a number of many digits and takes a long text", () => {
    expect(codeOf("9".repeat(90_000))).toBe("syntax");
    expect(codeOf(`"${"x".repeat(90_000)}"`)).toBe("compiled");
  });
});

describe("places", () => {
  it("counts lines and columns by characters, not by units of UTF-16", () => {
    expect(() => compileCel("'😁' +\n  ''.foo", { variables: {}, functions: [] })).toThrow(
      "ERROR: <input>:2:5: type 'string' does not support field selection\n |   ''.foo\n | ....^",
    );
    expect(() => compileCel("'😁'.foo", { variables: {}, functions: [] })).toThrow("ERROR: <input>:1:4: ");
  });

  it("gives every node an identity of its own", () => {
    expect(parseCel("a.b + [1, 2].map(x, x)[0]").nodeCount).toBeGreaterThan(8);
  });
});
