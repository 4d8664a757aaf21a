import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DurationError, formatDuration, humanDuration, parseDuration } from "./duration.ts";

const hour = 3_600_000;

describe("parsing", () => {
  test.each([
    ["0", 0],
    ["+0", 0],
    ["24h", 24 * hour],
    ["1h30m", 1.5 * hour],
    ["90s", 90_000],
    ["500ms", 500],
    ["1.5h", 1.5 * hour],
    [".5s", 500],
    ["5.s", 5_000],
    ["-1m", -60_000],
    ["100us", 0.1],
    ["1µs1μs", 0.002],
    ["1ns", 1e-6],
    ["1h1h", 2 * hour],
    ["8760h0m0s", 8_760 * hour],
  ])("%s is %d ms", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  test.each([
    ["", 'invalid duration ""'],
    ["-", 'invalid duration "-"'],
    ["abc", 'invalid duration "abc"'],
    ["1h ", 'unknown unit "h " in duration "1h "'],
    ["5", 'missing unit in duration "5"'],
    ["1d", 'unknown unit "d" in duration "1d"'],
    [".s", 'invalid duration ".s"'],
    ["--1s", 'invalid duration "--1s"'],
    ["1e3s", 'unknown unit "e" in duration "1e3s"'],
    ["toString", 'invalid duration "toString"'],
    ["9".repeat(1_000_000), `invalid duration "${"9".repeat(64)}…"`],
  ])("%.20s is refused with what is allowed", (text, message) => {
    expect(() => parseDuration(text)).toThrow(DurationError);
    expect(() => parseDuration(text)).toThrow(message);
    expect(() => parseDuration(text)).toThrow("use numbers with a unit, such as 24h, 1h30m, 90s or 500ms");
  });

  test("more than 292 years is out of range", () => {
    expect(() => parseDuration("9999999h")).toThrow('duration "9999999h" is out of range');
    expect(parseDuration("2562047h")).toBe(2_562_047 * hour);
  });
});

describe("printing as Go does", () => {
  test.each([
    [0, "0s"],
    [24 * hour, "24h0m0s"],
    [90_000, "1m30s"],
    [1_500, "1.5s"],
    [500, "500ms"],
    [0.25, "250µs"],
    [0.000_001, "1ns"],
    [-90_000, "-1m30s"],
    [hour + 1, "1h0m0.001s"],
  ])("%d ms is %s", (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  test("parsing gives back the milliseconds", () => {
    fc.assert(
      fc.property(fc.integer({ min: -(2 ** 43), max: 2 ** 43 }), (ms) => {
        expect(parseDuration(formatDuration(ms))).toBe(ms);
      }),
    );
  });
});

describe("ages for people", () => {
  test.each([
    [-5_000, "<invalid>"],
    [-1_900, "0s"],
    [-500, "0s"],
    [0, "0s"],
    [119_999, "119s"],
    [120_000, "2m"],
    [125_000, "2m5s"],
    [600_000, "10m"],
    [179 * 60_000 + 59_000, "179m"],
    [3 * hour, "3h"],
    [3 * hour + 20 * 60_000, "3h20m"],
    [8 * hour + 59 * 60_000, "8h"],
    [47 * hour, "47h"],
    [48 * hour, "2d"],
    [52 * hour, "2d4h"],
    [8 * 24 * hour + hour, "8d"],
    [729 * 24 * hour, "729d"],
    [730 * 24 * hour, "2y"],
    [731 * 24 * hour, "2y1d"],
    [8 * 365 * 24 * hour + 24 * hour, "8y"],
  ])("%d ms is %s", (ms, text) => {
    expect(humanDuration(ms)).toBe(text);
  });
});
