import { generateKeyPairSync, X509Certificate, type KeyObject } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { issueCertificate } from "./certificate.ts";
import { buildName } from "./names.ts";
import { generatePrivateKey, spkiOf } from "./keys.ts";
import { parseCertificate, type ParsedCertificate } from "./parse-certificate.ts";
import type { KeyKind } from "./public-key.ts";
import { malleatedCertificate } from "./malleated-certificate.ts";

const curves = [
  ["p256", "P-256"],
  ["p384", "P-384"],
  ["p521", "P-521"],
] as const;

function issued(key: KeyObject, keyKind: KeyKind): ParsedCertificate {
  const rawSubject = buildName({ commonName: "ca", organizations: [] });
  const { der } = issueCertificate({
    issuer: { rawSubject, keyId: undefined, key, keyKind, notAfter: 7_200_000 },
    rawSubject: buildName({ commonName: "user", organizations: [] }),
    spki: spkiOf(generatePrivateKey()),
    usages: ["client auth"],
    notBefore: 0,
    notAfter: 3_600_000,
    serial: Uint8Array.of(7),
  });
  return parseCertificate(der);
}

describe("the twin of a certificate", () => {
  it.each(curves)(
    "is another certificate that the same key of %s vouches for, and whose twin is the first",
    (kind, namedCurve) => {
      const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve });
      for (let round = 0; round < 8; round += 1) {
        const one = issued(privateKey, kind);
        const malleated = malleatedCertificate(one, kind) ?? new Uint8Array();
        expect(Buffer.from(malleated).equals(one.raw)).toBe(false);
        expect(new X509Certificate(malleated).verify(publicKey)).toBe(true);
        expect(Buffer.from(malleatedCertificate(parseCertificate(malleated), kind) ?? []).equals(one.raw)).toBe(true);
      }
    },
  );

  it("is not there where signatures have one form", () => {
    const { privateKey } = generateKeyPairSync("ed25519");
    expect(malleatedCertificate(issued(privateKey, "ed25519"), "ed25519")).toBeUndefined();
    expect(malleatedCertificate(issued(privateKey, "ed25519"), "rsa")).toBeUndefined();
  });

  it("is not there for a signature that is none", () => {
    const one = issued(generatePrivateKey(), "p256");
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (signature) => {
        expect(() => malleatedCertificate({ ...one, signature }, "p256")).not.toThrow();
      }),
      { numRuns: 100 },
    );
    expect(malleatedCertificate({ ...one, signature: new Uint8Array(70) }, "p256")).toBeUndefined();
  });
});
