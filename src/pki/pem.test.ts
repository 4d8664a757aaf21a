import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeOnePem, decodePem, encodePem, PemError } from "./pem.ts";

const codeOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return error instanceof PemError ? error.code : `not a PemError: ${String(error)}`;
  }
  return "accepted";
};
const block = encodePem("TEST", Uint8Array.of(1, 2, 3));

describe("decodePem", () => {
  it("round-trips any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), (bytes) => {
        expect(Buffer.compare(decodeOnePem(encodePem("A B", bytes), "A B"), bytes)).toBe(0);
      }),
    );
  });

  it("reads several blocks, CRLF and blanks at the end of lines", () => {
    const blocks = decodePem((block + encodePem("OTHER", Uint8Array.of(4))).replaceAll("\n", "  \r\n"));
    expect(blocks.map(({ label, bytes }) => [label, [...bytes]])).toEqual([
      ["TEST", [1, 2, 3]],
      ["OTHER", [4]],
    ]);
  });

  it.each([
    ["nothing", "", "empty"],
    ["text before the block", `hello\n${block}`, "text"],
    ["text after the block", `${block}hello`, "text"],
    ["no END", block.replace(/-----END.*\n/, ""), "unterminated"],
    ["another END", block.replace("END TEST", "END REST"), "unterminated"],
    ["BEGIN within a block", block.replace("AQID", "AQID\n-----BEGIN TEST-----"), "unterminated"],
    ["an END alone", "-----END TEST-----\n", "text"],
    ["headers", block.replace("AQID", "Proc-Type: 4,ENCRYPTED\n\nAQID"), "headers"],
    ["foreign letters", block.replace("AQID", "AQ*D"), "base64"],
    ["base64url", block.replace("AQID", "__-_"), "base64"],
    ["stray bits before the padding", block.replace("AQID", "AR=="), "base64"],
    ["missing padding", block.replace("AQID", "AQ"), "base64"],
    ["blanks inside", block.replace("AQID", "AQ ID"), "base64"],
    ["an empty body", block.replace("AQID\n", ""), "base64"],
    ["too much", "x".repeat(2_000_000), "tooLarge"],
  ])("refuses %s", (_what, text, code) => {
    expect(codeOf(() => decodePem(text))).toBe(code);
  });

  it("skips words around blocks only when told to", () => {
    const text = `Certificate:\n    Data:\n${block}more\n`;
    expect(decodePem(text, { surroundingText: "ignore" })).toHaveLength(1);
    expect(codeOf(() => decodePem(`-----BEGIN lower-----\n${block}`, { surroundingText: "ignore" }))).toBe("text");
  });

  it("throws nothing but PemError for any change to a text", () => {
    fc.assert(
      fc.property(fc.nat({ max: block.length }), fc.string({ maxLength: 4 }), fc.nat({ max: 4 }), (at, put, cut) => {
        const changed = block.slice(0, at) + put + block.slice(at + cut);
        expect(codeOf(() => decodePem(changed))).not.toMatch(/^not a PemError/);
      }),
    );
  });
});

describe("decodeOnePem", () => {
  it("refuses another label and a second block", () => {
    expect(() => decodeOnePem(block, "CERTIFICATE REQUEST")).toThrow("PEM block type must be CERTIFICATE REQUEST");
    expect(codeOf(() => decodeOnePem(block + block, "TEST"))).toBe("label");
  });
});
