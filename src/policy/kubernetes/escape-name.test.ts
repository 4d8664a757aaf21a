import * as fc from "fast-check";
import { expect, test } from "vitest";
import { escapeName } from "./escape-name.ts";

test.each([
  ["plain_1", "plain_1"],
  ["a-b", "a__dash__b"],
  ["a.b/c", "a__dot__b__slash__c"],
  ["a__b", "a__underscores__b"],
  ["a___b", "a__underscores___b"],
  ["namespace", "__namespace__"],
  ["true", "__true__"],
  ["-", "__dash__"],
  ["__proto__", "__underscores__proto__underscores__"],
  ["1a", undefined],
  ["", undefined],
  ["a b", undefined],
  ["ä", undefined],
  ["$ref", undefined],
])("%j is read as %j", (name, escaped) => {
  expect(escapeName(name)).toBe(escaped);
});

test("different names never share an identifier", () => {
  const name = fc.string({ unit: fc.constantFrom("_", "a", "-", ".", "dash", "in") });
  fc.assert(
    fc.property(name, name, (one, other) => {
      const escaped = escapeName(one);
      fc.pre(escaped !== undefined && one !== other);
      expect(escapeName(other)).not.toBe(escaped);
    }),
  );
});
