import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareElements, keyElement, pathText, readElement, valueElement } from "./path-element.ts";

const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean());
const element = fc.oneof(
  fc.string().map((name) => `f:${name}`),
  fc.dictionary(fc.string(), scalar, { minKeys: 1, noNullPrototype: true }).map(keyElement),
  scalar.map(valueElement),
  fc.nat(99).map((index) => `i:${index}`),
);

describe("a step of a path", () => {
  it("is read as what it was written", () => {
    fc.assert(
      fc.property(element, (one) => {
        fc.pre(!one.includes("__proto__"));
        expect(readElement(one)).toBe(one);
      }),
    );
  });

  it("is the same however its keys are written", () => {
    expect(readElement('k:{ "b" : 1.0, "a":"x" }')).toBe('k:{"a":"x","b":1}');
    expect(keyElement({ b: 1, a: "x" })).toBe('k:{"a":"x","b":1}');
  });

  it("of an unknown kind is empty, a malformed one is nothing", () => {
    expect(readElement("x:y")).toBe("");
    const wrong = [
      "",
      "f",
      "name",
      "k:",
      "k:[]",
      "k:{",
      "v:",
      "v:{",
      "i:",
      "i:1.5",
      "i:99999999999",
      'k:{"__proto__":1}',
    ];
    expect(wrong.map(readElement)).toEqual(wrong.map(() => undefined));
  });

  it("has one place in an order", () => {
    fc.assert(
      fc.property(element, element, element, (a, b, c) => {
        expect(Math.sign(compareElements(a, b)) + Math.sign(compareElements(b, a))).toBe(0);
        const [x = "", y = "", z = ""] = [a, b, c].sort(compareElements);
        expect(compareElements(x, z)).toBeLessThanOrEqual(0);
        expect(compareElements(x, y)).toBeLessThanOrEqual(0);
      }),
    );
    expect(['k:{"p":80}', 'k:{"p":9}'].sort(compareElements)).toEqual(['k:{"p":9}', 'k:{"p":80}']);
  });

  it("is shown as conflicts name it", () => {
    const path = ["f:spec", 'k:{"name":"a","port":80}', 'v:"x"', "v:1", "i:2", "f:a.b/c"];
    expect(pathText(path)).toBe('.spec[name="a",port=80][="x"][=1][2].a.b/c');
  });
});
