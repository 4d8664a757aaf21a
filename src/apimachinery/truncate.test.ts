import { expect, test } from "vitest";
import { truncate } from "./truncate.ts";

test.each([
  ["", 0, ""],
  ["abc", 3, "abc"],
  ["abcd", 3, "abc…"],
  ["abcd", 0, "…"],
])("%j with at most %i characters is %j", (text, max, shown) => {
  expect(truncate(text, max)).toBe(shown);
});
