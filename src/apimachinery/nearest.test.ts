import { describe, expect, test } from "vitest";
import { nearest } from "./nearest.ts";

describe("nearest", () => {
  const known = ["hub", "join", "token", "pending", "approve", "deny", "version", "completion"];
  const cases: Readonly<Record<string, readonly [string, string | undefined]>> = {
    "finds a word with two letters swapped": ["toekn", "token"],
    "finds a word with a letter missing": ["aprove", "approve"],
    "finds a word with a letter too many": ["joinn", "join"],
    "finds a word with two wrong letters when it is long": ["complation", "completion"],
    "finds a word by its beginning": ["pend", "pending"],
    "knows nothing near a strange word": ["status", undefined],
    "knows nothing near a short word with two wrong letters": ["hex", undefined],
    "knows nothing near nothing": ["", undefined],
    "does not measure a giant": ["x".repeat(100_000), undefined],
  };
  test.each(Object.entries(cases))("%s", (_title, [word, expected]) => {
    expect(nearest(word, known)).toBe(expected);
  });
});
