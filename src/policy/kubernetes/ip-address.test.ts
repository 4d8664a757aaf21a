import * as fc from "fast-check";
import { isIPv4, isIPv6 } from "node:net";
import { describe, expect, test } from "vitest";
import {
  formatIp,
  isGlobalUnicast,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isLoopback,
  isMapped,
  isUnspecified,
  parseAddress,
  parseIp,
  type IpAddress,
} from "./ip-address.ts";

function ip(text: string): IpAddress {
  const parsed = parseIp(text);
  if ("problem" in parsed) throw new TypeError(parsed.problem);
  return parsed.ip;
}

describe("parseIp", () => {
  test.each([
    ["127.0.0.1", "127.0.0.1"],
    ["::1", "::1"],
    ["::", "::"],
    ["2001:DB8::ABCD", "2001:db8::abcd"],
    ["2001:db8::0:0:0:abcd", "2001:db8::abcd"],
    ["1:0:0:2:0:0:0:3", "1:0:0:2::3"],
    ["1:0:0:2:3:0:0:4", "1::2:3:0:0:4"],
    ["1:2:3:4:5:6:7:0", "1:2:3:4:5:6:7:0"],
    ["64:ff9b::1.2.3.4", "64:ff9b::102:304"],
    ["1::", "1::"],
  ])("reads %s and writes %s", (text, canonical) => {
    expect(formatIp(ip(text))).toBe(canonical);
  });

  test.each([
    "",
    "127.0.0.256",
    "127.0.0.01",
    "1.2.3",
    "1.2.3.4.5",
    ":::1",
    "1::2::3",
    "::ffff:1.2.3.4",
    "::ffff:102:304",
    "fe80::1%eth0",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4::5:6:7:8",
    "12345::",
    ":1",
    "1:",
    " ::1",
    "1.2.3.4::",
    "0x7f.1",
    "[::1]",
    "%",
    "::1%",
  ])("refuses %j", (text) => {
    expect(parseIp(text)).toHaveProperty("problem");
  });

  test("says what was wrong", () => {
    expect(parseIp("nope")).toEqual({
      problem: 'IP Address "nope" parse error during conversion from string: ParseAddr("nope"): unable to parse IP',
    });
    expect(parseIp("fe80::1%eth0")).toEqual({ problem: 'IP address "fe80::1%eth0" with zone value is not allowed' });
    expect(parseIp("::ffff:1.2.3.4")).toEqual({ problem: 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed' });
  });

  test("agrees with Node on what an address is", () => {
    const text = fc.oneof(fc.string({ unit: fc.constantFrom(...Array.from("012afF.:%")) }), fc.ipV6(), fc.ipV4());
    fc.assert(
      fc.property(text, (given) => {
        const parsed = parseAddress(given);
        expect("ip" in parsed).toBe(isIPv4(given) || isIPv6(given));
      }),
      { numRuns: 200 },
    );
  });

  test("reads what it writes", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }), fc.nat(112), (bits, shift) => {
        const address = { family: 6, value: bits >> BigInt(shift) } as const;
        fc.pre(!isMapped(address));
        expect(ip(formatIp(address))).toEqual(address);
      }),
    );
  });
});

describe("addresses", () => {
  test.each([
    [isUnspecified, ["0.0.0.0", "::"], ["127.0.0.1", "::1"]],
    [isLoopback, ["127.0.0.1", "127.9.9.9", "::1"], ["128.0.0.1", "::2", "0.0.0.1"]],
    [isLinkLocalMulticast, ["224.0.0.1", "ff02::1", "ff12::1"], ["224.0.1.1", "fd00::1", "ff01::1"]],
    [isLinkLocalUnicast, ["169.254.169.254", "fe80::1", "febf::1"], ["192.168.0.1", "fec0::1", "fd80::1"]],
    [
      isGlobalUnicast,
      ["192.168.0.1", "2001:db8::abcd", "8.8.8.8"],
      ["255.255.255.255", "ff00::1", "0.0.0.0", "::1", "224.0.0.1", "fe80::1", "169.254.0.1"],
    ],
  ])("are told apart by %o", (holds, yes, no) => {
    expect(yes.filter((text) => !holds(ip(text)))).toEqual([]);
    expect(no.filter((text) => holds(ip(text)))).toEqual([]);
  });
});
