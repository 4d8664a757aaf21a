import * as fc from "fast-check";
import { expect, test } from "vitest";
import { jsonProblem } from "./json-value.ts";
import { applyMergePatch } from "./merge-patch.ts";
import { PatchError } from "./patch-error.ts";

// The examples of RFC 7386, appendix A.
test.each([
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ a: "foo" }, null, null],
  [{ a: "foo" }, "bar", "bar"],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])("%j with %j gives %j", (target, patch, result) => {
  expect(applyMergePatch(target, patch)).toEqual(result);
});

test("what the patch leaves alone is shared, and a patch that changes nothing returns the target", () => {
  const target = { spec: { a: [1], b: { c: 1 } }, metadata: { labels: { x: "y" } } };
  const result = applyMergePatch(target, { metadata: { labels: { x: "z" } } }) as typeof target;
  expect(result.spec).toBe(target.spec);
  expect(applyMergePatch(target, { metadata: { labels: { x: "y", gone: null } }, spec: { a: [1] } })).toBe(target);
});

test("__proto__ is refused wherever it stands, and constructor is a key like others", () => {
  for (const text of ['{"__proto__":{"a":1}}', '{"a":{"__proto__":null}}', '{"a":[{"__proto__":1}]}']) {
    expect(() => applyMergePatch({}, JSON.parse(text))).toThrow(PatchError);
  }
  expect(applyMergePatch({}, { constructor: { prototype: { a: 1 } } })).toEqual({
    constructor: { prototype: { a: 1 } },
  });
  expect(Object.hasOwn(Object.prototype, "a")).toBe(false);
});

test("a patch of bottomless depth is refused", () => {
  const deep: unknown = JSON.parse('{"a":'.repeat(100_000) + "1" + "}".repeat(100_000));
  expect(() => applyMergePatch({}, deep)).toThrow("JSON nested too deeply");
});

// Without __proto__, which is refused wherever it stands.
const plain = fc.jsonValue({ maxDepth: 3 }).filter((value) => jsonProblem(value) === undefined);
const json = fc.dictionary(fc.constantFrom("a", "b", "constructor"), plain);

test("applying twice is the same as applying once, and the target is never changed", () => {
  fc.assert(
    fc.property(json, json, (target, patch) => {
      const before = JSON.stringify([target, patch]);
      const once = applyMergePatch(target, patch);
      expect(applyMergePatch(once, patch)).toEqual(once);
      expect(JSON.stringify([target, patch])).toBe(before);
    }),
  );
});
