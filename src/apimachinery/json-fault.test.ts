import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonFault } from "./json-fault.ts";

describe("why text is not JSON", () => {
  it.each([
    ["", "unexpected end of JSON input"],
    ["{", "unexpected end of JSON input"],
    ['{"metadata":', "unexpected end of JSON input"],
    ['"a', "unexpected end of JSON input"],
    ["{} {}", "invalid character '{' after top-level value"],
    ["xyz", "invalid character 'x' looking for beginning of value"],
    ["[1,]", "invalid character ']' looking for beginning of value"],
    ["[1 2]", "invalid character '2' after array element"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b":2}', "invalid character '\"' after object key:value pair"],
    ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
    ["{'a':1}", "invalid character '\\'' looking for beginning of object key string"],
    ["nul", "unexpected end of JSON input"],
    ["nulL", "invalid character 'L' in literal null (expecting 'l')"],
    ['"\n"', "invalid character '\\n' in string literal"],
    ['"\\x"', "invalid character 'x' in string escape code"],
    ['"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"],
    ["01", "invalid character '1' after top-level value"],
    ["-", "unexpected end of JSON input"],
    ["-a", "invalid character 'a' in numeric literal"],
    ["1.x", "invalid character 'x' after decimal point in numeric literal"],
    ["1e+x", "invalid character 'x' in exponent of numeric literal"],
    ["é", "invalid character 'Ã' looking for beginning of value"],
    ["\u0007", "invalid character '\\a' looking for beginning of value"],
  ])("%j: %s", (text, fault) => {
    expect(jsonFault(text)).toBe(fault);
  });

  it("finds none in what is JSON", () => {
    fc.assert(
      fc.property(fc.json(), fc.integer({ min: 0, max: 2 }), (text, indent) => {
        expect(jsonFault(JSON.stringify(JSON.parse(text), null, indent))).toBeUndefined();
        expect(jsonFault(text)).toBeUndefined();
      }),
      { numRuns: 150 },
    );
  });

  it("finds one where JSON.parse does, and only there", () => {
    const pieces = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"',
      "\\",
      "u12",
      "a",
      "-",
      "0",
      "1.5",
      "e",
      "true",
      "null",
      " ",
      "é",
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 9 }), (parts) => {
        const text = parts.join("");
        expect(jsonFault(text) === undefined).toBe(isJson(text));
      }),
      { numRuns: 200 },
    );
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
