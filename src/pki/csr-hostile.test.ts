import { constants, generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { describe, expect, it } from "vitest";
import { CsrError, parseCsrDer } from "./csr.ts";
import { tags } from "./der.ts";
import { derBitBytes, derElement, derOctets, derOid, derSequence, derTrue, derUnsigned } from "./der-writer.ts";
import { generatePrivateKey, spkiOf } from "./keys.ts";
import { buildName } from "./names.ts";
import { oids } from "./oids.ts";

const key = generatePrivateKey();
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const derNull = derElement(tags.null);
const ecdsaSha256 = derSequence(derOid(oids.ecdsaWithSha256));

/** Parts of a request; each may be replaced by something that no honest client sends. The signature over them is right. */
interface Forgery {
  readonly version?: Uint8Array;
  readonly subject?: Uint8Array;
  readonly spki?: Uint8Array;
  readonly attributes?: readonly Uint8Array[];
  readonly key?: KeyObject;
  readonly algorithm?: Uint8Array;
  readonly sign?: (info: Uint8Array) => Uint8Array;
  readonly extraInfo?: readonly Uint8Array[];
}

function forge(parts: Forgery = {}): Uint8Array {
  const info = derSequence(
    parts.version ?? derUnsigned(Uint8Array.of(0)),
    parts.subject ?? buildName({ commonName: "system:node:a", organizations: ["system:nodes"] }),
    parts.spki ?? spkiOf(parts.key ?? key),
    derElement(0xa0, ...(parts.attributes ?? [])),
    ...(parts.extraInfo ?? []),
  );
  const signature = parts.sign?.(info) ?? sign("sha256", info, parts.key ?? key);
  return derSequence(info, parts.algorithm ?? ecdsaSha256, derBitBytes(signature));
}

function codeOf(der: Uint8Array): string {
  try {
    parseCsrDer(der);
  } catch (error) {
    return error instanceof CsrError ? error.code : `not a CsrError: ${String(error)}`;
  }
  return "accepted";
}

const extension = (oid: string, value: Uint8Array): Uint8Array => derSequence(derOid(oid), derOctets(value));
const attribute = (oid: string, ...values: Uint8Array[]): Uint8Array =>
  derSequence(derOid(oid), derElement(tags.set, ...values));
const request = (...extensions: Uint8Array[]): Uint8Array =>
  attribute(oids.extensionRequest, derSequence(...extensions));
const dns = (name: string): Uint8Array => derElement(0x82, Buffer.from(name, "latin1"));
const san = (...names: Uint8Array[]): Uint8Array => extension(oids.subjectAltName, derSequence(...names));

/** The element with its length written as BER allows and DER does not: one byte more than needed. */
function longLength(der: Uint8Array): Uint8Array {
  const count = (der[1] ?? 0) & 0x7f;
  const isLong = (der[1] ?? 0) >= 0x80;
  const digits = isLong ? der.subarray(2, 2 + count) : der.subarray(1, 2);
  const content = der.subarray(isLong ? 2 + count : 2);
  return Buffer.concat([Uint8Array.of(der[0] ?? 0, 0x81 + digits.length, 0), digits, content]);
}

function indefinite(der: Uint8Array): Uint8Array {
  const header = (der[1] ?? 0) >= 0x80 ? 2 + ((der[1] ?? 0) & 0x7f) : 2;
  return Buffer.concat([Uint8Array.of(der[0] ?? 0, 0x80), der.subarray(header), new Uint8Array(2)]);
}

function ecSpki(curve: Uint8Array, point: Uint8Array): Uint8Array {
  return derSequence(derSequence(derOid(oids.ecPublicKey), curve), derBitBytes(point));
}

function rsaSpki(modulus: Uint8Array, exponent: Uint8Array): Uint8Array {
  const numbers = derSequence(derUnsigned(modulus), derUnsigned(exponent));
  return derSequence(derSequence(derOid(oids.rsaEncryption), derNull), derBitBytes(numbers));
}

const secp256k1 = generateKeyPairSync("ec", { namedCurve: "secp256k1" }).privateKey;
const explicit = generateKeyPairSync("ec", { namedCurve: "P-256", paramEncoding: "explicit" }).privateKey;
const rsa1024 = generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey;
const rsaPssKey = generateKeyPairSync("rsa-pss", { modulusLength: 2048 }).privateKey;
const sha256WithRsa = derSequence(derOid(oids.sha256WithRsa), derNull);
const point = spkiOf(key).subarray(-65);

const pssParameters = (hash: string, salt: number, maskHash: string = hash): Uint8Array =>
  derSequence(
    derElement(0xa0, derSequence(derOid(hash), derNull)),
    derElement(0xa1, derSequence(derOid(oids.mgf1), derSequence(derOid(maskHash), derNull))),
    derElement(0xa2, derUnsigned(Uint8Array.of(salt))),
  );
const pss = (parameters: Uint8Array, hash: string, saltLength: number): Uint8Array =>
  forge({
    key: rsa,
    algorithm: derSequence(derOid(oids.rsaPss), parameters),
    sign: (info) => sign(hash, info, { key: rsa, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }),
  });

describe("a forged request", () => {
  it("is accepted when nothing in it is wrong, so that each refusal below has one cause", () => {
    expect(codeOf(forge())).toBe("accepted");
    expect(codeOf(forge({ attributes: [request(san(dns("a.example")))] }))).toBe("accepted");
    expect(codeOf(forge({ key: rsa, algorithm: sha256WithRsa }))).toBe("accepted");
    for (const [hash, oid, bytes] of [
      ["sha256", oids.sha256, 32],
      ["sha384", oids.sha384, 48],
      ["sha512", oids.sha512, 64],
    ] as const) {
      expect(codeOf(pss(pssParameters(oid, bytes), hash, bytes))).toBe("accepted");
    }
  });

  it.each([
    ["has trailing bytes", Buffer.concat([forge(), Uint8Array.of(0)]), "encoding"],
    ["has an indefinite length", indefinite(forge()), "encoding"],
    ["has a length that is not minimal", longLength(forge()), "encoding"],
    [
      "has a subject whose length is not minimal",
      forge({ subject: longLength(buildName({ commonName: "a", organizations: [] })) }),
      "encoding",
    ],
    [
      "is larger than 64 KiB",
      forge({ attributes: [attribute("1.2.3", derOctets(new Uint8Array(65_536)))] }),
      "tooLarge",
    ],
    [
      "nests deeply",
      forge({
        attributes: [
          attribute(
            "1.2.3",
            Array.from({ length: 40 }).reduce<Uint8Array>((inner) => derSequence(inner), derNull),
          ),
        ],
      }),
      "encoding",
    ],
    ["has version 1", forge({ version: derUnsigned(Uint8Array.of(1)) }), "version"],
    ["has a version of another type", forge({ version: derNull }), "version"],
    ["has a fifth part", forge({ extraInfo: [derNull] }), "encoding"],
    ["is a SEQUENCE of nothing", derSequence(), "encoding"],
  ])("that %s is refused", (_what, der, code) => {
    expect(codeOf(der)).toBe(code);
  });

  const name = (...values: Uint8Array[]): Uint8Array =>
    derSequence(...values.map((value) => derElement(tags.set, derSequence(derOid(oids.commonName), value))));
  const utf8 = (bytes: string | Uint8Array): Uint8Array => derElement(tags.utf8String, Buffer.from(bytes));
  it.each([
    ["NUL in its common name", name(utf8("system:node:a\0.evil"))],
    ["two common names", name(utf8("system:node:a"), utf8("admin"))],
    ["invalid UTF-8", name(utf8(Uint8Array.of(0xff, 0xfe, 0x41)))],
    ["a common name of 60 KB", name(utf8("a".repeat(60_000)))],
    ["a subject that is no name", derSequence(derNull)],
  ])("with %s is refused for its subject", (_what, subject) => {
    expect(codeOf(forge({ subject }))).toBe("subject");
  });

  it.each([
    ["two extensionRequests", [request(san(dns("a"))), request(san(dns("b")))], "attributes"],
    [
      "two lists in one extensionRequest",
      [attribute(oids.extensionRequest, derSequence(san(dns("a"))), derSequence(san(dns("b"))))],
      "attributes",
    ],
    ["two other attributes of one kind", [attribute("1.2.3", derNull), attribute("1.2.3", derNull)], "attributes"],
    ["an attribute of three parts", [derSequence(derOid("1.2.3"), derElement(tags.set), derNull)], "attributes"],
    ["an empty extensionRequest", [attribute(oids.extensionRequest)], "extensions"],
    ["two subjectAltNames", [request(san(dns("a")), san(dns("b")))], "extensions"],
    [
      "two extensions of another kind",
      [request(extension("1.2.3", derNull), extension("1.2.3", derNull))],
      "extensions",
    ],
    [
      "a BOOLEAN critical of 0x01",
      [request(derSequence(derOid("1.2.3"), Uint8Array.of(1, 1, 1), derOctets(derNull)))],
      "extensions",
    ],
    [
      "an extension of four parts",
      [request(derSequence(derOid("1.2.3"), derTrue(), derOctets(derNull), derNull))],
      "extensions",
    ],
    ["malformed basicConstraints", [request(extension(oids.basicConstraints, derNull))], "extensions"],
    ["NUL in a DNS name", [request(san(dns("good.example\0.evil")))], "subjectAltName"],
    ["an IP of five bytes", [request(san(derElement(0x87, new Uint8Array(5))))], "subjectAltName"],
    [
      "an otherName",
      [request(san(dns("a"), derElement(0xa0, derOid("1.3.6.1.4.1.311.20.2.3"), derElement(0xa0, utf8("admin")))))],
      "subjectAltName",
    ],
    [
      "a directoryName",
      [request(san(derElement(0xa4, buildName({ commonName: "admin", organizations: [] }))))],
      "subjectAltName",
    ],
    ["no name in subjectAltName", [request(san())], "subjectAltName"],
    [
      "trailing bytes in subjectAltName",
      [request(extension(oids.subjectAltName, Buffer.concat([derSequence(dns("a")), Uint8Array.of(0)])))],
      "subjectAltName",
    ],
    [
      "BER inside subjectAltName",
      [request(extension(oids.subjectAltName, indefinite(derSequence(dns("a")))))],
      "subjectAltName",
    ],
  ])("with %s is refused", (_what, attributes, code) => {
    expect(codeOf(forge({ attributes }))).toBe(code);
  });

  it.each([
    ["RSA-1024", { key: rsa1024, algorithm: sha256WithRsa }],
    ["RSA of more than 8192 bits", { spki: rsaSpki(Buffer.alloc(1025, 0xff), Uint8Array.of(1, 0, 1)) }],
    ["RSA with exponent 1", { spki: rsaSpki(Buffer.alloc(256, 0xff), Uint8Array.of(1)) }],
    ["RSA with a huge exponent", { spki: rsaSpki(Buffer.alloc(256, 0xff), Buffer.alloc(255, 0xff)) }],
    ["RSA with an even modulus", { spki: rsaSpki(Buffer.alloc(256, 0xfe), Uint8Array.of(1, 0, 1)) }],
    ["RSA-PSS only", { key: rsaPssKey, algorithm: sha256WithRsa, sign: () => new Uint8Array(256) }],
    ["secp256k1", { key: secp256k1 }],
    ["explicit curve parameters", { key: explicit }],
    [
      "a compressed point",
      { spki: ecSpki(derOid(oids.p256), Buffer.concat([Uint8Array.of(2), point.subarray(1, 33)])) },
    ],
    [
      "a point that is not on the curve",
      { spki: ecSpki(derOid(oids.p256), Buffer.concat([Uint8Array.of(4), new Uint8Array(64)])) },
    ],
    ["a P-256 point that claims P-384", { spki: ecSpki(derOid(oids.p384), point) }],
    ["Ed25519 of 31 bytes", { spki: derSequence(derSequence(derOid(oids.ed25519)), derBitBytes(new Uint8Array(31))) }],
    ["an unknown algorithm", { spki: derSequence(derSequence(derOid("1.2.3.4")), derBitBytes(point)) }],
  ] satisfies [string, Forgery][])("whose key is %s is refused for its key", (_what, parts) => {
    expect(codeOf(forge(parts))).toBe("publicKey");
  });

  it.each([
    [
      "SHA-1 with RSA",
      {
        key: rsa,
        algorithm: derSequence(derOid("1.2.840.113549.1.1.5"), derNull),
        sign: (info: Uint8Array) => sign("sha1", info, rsa),
      },
    ],
    [
      "MD5 with RSA",
      {
        key: rsa,
        algorithm: derSequence(derOid("1.2.840.113549.1.1.4"), derNull),
        sign: (info: Uint8Array) => sign("md5", info, rsa),
      },
    ],
    [
      "SHA-1 with ECDSA",
      { algorithm: derSequence(derOid("1.2.840.10045.4.1")), sign: (info: Uint8Array) => sign("sha1", info, key) },
    ],
    ["ECDSA with stray parameters", { algorithm: derSequence(derOid(oids.ecdsaWithSha256), derNull) }],
    ["an algorithm of three parts", { algorithm: derSequence(derOid(oids.sha256WithRsa), derNull, derNull) }],
  ] satisfies [string, Forgery][])("signed with %s is refused for its algorithm", (_what, parts) => {
    expect(codeOf(forge(parts))).toBe("signatureAlgorithm");
  });

  it("signed with RSA-PSS over SHA-1, mixed hashes or another salt length is refused", () => {
    const sha1 = "1.3.14.3.2.26";
    expect(codeOf(pss(pssParameters(sha1, 20), "sha1", 20))).toBe("signatureAlgorithm");
    expect(codeOf(pss(derSequence(), "sha1", 20))).toBe("signatureAlgorithm");
    expect(codeOf(pss(pssParameters(oids.sha256, 20), "sha256", 20))).toBe("signatureAlgorithm");
    expect(codeOf(pss(pssParameters(oids.sha256, 32, sha1), "sha256", 32))).toBe("signatureAlgorithm");
    expect(codeOf(pss(pssParameters(oids.sha256, 32), "sha256", 20))).toBe("signature");
  });

  it.each([
    ["another key", { sign: (info: Uint8Array) => sign("sha256", info, generatePrivateKey()) }],
    ["an empty signature", { sign: () => new Uint8Array() }],
    ["r and s of zero", { sign: () => derSequence(derUnsigned(Uint8Array.of(0)), derUnsigned(Uint8Array.of(0))) }],
    ["an algorithm that is not of its key", { algorithm: sha256WithRsa }],
    ["another hash than it says", { sign: (info: Uint8Array) => sign("sha384", info, key) }],
  ] satisfies [string, Forgery][])("signed with %s is refused for its signature", (_what, parts) => {
    expect(codeOf(forge(parts))).toBe("signature");
  });

  it("that asks for a CA is read, and says so", () => {
    const ca = extension(oids.basicConstraints, derSequence(derTrue()));
    const certSign = extension(oids.keyUsage, Uint8Array.of(3, 2, 2, 4));
    const plain = extension(oids.basicConstraints, derSequence(Uint8Array.of(1, 1, 0)));
    expect(parseCsrDer(forge({ attributes: [request(ca)] })).asksForCa).toBe(true);
    expect(parseCsrDer(forge({ attributes: [request(certSign)] })).asksForCa).toBe(true);
    expect(parseCsrDer(forge({ attributes: [request(plain)] })).asksForCa).toBe(false);
  });
});
