import { expect, test } from "vitest";
import { aheadOf, inWords, skewSentence } from "./clock-skew.ts";

const noon = Date.UTC(2026, 10, 21, 12);

test.each([
  ["Sat, 21 Nov 2026 12:00:00 GMT", 0],
  ["Sat, 21 Nov 2026 12:41:00 GMT", -41 * 60_000],
  ["Sat, 21 Nov 2026 11:59:00 GMT", 60_000],
  ["yesterday", undefined],
  ["", undefined],
  [undefined, undefined],
  [`Sat, 21 Nov 2026 12:00:00 GMT${" ".repeat(100)}`, undefined],
])("a Date header %j at noon means that this clock is ahead by %j ms", (header, ahead) => {
  expect(aheadOf(header, noon)).toBe(ahead);
});

test.each([
  [0, "0 seconds"],
  [1000, "1 second"],
  [-41_000, "41 seconds"],
  [90_000, "90 seconds"],
  [2_460_000, "41 minutes"],
  [7_200_000, "2 hours"],
  [-400 * 86_400_000, "400 days"],
])("%i ms are %s", (ms, words) => expect(inWords(ms)).toBe(words));

test("says who is ahead of whom", () => {
  expect(skewSentence(-2_460_000)).toBe("this machine's clock is 41 minutes behind the hub's");
  expect(skewSentence(7_200_000)).toBe("this machine's clock is 2 hours ahead of the hub's");
});
