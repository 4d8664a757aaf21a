import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compareSemvers, parseLooseSemver, parseSemver, type ParsedSemver, type Semver } from "./semver.ts";

function version(parsed: ParsedSemver): Semver {
  if ("problem" in parsed) throw new TypeError(parsed.problem);
  return parsed.version;
}

describe("parseSemver", () => {
  test.each(["1.0.0", "0.1.0-alpha.1", "1.2.3+b.01", "1.2.3--1.x-y+z", "18446744073709551615.0.0"])(
    "takes %s",
    (text) => {
      expect(parseSemver(text)).toHaveProperty("version");
    },
  );

  test.each([
    ["", "Version string empty"],
    ["1.0", "No Major.Minor.Patch elements found"],
    ["v1.0.0", 'Invalid character(s) found in major number "v1"'],
    ["1.01.0", 'Minor number must not contain leading zeroes "01"'],
    ["1.0.0-", "Prerelease is empty"],
    ["1.0.0-01", 'Numeric PreRelease version must not contain leading zeroes "01"'],
    ["1.0.0-ä", 'Invalid character(s) found in prerelease "ä"'],
    ["1.0.0+", "Build meta data is empty"],
    ["18446744073709551616.0.0", 'strconv.ParseUint: parsing "18446744073709551616": value out of range'],
  ])("refuses %j", (text, problem) => {
    expect(parseSemver(text)).toEqual({ problem });
  });

  test("orders versions as semver.org does", () => {
    const ordered = [
      "1.0.0-alpha",
      "1.0.0-alpha.1",
      "1.0.0-alpha.beta",
      "1.0.0-beta",
      "1.0.0-beta.2",
      "1.0.0-beta.11",
      "1.0.0-rc.1",
      "1.0.0",
      "1.0.1",
      "1.1.0",
      "2.0.0",
    ];
    const versions = ordered.map((text) => version(parseSemver(text)));
    for (const [index, one] of versions.entries()) {
      for (const [other, two] of versions.entries()) expect(compareSemvers(one, two)).toBe(Math.sign(index - other));
    }
  });

  test("never throws", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...Array.from("v01.-+a")) }), (text) => {
        expect(() => [parseSemver(text), parseLooseSemver(text)]).not.toThrow();
      }),
    );
  });
});

describe("parseLooseSemver", () => {
  test.each([
    ["v1.0.0", "1.0.0"],
    ["1.0", "1.0.0"],
    ["1", "1.0.0"],
    ["01.01.01", "1.1.1"],
    ["00.0.00-a", "0.0.0-a"],
  ])("reads %s as %s", (text, same) => {
    expect(parseLooseSemver(text)).toEqual(parseSemver(same));
  });

  test.each(["1.0-alpha", "vv1.0.0", "", "1..0", "1.0.0.0"])("refuses %j", (text) => {
    expect(parseLooseSemver(text)).toHaveProperty("problem");
  });
});
