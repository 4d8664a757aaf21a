import { sign, generateKeyPairSync, X509Certificate, type KeyObject } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createCa } from "./ca.ts";
import { CertificateError, issueCertificate } from "./certificate.ts";
import {
  derBitBytes,
  derElement,
  derNamedBits,
  derOctets,
  derOid,
  derSequence,
  derTime,
  derUnsigned,
} from "./der-writer.ts";
import { generatePrivateKey, spkiOf } from "./keys.ts";
import { attributeTexts, buildName, subjectOf } from "./names.ts";
import { oids } from "./oids.ts";
import { malleatedCertificate, parseCertificate, type ParsedCertificate } from "./parse-certificate.ts";
import type { KeyKind } from "./public-key.ts";
import { buildSubjectAltNames } from "./subject-alt-name.ts";

const now = Date.UTC(2026, 10, 21, 2, 5, 49);
const key = generatePrivateKey();
const ca = createCa({ commonName: "ca", key, now, years: 1, random: (size) => Buffer.alloc(size, 1) });
const der = Buffer.from(
  issueCertificate({
    issuer: ca,
    rawSubject: buildName({ commonName: "u", organizations: ["b", "a"] }),
    spki: spkiOf(generatePrivateKey()),
    rawSans: buildSubjectAltNames({ dns: ["a.example"], ip: ["10.0.0.1"] }),
    usages: ["digital signature", "client auth"],
    notBefore: now,
    notAfter: now + 1000,
    serial: Uint8Array.of(1, 2),
  }).der,
);
const algorithm = derSequence(derOid(oids.ecdsaWithSha256));
const extension = (oid: string, value: Uint8Array): Uint8Array => derSequence(derOid(oid), derOctets(value));

interface Forgery {
  readonly version?: readonly Uint8Array[];
  readonly serial?: Uint8Array;
  readonly inner?: Uint8Array;
  readonly validity?: Uint8Array;
  readonly subject?: Uint8Array;
  readonly spki?: Uint8Array;
  readonly tail?: readonly Uint8Array[];
}

function forge(parts: Forgery = {}): Uint8Array {
  const tbs = derSequence(
    ...(parts.version ?? [derElement(0xa0, derUnsigned(Uint8Array.of(2)))]),
    parts.serial ?? derUnsigned(Uint8Array.of(1)),
    parts.inner ?? algorithm,
    ca.rawSubject,
    parts.validity ?? derSequence(derTime(now), derTime(now + 1000)),
    parts.subject ?? buildName({ commonName: "u", organizations: [] }),
    parts.spki ?? spkiOf(key),
    ...(parts.tail ?? []),
  );
  return derSequence(tbs, algorithm, derBitBytes(sign("sha256", tbs, key)));
}

const withExtensions = (...extensions: Uint8Array[]): Forgery => ({
  tail: [derElement(0xa3, derSequence(...extensions))],
});
const codeOf = (bytes: Uint8Array): string => {
  try {
    parseCertificate(bytes);
  } catch (error) {
    return error instanceof CertificateError ? error.code : `not a CertificateError: ${String(error)}`;
  }
  return "accepted";
};

