import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  childrenOf,
  contentOf,
  DerError,
  parseDer,
  rawOf,
  readBoolean,
  readInteger,
  readNamedBits,
  readOid,
  readSmallInteger,
  readTime,
  readUnsigned,
  tags,
} from "./der.ts";
import {
  derElement,
  derNamedBits,
  derOctets,
  derOid,
  derSequence,
  derTime,
  derTrue,
  derUnsigned,
} from "./der-writer.ts";

const hex = (text: string): Uint8Array => Buffer.from(text.replaceAll(" ", ""), "hex");
const codeOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return error instanceof DerError ? error.code : `not a DerError: ${String(error)}`;
  }
  return "accepted";
};

describe("parseDer", () => {
  it.each([
    ["nothing", "", "truncated"],
    ["a tag alone", "30", "truncated"],
    ["a content that is cut", "0403 0102", "truncated"],
    ["a length that is cut", "0482 01", "truncated"],
    ["trailing bytes", "0500 00", "trailing"],
    ["an indefinite length", "3080 0500 0000", "length"],
    ["a long form for a short length", "048101 00", "length"],
    ["a length with a leading zero", "04820080" + "00".repeat(128), "length"],
    ["a length of five bytes", "04850000000001 00", "length"],
    ["a length bomb", "0484ffffffff", "truncated"],
    ["a child longer than its parent", "3003 0404 00", "truncated"],
    ["a tag of several bytes", "1f8101 00", "tag"],
    ["end-of-contents", "0000", "tag"],
    ["a constructed OCTET STRING", "2403 0401 00", "tag"],
    ["a primitive SEQUENCE", "1000", "tag"],
    ["a bad element deep inside", "3006 3004 3102 0480", "length"],
  ])("refuses %s", (_what, bytes, code) => {
    expect(codeOf(() => parseDer(hex(bytes)))).toBe(code);
  });

  it("refuses nesting beyond the depth limit and accepts it at the limit", () => {
    let deep = derSequence();
    for (let level = 1; level < 16; level++) {
      deep = derSequence(deep);
    }
    expect(codeOf(() => parseDer(deep))).toBe("accepted");
    expect(codeOf(() => parseDer(derSequence(deep)))).toBe("tooDeep");
  });

  it("refuses more bytes than the limit", () => {
    expect(codeOf(() => parseDer(derOctets(new Uint8Array(100)), { maxBytes: 100 }))).toBe("tooLarge");
  });

  it("keeps raw slices of children", () => {
    const inner = derOctets(hex("0102"));
    const [first, second] = childrenOf(parseDer(derSequence(inner, derTrue())));
    expect(first && rawOf(first)).toEqual(inner);
    expect(first && [...contentOf(first)]).toEqual([1, 2]);
    expect(readBoolean(second, "x")).toBe(true);
  });

  it("throws nothing but DerError for any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        expect(codeOf(() => parseDer(bytes))).not.toMatch(/^not a DerError/);
      }),
    );
  });

  it("reads back what the writer wrote, for any length", () => {
    for (const length of [0, 1, 127, 128, 255, 256, 65_535, 65_536, 70_000]) {
      const bytes = Buffer.alloc(length, 7);
      expect(Buffer.compare(contentOf(parseDer(derOctets(bytes))), bytes)).toBe(0);
    }
  });
});

