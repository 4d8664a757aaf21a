import * as fc from "fast-check";
import { expect, test } from "vitest";
import { utf8Length } from "./utf8.ts";

test("counts the bytes that TextEncoder writes", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length);
    }),
  );
});

test("counts an unpaired surrogate as its replacement character", () => {
  for (const text of ["\ud800", "a\udc00", "\ud800\ud800\udc00", "\udc00\ud800"]) {
    expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length);
  }
});
