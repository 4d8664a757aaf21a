import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  checkFieldLabels,
  matchesFields,
  parseFieldSelector,
  selectedName,
  type FieldSelector,
} from "./field-selector.ts";
import { SelectorError } from "./selector-error.ts";

describe("parsing", () => {
  test.each([
    ["", []],
    [",,", []],
    ["=", []],
    ["a=b", [{ field: "a", operator: "=", value: "b" }]],
    ["a==b", [{ field: "a", operator: "=", value: "b" }]],
    ["a!=b", [{ field: "a", operator: "!=", value: "b" }]],
    ["a=", [{ field: "a", operator: "=", value: "" }]],
    [String.raw`a=x\,y\=z\\`, [{ field: "a", operator: "=", value: String.raw`x,y=z\ `.trimEnd() }]],
    [
      "z=1,type=bootstrap.kubernetes.io/token",
      [
        { field: "type", operator: "=", value: "bootstrap.kubernetes.io/token" },
        { field: "z", operator: "=", value: "1" },
      ],
    ],
  ])("%j", (text, selector) => {
    expect(parseFieldSelector(text)).toEqual(selector);
  });

  test.each([
    ["a", "invalid selector: 'a'; can't understand 'a'"],
    ["a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"],
    ["a=b=c", "invalid field selector: unescaped character in value: 61"],
    [String.raw`a=\n`, String.raw`invalid field selector: invalid escape sequence: \n`],
    ["a=\\", "invalid field selector: invalid escape sequence: \\"],
  ])("refuses %j", (text, message) => {
    expect(() => parseFieldSelector(text)).toThrow(new SelectorError("syntax", message));
  });

  test("formatting gives the selector back, whatever the values hold", () => {
    const field = fc.string({ unit: fc.constantFrom("a", ".", "b"), minLength: 1 });
    const escaped = (value: string): string => value.replaceAll(/[\\,=]/g, String.raw`\$&`);
    const formatted = (terms: FieldSelector): string =>
      terms.map((one) => `${one.field}${one.operator}${escaped(one.value)}`).join(",");
    const term = fc.record({ field, operator: fc.constantFrom("=", "!="), value: fc.string() });
    fc.assert(
      fc.property(fc.array(term, { maxLength: 4 }), (terms) => {
        const again = parseFieldSelector(formatted(terms));
        expect(new Set(again.map((one) => JSON.stringify(one)))).toEqual(
          new Set(terms.map((one) => JSON.stringify(one))),
        );
      }),
    );
  });

  test("any text parses or is refused with a SelectorError", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", "=", "!", ",", "\\", "é") }), (text) => {
        const error = refusal(() => parseFieldSelector(text));
        expect(error === undefined || error instanceof SelectorError).toBe(true);
      }),
    );
  });
});

test("matches when every term holds, an absent field being the empty string", () => {
  const fields = new Map([["status.phase", "Active"]]);
  const matches = (text: string): boolean =>
    matchesFields(parseFieldSelector(text), (field) => fields.get(field) ?? "");
  expect(matches("")).toBe(true);
  expect(matches("status.phase=Active")).toBe(true);
  expect(matches("status.phase=Active,metadata.name!=x")).toBe(true);
  expect(matches("status.phase!=Active")).toBe(false);
  expect(matches("metadata.name=")).toBe(true);
  expect(matches("status.phase=Active,metadata.name=x")).toBe(false);
});

describe("labels that a kind does not offer", () => {
  test("are refused in the words for kinds with labels of their own", () => {
    expect(() => {
      checkFieldLabels(parseFieldSelector("foo=bar"), ["type"]);
    }).toThrow(new SelectorError("unknownField", "field label not supported: foo"));
  });

  test("are refused in the words for kinds without", () => {
    expect(() => {
      checkFieldLabels(parseFieldSelector("type=x"), []);
    }).toThrow(
      new SelectorError(
        "unknownField",
        '"type" is not a known field selector: only "metadata.name", "metadata.namespace"',
      ),
    );
  });

  test("are let through when known", () => {
    expect(() => {
      checkFieldLabels(parseFieldSelector("metadata.name=a,metadata.namespace=b,type=x"), ["type"]);
    }).not.toThrow();
  });
});

describe("the name that a selector requires", () => {
  test.each([
    ["metadata.name=x", "x"],
    ["type=y,metadata.name==x", "x"],
    ["metadata.name!=x", undefined],
    ["metadata.name=..", undefined],
    ["metadata.name=a/b", undefined],
    ["metadata.namespace=x", undefined],
    ["", undefined],
  ])("of %j is %j", (text, name) => {
    expect(selectedName(parseFieldSelector(text))).toBe(name);
  });
});

function refusal(call: () => unknown): unknown {
  try {
    call();
    return undefined;
  } catch (error) {
    return error;
  }
}