describe("parseCertificate", () => {
  it("reads what issueCertificate wrote", () => {
    const certificate = parseCertificate(der);
    expect(subjectOf(certificate.subject, "s")).toEqual({ commonName: "u", organizations: ["b", "a"] });
    expect(certificate).toMatchObject({
      serialNumber: "0102",
      notBefore: now,
      notAfter: now + 1000,
      sans: { dns: ["a.example"], ip: ["10.0.0.1"] },
      signatureAlgorithm: { scheme: "ecdsa", hash: "sha256" },
      publicKey: { kind: "p256" },
    });
    expect(parseCertificate(ca.certificate.raw).subjectKeyId).toEqual(certificate.authorityKeyId);
  });

  it("reads the uid attribute of Kubernetes", () => {
    const uid = derElement(0x31, derSequence(derOid(oids.userUid), derElement(0x0c, Buffer.from("id-1"))));
    const { subject } = parseCertificate(forge({ subject: derSequence(uid) }));
    expect(attributeTexts(subject, oids.userUid, "s")).toEqual(["id-1"]);
  });

  it("leaves an algorithm that is not accepted undefined", () => {
    const sha1 = derSequence(derOid("1.2.840.10045.4.1"));
    const tbs = derSequence(
      derElement(0xa0, derUnsigned(Uint8Array.of(2))),
      derUnsigned(Uint8Array.of(1)),
      sha1,
      ca.rawSubject,
      derSequence(derTime(now), derTime(now + 1000)),
      ca.rawSubject,
      spkiOf(key),
    );
    const bytes = derSequence(tbs, sha1, derBitBytes(sign("sha1", tbs, key)));
    expect(parseCertificate(bytes).signatureAlgorithm).toBeUndefined();
  });

  it("accepts a forgery in which nothing is wrong, so that each refusal below has one cause", () => {
    expect(codeOf(forge())).toBe("accepted");
    expect(codeOf(forge(withExtensions(extension(oids.keyUsage, derNamedBits([0])))))).toBe("accepted");
  });

  it.each([
    ["trailing bytes", Buffer.concat([der, Uint8Array.of(0)]), "encoding"],
    ["more than 64 KiB", derSequence(new Uint8Array(65_536)), "encoding"],
    ["no version, which means 1", forge({ version: [] }), "version"],
    ["version 2", forge({ version: [derElement(0xa0, derUnsigned(Uint8Array.of(1)))] }), "version"],
    ["a negative serial number", forge({ serial: Uint8Array.of(2, 1, 0xff) }), "encoding"],
    ["two signature algorithms", forge({ inner: derSequence(derOid(oids.ecdsaWithSha384)) }), "signatureAlgorithm"],
    ["a validity of one time", forge({ validity: derSequence(derTime(now)) }), "validity"],
    [
      "a validity that is no time",
      forge({ validity: derSequence(derOctets(new Uint8Array(1)), derTime(now)) }),
      "validity",
    ],
    [
      "NUL in its subject",
      forge({
        subject: derSequence(
          derElement(0x31, derSequence(derOid(oids.commonName), derElement(0x0c, Buffer.from("a\0")))),
        ),
      }),
      "subject",
    ],
    [
      "a key of an unknown kind",
      forge({ spki: derSequence(derSequence(derOid("1.2.3")), derBitBytes(new Uint8Array(1))) }),
      "publicKey",
    ],
    ["an issuerUniqueID", forge({ tail: [derElement(0x81, Uint8Array.of(0, 1))] }), "extensions"],
    ["two parts after the key", forge({ tail: [derElement(0xa3), derElement(0xa3)] }), "version"],
    ["no extension in its list", forge(withExtensions()), "extensions"],
    [
      "two of one extension",
      forge(withExtensions(extension(oids.keyUsage, derNamedBits([0])), extension(oids.keyUsage, derNamedBits([5])))),
      "extensions",
    ],
    ["an empty extKeyUsage", forge(withExtensions(extension(oids.extendedKeyUsage, derSequence()))), "extensions"],
    [
      "a path length without CA",
      forge(withExtensions(extension(oids.basicConstraints, derSequence(derUnsigned(Uint8Array.of(1)))))),
      "extensions",
    ],
    [
      "a subjectAltName with NUL",
      forge(withExtensions(extension(oids.subjectAltName, derSequence(derElement(0x82, Buffer.from("a\0")))))),
      "extensions",
    ],
  ])("refuses a certificate with %s", (_what, bytes, code) => {
    expect(codeOf(bytes)).toBe(code);
  });

  it("throws nothing but CertificateError for truncation and for random changes", () => {
    for (let length = 0; length < der.length; length++) {
      expect(codeOf(der.subarray(0, length))).toBe("encoding");
    }
    fc.assert(
      fc.property(
        fc.nat({ max: der.length - 1 }),
        fc.uint8Array({ maxLength: 8 }),
        fc.nat({ max: 8 }),
        (at, put, cut) => {
          const bytes = Buffer.concat([der.subarray(0, at), put, der.subarray(at + cut)]);
          expect(codeOf(bytes)).not.toMatch(/^not a CertificateError/);
        },
      ),
      { numRuns: 200 },
    );
  });
});

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
