import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cidrContainsCidr, cidrContainsIp, formatCidr, maskedCidr, parseCidr, type Cidr } from "./cidr.ts";

function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if ("problem" in parsed) throw new TypeError(parsed.problem);
  return parsed.cidr;
}

describe("parseCidr", () => {
  test.each(["10.0.0.0/8", "10.1.2.3/8", "::/0", "2001:db8::/128", "0.0.0.0/0"])("reads %s", (text) => {
    expect(formatCidr(cidr(text))).toBe(text);
  });

  test.each([
    "",
    "10.0.0.0",
    "10.0.0.0/33",
    "::/129",
    "10.0.0.0/08",
    "10.0.0.0/+8",
    "/8",
    "10.0.0.0/",
    "::ffff:1.2.3.4/96",
    "fe80::1%e/64",
    "1.2.3/8",
  ])("refuses %j", (text) => {
    expect(parseCidr(text)).toHaveProperty("problem");
  });
});

describe("networks", () => {
  test("lose their host bits when masked", () => {
    expect(formatCidr(maskedCidr(cidr("192.168.1.77/24")))).toBe("192.168.1.0/24");
  });

  test("contain exactly the addresses from the first to the last, by counting", () => {
    const network = fc.constantFrom(4 as const, 6 as const).chain((family) => {
      const width = family === 4 ? 32 : 128;
      const value = fc.bigInt({ min: 0n, max: 2n ** BigInt(width) - 1n });
      return fc.record({
        family: fc.constant(family),
        width: fc.constant(width),
        value,
        other: value,
        bits: fc.nat(width),
        otherBits: fc.nat(width),
        near: fc.boolean(),
      });
    });
    fc.assert(
      fc.property(network, ({ family, width, value, other, bits, otherBits, near }) => {
        const size = 2n ** BigInt(width - bits);
        const first = (value / size) * size;
        const address = near ? first + (other % size) : other;
        const one: Cidr = { ip: { family, value }, bits };
        const two: Cidr = { ip: { family, value: address }, bits: otherBits };
        const inside = address >= first && address < first + size;
        expect(cidrContainsIp(one, two.ip)).toBe(inside);
        const otherSize = 2n ** BigInt(width - otherBits);
        const otherFirst = (address / otherSize) * otherSize;
        expect(cidrContainsCidr(one, two)).toBe(otherFirst >= first && otherFirst + otherSize <= first + size);
        expect(maskedCidr(one).ip.value).toBe(first);
      }),
      { numRuns: 200 },
    );
  });

  test("never contain the other family", () => {
    expect(cidrContainsIp(cidr("::/0"), cidr("1.2.3.4/32").ip)).toBe(false);
    expect(cidrContainsCidr(cidr("0.0.0.0/0"), cidr("::/0"))).toBe(false);
  });
});
