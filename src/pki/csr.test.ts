import { generateKeyPairSync } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createCsr, CsrError, parseCsr, parseCsrDer } from "./csr.ts";
import { DerError } from "./der.ts";
import { generatePrivateKey, spkiOf } from "./keys.ts";
import { buildName } from "./names.ts";
import { decodeOnePem } from "./pem.ts";

const key = generatePrivateKey();
const pem = createCsr({
  key,
  commonName: "system:node:n1",
  organizations: ["system:nodes"],
  dnsNames: ["n1.example"],
  ipAddresses: ["10.0.0.1", "::1"],
});
const der = decodeOnePem(pem, "CERTIFICATE REQUEST");

const outcomeOf = (bytes: Uint8Array): string => {
  try {
    parseCsrDer(bytes);
  } catch (error) {
    return error instanceof CsrError ? "refused" : `not a CsrError: ${String(error)}`;
  }
  return "accepted";
};

describe("parseCsr", () => {
  it("reads what createCsr wrote and keeps subject, key and names byte for byte", () => {
    const csr = parseCsr(pem);
    expect(csr.subject).toEqual({ commonName: "system:node:n1", organizations: ["system:nodes"] });
    expect(Buffer.compare(csr.rawSubject, buildName(csr.subject))).toBe(0);
    expect(Buffer.compare(csr.spki, spkiOf(key))).toBe(0);
    expect(csr.sans).toEqual({ dns: ["n1.example"], ip: ["10.0.0.1", "::1"], email: [], uri: [], others: 0 });
    expect(csr.requestedExtensions).toEqual(["2.5.29.17"]);
    expect(csr.asksForCa).toBe(false);
    expect(csr.publicKey.asymmetricKeyType).toBe("ec");
  });

  it("accepts bytes as well as text, and a request without names or extensions", () => {
    const bare = createCsr({ key, commonName: "u" });
    expect(parseCsr(Buffer.from(bare))).toMatchObject({ subject: { commonName: "u" }, rawSans: undefined });
  });

  it.each([
    ["P-384", () => generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey, "p384"],
    ["P-521", () => generateKeyPairSync("ec", { namedCurve: "P-521" }).privateKey, "p521"],
    ["Ed25519", () => generateKeyPairSync("ed25519").privateKey, "ed25519"],
    ["RSA-2048", () => generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey, "rsa"],
  ])("accepts a request of an %s key", (_name, makeKey, kind) => {
    expect(parseCsr(createCsr({ key: makeKey(), commonName: "u" })).keyKind).toBe(kind);
  });

  it("refuses DER, another block type, a second block and text around it", () => {
    const codeOf = (input: string | Uint8Array): string => {
      try {
        parseCsr(input);
      } catch (error) {
        return error instanceof CsrError ? error.code : String(error);
      }
      return "accepted";
    };
    expect(codeOf(der)).toBe("pem");
    expect(codeOf(pem.replaceAll("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"))).toBe("pem");
    expect(codeOf(pem + pem)).toBe("pem");
    expect(codeOf(`hello\n${pem}`)).toBe("pem");
    expect(codeOf("")).toBe("pem");
    expect(codeOf("x".repeat(65_537))).toBe("tooLarge");
  });

  it("accepts no change of a single byte", () => {
    fc.assert(
      fc.property(fc.nat({ max: der.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const changed = Uint8Array.from(der);
        changed[at] = (changed[at] ?? 0) ^ flip;
        expect(() => parseCsrDer(changed)).toThrow(CsrError);
      }),
      { numRuns: 200 },
    );
  });

  it("accepts no truncation and throws nothing but CsrError", () => {
    for (let length = 0; length < der.length; length++) {
      expect(() => parseCsrDer(der.subarray(0, length))).toThrow(CsrError);
    }
  });

  it("throws nothing but CsrError for random bytes put in, over or out of a request", () => {
    const change = fc.record({
      at: fc.nat({ max: der.length }),
      put: fc.uint8Array({ maxLength: 8 }),
      cut: fc.nat({ max: 8 }),
    });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        let bytes = Buffer.from(der);
        for (const { at, put, cut } of changes) {
          bytes = Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + cut)]);
        }
        // Changes may cancel each other out; then, and only then, the request is still good.
        const expected = Buffer.compare(bytes, der) === 0 ? "accepted" : "refused";
        expect(outcomeOf(bytes)).toBe(expected);
      }),
      { numRuns: 200 },
    );
  });
});

describe("createCsr", () => {
  it("refuses names that parseCsr would refuse", () => {
    expect(() => createCsr({ key, commonName: "a\0b" })).toThrow(DerError);
    expect(() => createCsr({ key, commonName: "a", dnsNames: ["a b"] })).toThrow(DerError);
    expect(() => createCsr({ key, commonName: "a", ipAddresses: ["10.0.0"] })).toThrow(DerError);
  });
});