describe("primitive values", () => {
  it.each([
    ["an empty INTEGER", "0200"],
    ["an INTEGER with a needless 00", "02020001"],
    ["an INTEGER with a needless ff", "0202ff80"],
  ])("refuses %s", (_what, bytes) => {
    expect(codeOf(() => readInteger(parseDer(hex(bytes)), "n"))).toBe("value");
  });

  it("refuses negative and large numbers where small ones belong", () => {
    expect(codeOf(() => readSmallInteger(parseDer(hex("0201ff")), "n"))).toBe("value");
    expect(codeOf(() => readSmallInteger(parseDer(hex("02050100000000")), "n"))).toBe("value");
    expect(codeOf(() => readUnsigned(parseDer(hex("0201ff")), "n"))).toBe("value");
  });

  it.each(["010101", "0100", "01020000"])("refuses the BOOLEAN %s", (bytes) => {
    expect(codeOf(() => readBoolean(parseDer(hex(bytes)), "b"))).toBe("value");
  });

  it.each([
    ["an empty one", "0600"],
    ["one that ends in the middle of an arc", "06022a86"],
    ["an arc with leading zeros", "06032a8001"],
    ["an arc beyond 2^53", "060a2affffffffffffffff7f"],
    ["65 bytes", "0641" + "2a".repeat(65)],
  ])("refuses %s as OBJECT IDENTIFIER", (_what, bytes) => {
    expect(codeOf(() => readOid(parseDer(hex(bytes)), "oid"))).toBe("value");
  });

  it("round-trips object identifiers", () => {
    const arc = fc.nat({ max: 2 ** 31 - 1 });
    fc.assert(
      fc.property(fc.nat({ max: 2 }), fc.nat({ max: 39 }), fc.array(arc, { maxLength: 8 }), (top, second, rest) => {
        const dotted = [top, second, ...rest].join(".");
        expect(readOid(parseDer(derOid(dotted)), "oid")).toBe(dotted);
      }),
    );
    expect(readOid(parseDer(hex("0603883703")), "oid")).toBe("2.999.3");
  });

  it("round-trips non-negative numbers", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 24 }), (bytes) => {
        const back = readUnsigned(parseDer(derUnsigned(bytes)), "n");
        expect(BigInt(`0x${Buffer.from(back).toString("hex")}`)).toBe(
          BigInt(`0x${Buffer.from(bytes).toString("hex")}`),
        );
      }),
    );
  });

  it("round-trips named bits in their shortest form", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat({ max: 8 })), (bits) => {
        expect(readNamedBits(parseDer(derNamedBits(bits)), "bits")).toEqual(new Set(bits));
      }),
    );
    expect(Buffer.from(derNamedBits([0, 2])).toString("hex")).toBe("030205a0");
    expect(Buffer.from(derNamedBits([8])).toString("hex")).toBe("0303070080");
  });

  it.each(["030208a0", "0300", "030101", "030205a1", "0304000000ff"])("refuses the named bits %s", (bytes) => {
    expect(codeOf(() => readNamedBits(parseDer(hex(bytes)), "bits"))).toBe("value");
  });
});

describe("times", () => {
  it("writes UTCTime before 2050 and GeneralizedTime from then on", () => {
    expect(derTime(Date.UTC(2049, 11, 31, 23, 59, 59))[0]).toBe(tags.utcTime);
    expect(derTime(Date.UTC(2050, 0, 1))[0]).toBe(tags.generalizedTime);
    expect(derTime(Date.UTC(1949, 11, 31))[0]).toBe(tags.generalizedTime);
  });

  it("round-trips whole seconds", () => {
    const max = Date.UTC(9999, 11, 31) / 1000;
    fc.assert(
      fc.property(fc.integer({ min: Date.UTC(1900, 0, 1) / 1000, max }), (seconds) => {
        expect(readTime(parseDer(derTime(seconds * 1000)), "time")).toBe(seconds * 1000);
      }),
    );
  });

  it.each(["260230120000Z", "2611210205Z", "261121020549+0100", "261321020549Z", "261121240000Z", "26112102054xZ"])(
    "refuses the UTCTime %s",
    (text) => {
      expect(codeOf(() => readTime(parseDer(derElement(tags.utcTime, Buffer.from(text))), "time"))).toBe("value");
    },
  );

  it("refuses fractions of a second", () => {
    const bytes = derElement(tags.generalizedTime, Buffer.from("20261121020549.5Z"));
    expect(codeOf(() => readTime(parseDer(bytes), "time"))).toBe("value");
  });
});
