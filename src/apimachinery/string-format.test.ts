import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseBase64, parseDurationText, parseMicroTime, parseQuantity, parseTime } from "./string-format.ts";

describe("base64", () => {
  test.each([
    ["", { value: "" }],
    ["QQ==", { value: "QQ==" }],
    ["QUI=", { value: "QUI=" }],
    ["Q\nUI=\r\n", { value: "QUI=" }],
    ["QR==", { value: "QQ==" }],
    ["QUJ=", { value: "QUI=" }],
    ["QUI", { problem: "illegal base64 data at input byte 0" }],
    ["AAAAQ", { problem: "illegal base64 data at input byte 4" }],
    ["QQ=", { problem: "illegal base64 data at input byte 0" }],
    ["A===", { problem: "illegal base64 data at input byte 1" }],
    ["====", { problem: "illegal base64 data at input byte 0" }],
    ["AA-_", { problem: "illegal base64 data at input byte 2" }],
    ["AAé=", { problem: "illegal base64 data at input byte 2" }],
    ["A A=", { problem: "illegal base64 data at input byte 1" }],
  ])("%j", (text, result) => {
    expect(parseBase64(text)).toEqual(result);
  });

  test("what an encoder wrote stays as it is", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const text = btoa(String.fromCharCode(...bytes));
        expect(parseBase64(text)).toEqual({ value: text });
      }),
    );
  });
});

describe("times", () => {
  test.each([
    ["2026-11-21T02:05:49Z", "2026-11-21T02:05:49Z"],
    ["2026-11-21T02:05:49.987Z", "2026-11-21T02:05:49Z"],
    ["2026-11-21T02:05:49+01:30", "2026-11-21T00:35:49Z"],
    ["2026-12-31T23:30:00-01:00", "2027-01-01T00:30:00Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"],
  ])("%s is %s", (text, value) => {
    expect(parseTime(text)).toEqual({ value });
  });

  test.each([
    "",
    "now",
    "2026-11-21",
    "2026-11-21 02:05:49Z",
    "2026-11-21T02:05:49",
    "2026-11-21t02:05:49z",
    "2026-13-01T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T00:60:00Z",
    "2026-01-01T00:00:60Z",
    "2026-01-01T00:00:00+24:00",
    "0000-01-01T00:00:00+01:00",
    "9999-12-31T23:59:59-01:00",
    "2026-01-01T00:00:00Z\n",
    `2026-01-01T00:00:00.${"0".repeat(100_000)}Z`,
  ])("%.40j is none", (text) => {
    expect(parseTime(text)).toEqual({
      problem: `parsing time ${JSON.stringify(text.slice(0, 64))} as "2006-01-02T15:04:05Z07:00": not a time of RFC 3339`,
    });
  });

  test("micro times have six decimals", () => {
    expect(parseMicroTime("2026-11-21T02:05:49.123456789Z")).toEqual({ value: "2026-11-21T02:05:49.123456Z" });
    expect(parseMicroTime("2026-11-21T02:05:49+00:00")).toEqual({ value: "2026-11-21T02:05:49.000000Z" });
    expect(parseMicroTime("x")).toHaveProperty("problem");
  });

  test("every instant of four-digit years comes back as itself", () => {
    const instant = fc.date({
      min: new Date("0001-01-01T00:00:00Z"),
      max: new Date("9999-12-31T23:59:59Z"),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(instant, (date) => {
        const seconds = `${date.toISOString().slice(0, 19)}Z`;
        expect(parseTime(date.toISOString())).toEqual({ value: seconds });
        expect(parseTime(seconds)).toEqual({ value: seconds });
      }),
    );
  });
});

describe("quantities", () => {
  test.each(["0", "1", "+1.5Gi", "-.5", "1.", "500m", "1e3", "1E-3", "100Ki", "5n", "7u", "1E"])(
    "%s is one",
    (text) => {
      expect(parseQuantity(text)).toEqual({ value: text });
    },
  );

  test.each(["", ".", "m", "1 Gi", "1gi", "1KB", "1e", "0x1", "1e3Gi", "NaN", "9".repeat(100)])(
    "%s is none",
    (text) => {
      expect(parseQuantity(text)).toEqual({
        problem: "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
      });
    },
  );
});

test("durations take the form in which Go prints them", () => {
  expect(parseDurationText("90m")).toEqual({ value: "1h30m0s" });
  expect(parseDurationText("1d")).toHaveProperty("problem");
});
