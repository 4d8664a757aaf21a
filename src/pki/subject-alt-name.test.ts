import * as fc from "fast-check";
import { isIPv6 } from "node:net";
import { describe, expect, it } from "vitest";
import { DerError } from "./der.ts";
import { derElement, derSequence } from "./der-writer.ts";
import { ipAddressBytes, ipAddressText } from "./ip-address.ts";
import { buildSubjectAltNames, parseSubjectAltNames } from "./subject-alt-name.ts";

const general = (tag: number, value: string): Uint8Array => derElement(tag, Buffer.from(value, "latin1"));

describe("subjectAltName", () => {
  it("is read in order within each kind", () => {
    const value = derSequence(
      general(0x82, "b.example"),
      general(0x87, "\x0a\x00\x00\x01"),
      general(0x82, "*.a.example"),
      general(0x81, "a@b.example"),
      general(0x86, "spiffe://trust.example/ns/x"),
      derElement(0x88, Uint8Array.of(42)),
    );
    expect(parseSubjectAltNames(value)).toEqual({
      dns: ["b.example", "*.a.example"],
      ip: ["10.0.0.1"],
      email: ["a@b.example"],
      uri: ["spiffe://trust.example/ns/x"],
      others: 1,
    });
  });

  it("is written so that it reads back", () => {
    const value = buildSubjectAltNames({ dns: ["localhost", "node_1.example"], ip: ["127.0.0.1", "fe80::1"] });
    expect(value && parseSubjectAltNames(value)).toMatchObject({
      dns: ["localhost", "node_1.example"],
      ip: ["127.0.0.1", "fe80::1"],
    });
    expect(buildSubjectAltNames({})).toBeUndefined();
  });

  it.each([
    ["no name", []],
    ["NUL in a DNS name", [general(0x82, "good.example\0.evil.example")]],
    ["an empty DNS name", [general(0x82, "")]],
    ["a blank in a DNS name", [general(0x82, "a b")]],
    ["a comma in a DNS name", [general(0x82, "a,DNS:b")]],
    ["a DNS name beyond ASCII", [general(0x82, "é.example")]],
    ["a wildcard inside a DNS name", [general(0x82, "a.*.example")]],
    ["a DNS name of 254 characters", [general(0x82, `${"a.".repeat(126)}aa`)]],
    ["a label of 64 characters", [general(0x82, "a".repeat(64))]],
    ["an IP of five bytes", [general(0x87, "\x0a\x00\x00\x01\x00")]],
    ["an IP of eight bytes, which is a range", [general(0x87, "\x0a\x00\x00\x01\xff\xff\xff\xff")]],
    ["an empty IP", [general(0x87, "")]],
    ["an e-mail with NUL", [general(0x81, "a@b\0c")]],
    ["an e-mail without domain", [general(0x81, "a@")]],
    ["a URI without scheme", [general(0x86, "//x")]],
    ["a URI with a line break", [general(0x86, "http://x\n")]],
    ["257 names", Array.from({ length: 257 }, () => general(0x82, "a"))],
  ])("is refused with %s", (_what, names) => {
    expect(() => parseSubjectAltNames(derSequence(...names))).toThrow(DerError);
  });

  it("is not written with a bad host name or address", () => {
    expect(() => buildSubjectAltNames({ dns: ["a\0"] })).toThrow(DerError);
    expect(() => buildSubjectAltNames({ ip: ["10.0.0.256"] })).toThrow(DerError);
  });
});

describe("IP addresses", () => {
  it.each([
    ["::", "::"],
    ["0:0:0:0:0:0:0:1", "::1"],
    ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["fe80:0::", "fe80::"],
    ["1:0:0:2:0:0:0:3", "1:0:0:2::3"],
    ["::ffff:10.0.0.1", "::ffff:10.0.0.1"],
    ["64:ff9b::1.2.3.4", "64:ff9b::102:304"],
    ["2001:DB8::A", "2001:db8::a"],
  ])("%s is written %s", (from, to) => {
    expect(ipAddressText(ipAddressBytes(from) ?? new Uint8Array())).toBe(to);
  });

  it.each(["", "1.2.3", "01.2.3.4", "::1%eth0", "1::2::3", "a.example"])("%j is none", (text) => {
    expect(ipAddressBytes(text)).toBeUndefined();
  });

  it("round-trip from bytes", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(0, 0, 0, 1, 255), { minLength: 16, maxLength: 16 }), (list) => {
        const text = ipAddressText(Uint8Array.from(list)) ?? "";
        expect(isIPv6(text)).toBe(true);
        expect([...(ipAddressBytes(text) ?? [])]).toEqual(list);
      }),
    );
  });
});
