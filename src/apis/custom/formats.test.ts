import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatCheck } from "./formats.ts";

const table: Readonly<Record<string, readonly [good: readonly string[], bad: readonly string[]]>> = {
  "date-time": [
    ["2020-01-01T00:00:00Z", "2020-02-29t23:59:59.5+01:00"],
    ["2021-02-29T00:00:00Z", "2020-01-01T24:00:00Z", "2020-01-01"],
  ],
  date: [["2020-02-29"], ["2021-02-29", "2020-13-01", ""]],
  duration: [
    ["1h30m", "22 ns", "3 days"],
    ["1", "", "x", "1 fortnight"],
  ],
  byte: [["aGk="], ["aGk", "", "===="]],
  ipv4: [
    ["1.2.3.4", "01.2.3.4"],
    ["1.2.3", "::1", "256.1.1.1"],
  ],
  ipv6: [
    ["::1", "2001:db8::1"],
    ["1.2.3.4", "fe80::1%eth0"],
  ],
  cidr: [
    ["10.0.0.0/8", "::/128"],
    ["10.0.0.0/33", "10.0.0.0", "::/129", "10.0.0.0/"],
  ],
  mac: [["01:23:45:67:89:ab", "0123.4567.89ab"], ["01:23:45:67:89"]],
  uuid: [["123E4567-e89b-12d3-a456-426614174000"], ["123e4567"]],
  uuid4: [["123e4567-e89b-42d3-a456-426614174000"], ["123e4567-e89b-12d3-a456-426614174000"]],
  email: [
    ["a@b.c", "Bob <a@b>"],
    ["a", "a..b@c", "a b@c.d"],
  ],
  hostname: [
    ["localhost", "example.com", "a-b"],
    ["a_b.com", "example.com.", "-a", "a-b-c"],
  ],
  uri: [
    ["http://a/b", "/a", "urn:x:y", "http://[::1]:80/"],
    ["a", "", "http://a b/", "http://a/%zz", "http://a:b/"],
  ],
  "k8s-short-name": [["a-b"], ["A", "a.b", "a".repeat(64)]],
  "k8s-long-name": [["a.b"], ["a_b", "a".repeat(254)]],
};

describe("formats", () => {
  test.each(Object.entries(table))("%s tells its values from others", (format, [good, bad]) => {
    const check = formatCheck(format);
    expect(good.filter((text) => check?.(text) !== true)).toEqual([]);
    expect(bad.filter((text) => check?.(text) !== false)).toEqual([]);
  });

  test("that Kubernetes does not know are not checked", () => {
    expect(formatCheck("int-or-string")).toBeUndefined();
    expect(formatCheck("constructor")).toBeUndefined();
  });

  const names = [
    ...Object.keys(table),
    "isbn",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "password",
    "bsonobjectid",
  ];

  test("answer for any text", () => {
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.string(), (name, text) => {
        expect(typeof formatCheck(name)?.(text)).toBe("boolean");
      }),
      { numRuns: 200 },
    );
  });

  test("take no longer than the text is long", () => {
    const hostile = ["1", "a", ":", "-", "a-", '"\\', "1.", "%"].map((part) => part.repeat(200_000));
    for (const name of names) for (const text of hostile) expect(typeof formatCheck(name)?.(text)).toBe("boolean");
  });
});
