import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { finish } from "../steps.ts";
import { keyElement, pathText, readElement, sortElements, valueElement } from "./path-element.ts";

const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean());
const element = fc.oneof(
  fc.string().map((name) => `f:${name}`),
  fc.dictionary(fc.string(), scalar, { minKeys: 1, noNullPrototype: true }).map(keyElement),
  scalar.map(valueElement),
  fc.nat(99).map((index) => `i:${index}`),
);

const sortedAtOnce = (elements: readonly string[]): readonly string[] => finish(sortElements(elements, { places: 0 }));

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
        const sorted = sortedAtOnce([a, b, c]);
        expect(sortedAtOnce([c, b, a])).toEqual(sorted);
        expect(sortedAtOnce([b, c, a])).toEqual(sorted);
      }),
    );
    expect(sortedAtOnce(['k:{"p":80}', 'k:{"p":9}'])).toEqual(['k:{"p":9}', 'k:{"p":80}']);
    expect(sortedAtOnce(["i:0", "v:1", 'k:{"p":9}', "f:z"])).toEqual(["f:z", 'k:{"p":9}', "v:1", "i:0"]);
  });

  it("is shown as conflicts name it", () => {
    const path = ["f:spec", 'k:{"name":"a","port":80}', 'v:"x"', "v:1", "i:2", "f:a.b/c"];
    expect(pathText(path)).toBe('.spec[name="a",port=80][="x"][=1][2].a.b/c');
  });
});
