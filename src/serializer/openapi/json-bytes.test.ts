import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countedList, longestRun } from "../../../test/kits/longest-run.ts";
import { finish } from "../../apimachinery/steps.ts";
import { builtinResources } from "../../apis/builtin.ts";
import { jsonBytes } from "./json-bytes.ts";
import { swagger } from "./v2.ts";

describe("JSON that is written in steps", () => {
  it("is what JSON.stringify writes", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(finish(jsonBytes(value)).toString()).toBe(JSON.stringify(value));
      }),
    );
    const document = finish(swagger(builtinResources, { title: "Test", version: "v1" }));
    expect(finish(jsonBytes(document)).toString()).toBe(JSON.stringify(document));
  });

  it("leaves out fields that are undefined", () => {
    const value = { a: undefined, b: [{ c: undefined }, {}], d: { e: {}, f: undefined } };
    expect(finish(jsonBytes(value)).toString()).toBe(JSON.stringify(value));
  });

  it("is left after at most 1,024 elements and their fields", () => {
    const { list, reads } = countedList(Array.from({ length: 20_000 }, (_, index) => ({ a: { index } })));
    const values = list.map(
      (element) => new Proxy(element, { ownKeys: (target) => (list[0], Reflect.ownKeys(target)) }),
    );
    const { longest, result } = longestRun(jsonBytes({ values }), reads);
    expect(result.toString()).toBe(JSON.stringify({ values: Array.from(list) }));
    expect(reads()).toBeGreaterThan(20_000);
    expect(longest).toBeLessThanOrEqual(1_024);
  });
});
