import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rfc3339 } from "../apimachinery/clock.ts";
import { parseRfc3339 } from "./rfc3339.ts";

describe("parseRfc3339", () => {
  it.each([
    ["2026-11-21T02:05:49Z", Date.UTC(2026, 10, 21, 2, 5, 49)],
    ["2026-11-21T02:05:49+01:30", Date.UTC(2026, 10, 21, 0, 35, 49)],
    ["2026-11-21T02:05:49-01:30", Date.UTC(2026, 10, 21, 3, 35, 49)],
    ["2026-11-21T02:05:49.1239999999999Z", Date.UTC(2026, 10, 21, 2, 5, 49, 123)],
    ["2026-11-21T02:05:49,5Z", Date.UTC(2026, 10, 21, 2, 5, 49, 500)],
    ["2026-11-21T2:05:49Z", Date.UTC(2026, 10, 21, 2, 5, 49)],
    ["2024-02-29T00:00:00Z", Date.UTC(2024, 1, 29)],
    ["0001-01-01T00:00:00Z", -62_135_596_800_000],
  ])("reads %s", (text, expected) => expect(parseRfc3339(text)).toBe(expected));

  it.each([
    "",
    "tomorrow",
    "2026-11-21",
    "2026-11-21T02:05:49",
    "2026-11-21 02:05:49Z",
    "2026-11-21t02:05:49z",
    " 2026-11-21T02:05:49Z",
    "2026-11-21T02:05:49Z\n",
    "2026-11-21T02:05:49.Z",
    "2026-11-21T02:05:60Z",
    "2026-11-21T24:00:00Z",
    "2026-02-29T00:00:00Z",
    "2026-00-10T00:00:00Z",
    "2026-13-10T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-11-21T02:05:49+0130",
    "2026-11-21T02:05:49+25:00",
    "+002026-11-21T02:05:49Z",
    "1795226749",
    `2026-11-21T02:05:49.${"1".repeat(1000)}Z`,
  ])("refuses %j", (text) => expect(parseRfc3339(text)).toBeUndefined());

  it("reads back every time that the API writes", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 253_402_300_799 }), (seconds) => {
        expect(parseRfc3339(rfc3339(seconds * 1000))).toBe(seconds * 1000);
      }),
    );
  });
});
