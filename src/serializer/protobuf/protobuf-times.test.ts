import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { ProtobufError } from "./protobuf-error.ts";
import { formatDuration, formatTime, parseDuration, parseTime } from "./protobuf-times.ts";

describe("times", () => {
  it("are written as Kubernetes writes them", () => {
    expect(formatTime(1_795_000_001, 999_999_999, false)).toBe("2026-11-18T11:06:41Z");
    expect(formatTime(1_795_000_001, 1_999, true)).toBe("2026-11-18T11:06:41.000001Z");
  });

  it("are nothing at the beginning of year 1", () => {
    expect(formatTime(-62_135_596_800, 0, false)).toBeUndefined();
    expect(parseTime("0001-01-01T00:00:00Z")).toBeUndefined();
  });

  it("may carry an offset and a fraction", () => {
    expect(parseTime("2026-11-18T14:26:41.1234567+02:00")).toEqual({ seconds: 1_795_004_801, micros: 123_456 });
  });

  it.each(["", "2026-11-18", "2026-13-18T14:26:41Z", "yesterday", "2026-11-18T14:26:41"])("refuses %j", (text) => {
    expect(() => parseTime(text)).toThrow(ProtobufError);
  });

  it("refuses seconds that no year of four digits holds", () => {
    expect(() => formatTime(253_402_300_800, 0, false)).toThrow(ProtobufError);
    expect(() => formatTime(0, -1, true)).toThrow(ProtobufError);
  });

  it("come back from their text", () => {
    fc.assert(
      fc.property(fc.integer({ min: -62_135_596_799, max: 253_402_300_799 }), fc.nat(999_999), (seconds, micros) => {
        expect(parseTime(formatTime(seconds, micros * 1000, true) ?? "")).toEqual({ seconds, micros });
      }),
      { numRuns: 200 },
    );
  });
});

describe("durations", () => {
  // Texts that Go's time.Duration prints.
  it.each<readonly [bigint, string]>([
    [0n, "0s"],
    [1n, "1ns"],
    [1_100n, "1.1µs"],
    [2_200_000n, "2.2ms"],
    [3_300_000_000n, "3.3s"],
    [60_000_000_000n, "1m0s"],
    [3_723_500_000_000n, "1h2m3.5s"],
    [-5_000_000_000n, "-5s"],
  ])("of %d nanoseconds are %s", (nanos, text) => {
    expect(formatDuration(nanos)).toBe(text);
    expect(parseDuration(text)).toBe(nanos);
  });

  it.each(["", "1", "s", "1x", "1h 2m", "99999999999999999h"])("refuses %j", (text) => {
    expect(() => parseDuration(text)).toThrow(ProtobufError);
  });

  it("come back from their text", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }), (nanos) => {
        expect(parseDuration(formatDuration(nanos))).toBe(nanos);
      }),
      { numRuns: 200 },
    );
  });
});
