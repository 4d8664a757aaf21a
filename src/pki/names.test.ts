import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DerError, parseDer, tags } from "./der.ts";
import { derElement, derOid, derSequence } from "./der-writer.ts";
import { attributeTexts, buildName, parseName, subjectOf } from "./names.ts";
import { oids } from "./oids.ts";

const attribute = (oid: string, tag: number, value: string | Uint8Array): Uint8Array =>
  derSequence(derOid(oid), derElement(tag, typeof value === "string" ? Buffer.from(value, "utf8") : value));
const rdn = (...attributes: Uint8Array[]): Uint8Array => derElement(tags.set, ...attributes);
const cn = (value: string | Uint8Array, tag: number = tags.utf8String): Uint8Array =>
  rdn(attribute(oids.commonName, tag, value));
const read = (...rdns: Uint8Array[]) => subjectOf(parseName(parseDer(derSequence(...rdns)), "subject"), "subject");

describe("names", () => {
  it("keep organizations in order and their bytes as they were", () => {
    const raw = buildName({ commonName: "system:node:a_b", organizations: ["z", "a", "é"] });
    const name = parseName(parseDer(raw), "subject");
    expect(Buffer.compare(name.raw, raw)).toBe(0);
    expect(subjectOf(name, "subject")).toEqual({ commonName: "system:node:a_b", organizations: ["z", "a", "é"] });
  });

  it("round-trip any text without control characters", () => {
    const text = fc
      .string({ minLength: 1, maxLength: 40, unit: "grapheme" })
      .filter((one) => !/\p{Cc}|\p{Cs}/u.test(one));
    fc.assert(
      fc.property(text, fc.array(text, { maxLength: 4 }), (commonName, organizations) => {
        const raw = buildName({ commonName, organizations });
        expect(subjectOf(parseName(parseDer(raw), "s"), "s")).toEqual({ commonName, organizations });
      }),
    );
  });

  it("read groups out of a relative name with several values, as Go writes them", () => {
    const both = rdn(
      attribute(oids.organization, tags.printableString, "a"),
      attribute(oids.organization, tags.utf8String, "b"),
    );
    expect(read(both, cn("u"))).toEqual({ commonName: "u", organizations: ["a", "b"] });
  });

  it("read PrintableString, IA5String, NumericString and BMPString", () => {
    expect(read(cn("a b", tags.printableString)).commonName).toBe("a b");
    expect(read(cn("a_b", tags.ia5String)).commonName).toBe("a_b");
    expect(read(cn("12", tags.numericString)).commonName).toBe("12");
    expect(read(cn(Buffer.from("00e90078", "hex"), tags.bmpString)).commonName).toBe("éx");
  });

  it("may be empty and then name nobody", () => {
    expect(read()).toEqual({ commonName: "", organizations: [] });
  });

  it("keep attributes of other kinds raw, whatever their type", () => {
    const other = attribute("1.2.3.4", tags.octetString, Uint8Array.of(0, 255));
    const name = parseName(parseDer(derSequence(rdn(other), cn("u"))), "subject");
    expect(name.rdns[0]?.[0]).toMatchObject({ oid: "1.2.3.4", text: undefined });
    expect(attributeTexts(name, oids.commonName, "subject")).toEqual(["u"]);
  });

  it.each([
    ["NUL in a common name", [cn("admin\0.evil")]],
    ["a line break in a group", [rdn(attribute(oids.organization, tags.utf8String, "a\nb"))]],
    ["an escape character", [cn("\u001b[2J")]],
    ["a C1 control character", [cn("a\u009bb")]],
    ["NUL in an attribute of another kind", [rdn(attribute("2.5.4.11", tags.utf8String, "a\0"))]],
    ["invalid UTF-8", [cn(Uint8Array.of(0xff, 0xfe, 0x41))]],
    ["an overlong UTF-8 form", [cn(Uint8Array.of(0xc1, 0x81))]],
    ["an encoded surrogate", [cn(Uint8Array.of(0xed, 0xa0, 0x80))]],
    ["a PrintableString with an underscore", [cn("a_b", tags.printableString)]],
    ["an IA5String beyond ASCII", [cn(Uint8Array.of(0xe9), tags.ia5String)]],
    ["a BMPString of odd length", [cn(Uint8Array.of(0, 65, 0), tags.bmpString)]],
    ["a BMPString with surrogates", [cn(Uint8Array.of(0xd8, 0x3d, 0xde, 0), tags.bmpString)]],
    ["a common name of another type", [cn("a", tags.octetString)]],
    ["an empty common name", [cn("")]],
    ["a common name of 1025 bytes", [cn("a".repeat(1025))]],
    ["two common names", [cn("system:node:a"), cn("system:node:b")]],
    [
      "two common names in one relative name",
      [rdn(attribute(oids.commonName, 0x0c, "a"), attribute(oids.commonName, 0x0c, "b"))],
    ],
    ["an empty relative name", [rdn()]],
    ["65 attributes", Array.from({ length: 65 }, () => rdn(attribute("2.5.4.11", tags.utf8String, "x")))],
    ["an attribute without value", [rdn(derSequence(derOid(oids.commonName)))]],
    ["an attribute that is not a SEQUENCE", [rdn(derOid(oids.commonName))]],
  ])("are refused with %s", (_what, rdns) => {
    expect(() => read(...rdns)).toThrow(DerError);
  });

  it("are not written with what would be refused when read", () => {
    expect(() => buildName({ commonName: "a\0b", organizations: [] })).toThrow(DerError);
    expect(() => buildName({ commonName: "a", organizations: [""] })).toThrow(DerError);
    expect(() => buildName({ commonName: "\ud800", organizations: [] })).toThrow(DerError);
  });
});
