import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  formatToken,
  generateToken,
  isBootstrapGroup,
  isTokenId,
  parseToken,
  requireToken,
  requireTokenId,
  secretsEqual,
  TokenError,
} from "./token.ts";

const malformed = {
  "upper case": "ABCDEF.0123456789abcdef",
  "a short secret": "abcdef.0123456789abcde",
  "a long secret": "abcdef.0123456789abcdef0",
  "a final newline": "abcdef.0123456789abcdef\n",
  "a second line": "abcdef.0123456789abcdef\nabcdef.0123456789abcdef",
  "a blank before": " abcdef.0123456789abcdef",
  "a NUL": "abcde\u0000.0123456789abcdef",
  "full-width digits": "abcdef.\uff10123456789abcdef",
  "a dotless i": "abcdef.0123456789abcde\u0131",
  "another separator": "abcdef-0123456789abcdef",
  nothing: "",
};

describe("token text", () => {
  it("reads id and secret", () => {
    expect(parseToken("abcdef.0123456789abcdef")).toEqual({ id: "abcdef", secret: "0123456789abcdef" });
    expect(formatToken(requireToken("abcdef.0123456789abcdef"))).toBe("abcdef.0123456789abcdef");
  });

  it.each(Object.entries(malformed))("refuses %s", (_name, text) => {
    expect(parseToken(text)).toBeUndefined();
    expect(() => requireToken(text)).toThrow(TokenError);
  });

  it("does not repeat a malformed token in the error", () => {
    expect(() => requireToken("abcdef.SECRETSECRET0000")).toThrow(/^(?!.*SECRET)/);
  });

  it("takes an id or a full token where an id is wanted", () => {
    expect(requireTokenId("abcdef")).toBe("abcdef");
    expect(requireTokenId("abcdef.0123456789abcdef")).toBe("abcdef");
    expect(() => requireTokenId("abcdef.")).toThrow(TokenError);
    expect(isTokenId("abcdef\n")).toBe(false);
  });

  it("accepts exactly what the pattern describes", () => {
    const text = fc.stringMatching(/^[a-z0-9]{5,7}\.[a-z0-9]{15,17}$/);
    fc.assert(
      fc.property(text, (one) => {
        expect(parseToken(one) !== undefined).toBe(one.indexOf(".") === 6 && one.length === 23);
      }),
    );
  });
});

describe("groups of a token", () => {
  it.each([
    "system:bootstrappers:a",
    "system:bootstrappers:kubeadm:default-node-token",
    `system:bootstrappers:${"a".repeat(256)}`,
  ])("accepts %s", (group) => expect(isBootstrapGroup(group)).toBe(true));

  it.each([
    "system:bootstrappers",
    "system:bootstrappers:",
    "system:bootstrappers:a:",
    "system:bootstrappers:a-",
    "system:bootstrappers:A",
    "system:bootstrappers:a\n",
    " system:bootstrappers:a",
    "system:masters",
    "xsystem:bootstrappers:a",
    `system:bootstrappers:${"a".repeat(257)}`,
    "",
  ])("refuses %j", (group) => expect(isBootstrapGroup(group)).toBe(false));
});

describe("generateToken", () => {
  it("maps bytes modulo 36 and discards those of 252 and above", () => {
    const bytes = [0, 9, 10, 35, 36, 251, 252, 253, 254, 255, ...Array.from({ length: 40 }, () => 1)];
    let at = 0;
    const random = (size: number): Uint8Array => Uint8Array.from(bytes.slice(at, (at += size)));
    expect(formatToken(generateToken(random))).toBe("09az0z.1111111111111111");
  });

  it("makes a valid token of any random source", () => {
    const sources = fc.infiniteStream(fc.integer({ min: 0, max: 255 }));
    fc.assert(
      fc.property(sources, (stream) => {
        const token = generateToken((size) => Uint8Array.from(stream.take(size)));
        expect(parseToken(formatToken(token))).toEqual(token);
      }),
    );
  });

  it("gives up on a source without usable bytes", () => {
    expect(() => generateToken((size) => new Uint8Array(size).fill(255))).toThrow(TypeError);
    expect(() => generateToken(() => new Uint8Array(0))).toThrow(TypeError);
  });
});

describe("secretsEqual", () => {
  it("compares texts of any length", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        expect(secretsEqual(one, other)).toBe(one === other);
        expect(secretsEqual(one, one)).toBe(true);
      }),
    );
  });

  it("takes a prefix for no match", () => {
    expect(secretsEqual("0123456789abcdef", "0123456789abcde")).toBe(false);
    expect(secretsEqual("", "0")).toBe(false);
  });
});
