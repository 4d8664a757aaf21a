import { X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createCa } from "./ca.ts";
import { CertificateError, issueCertificate, type CertificateInput } from "./certificate.ts";
import { createCsr, parseCsr } from "./csr.ts";
import { generatePrivateKey, spkiOf } from "./keys.ts";
import { buildName, subjectOf } from "./names.ts";
import { oids } from "./oids.ts";
import { parseCertificate } from "./parse-certificate.ts";
import { buildSubjectAltNames } from "./subject-alt-name.ts";
import { keyUsageBits, knownUsages } from "./usages.ts";

const now = Date.UTC(2026, 10, 21, 2, 5, 49);
const random = (size: number): Uint8Array => Buffer.alloc(size, 0xa5);
const ca = createCa({ commonName: "test-ca", key: generatePrivateKey(), now, years: 10, random });
const leafKey = generatePrivateKey();
const input = (changes: Partial<CertificateInput> = {}): CertificateInput => ({
  issuer: ca,
  rawSubject: buildName({ commonName: "system:node:a", organizations: ["system:nodes"] }),
  spki: spkiOf(leafKey),
  usages: ["client auth", "digital signature"],
  notBefore: now - 300_000,
  notAfter: now + 3_600_000,
  serial: Buffer.from("ff00000000000000000000000000000f", "hex"),
  ...changes,
});
const issued = (changes: Partial<CertificateInput> = {}) => parseCertificate(issueCertificate(input(changes)).der);

describe("issueCertificate", () => {
  it("writes exactly the extensions that Kubernetes writes, in its way", () => {
    const certificate = issued();
    expect([...certificate.extensions.values()].map(({ oid, critical }) => [oid, critical])).toEqual([
      [oids.keyUsage, true],
      [oids.extendedKeyUsage, false],
      [oids.basicConstraints, true],
      [oids.authorityKeyIdentifier, false],
    ]);
    expect([...(certificate.keyUsage ?? [])]).toEqual([keyUsageBits.digitalSignature]);
    expect(certificate.extendedKeyUsage).toEqual([oids.clientAuth]);
    expect(certificate.basicConstraints).toEqual({ isCa: false, pathLength: undefined });
    expect(certificate.authorityKeyId).toEqual(ca.keyId);
    expect(certificate.notBefore).toBe(now - 300_000);
    expect(certificate.notAfter).toBe(now + 3_600_000);
    expect(certificate.serialNumber).toBe("ff00000000000000000000000000000f");
    expect(Buffer.compare(certificate.rawIssuer, ca.rawSubject)).toBe(0);
  });

  it("is signed by the CA, as node sees it", () => {
    const { pem } = issueCertificate(input());
    const node = new X509Certificate(pem);
    expect(node.verify(new X509Certificate(ca.pem).publicKey)).toBe(true);
    expect(node.ca).toBe(false);
    expect(node.checkIssued(new X509Certificate(ca.pem))).toBe(true);
    expect(pem.match(/BEGIN CERTIFICATE/g)).toHaveLength(1);
  });

  it("copies subject, key and alternative names byte for byte and nothing else of a request", () => {
    const csr = parseCsr(
      createCsr({
        key: leafKey,
        commonName: "u",
        organizations: ["b", "a"],
        dnsNames: ["x.example"],
        ipAddresses: ["::1"],
      }),
    );
    const certificate = issued({ rawSubject: csr.rawSubject, spki: csr.spki, rawSans: csr.rawSans });
    expect(Buffer.compare(certificate.subject.raw, csr.rawSubject)).toBe(0);
    expect(Buffer.compare(certificate.publicKey.spki, csr.spki)).toBe(0);
    expect(certificate.sans).toEqual(csr.sans);
    expect(subjectOf(certificate.subject, "s").organizations).toEqual(["b", "a"]);
  });

  it("marks alternative names critical when the subject is empty", () => {
    const rawSans = buildSubjectAltNames({ dns: ["a"] });
    const empty = issued({ rawSubject: buildName({ commonName: "", organizations: [] }), rawSans });
    expect(empty.extensions.get(oids.subjectAltName)?.critical).toBe(true);
    expect(issued({ rawSans }).extensions.get(oids.subjectAltName)?.critical).toBe(false);
  });

  it("knows every usage, merges the double ones and sorts purposes", () => {
    const certificate = issued({ usages: [...knownUsages()].reverse() });
    expect([...(certificate.keyUsage ?? [])]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(certificate.extendedKeyUsage).toEqual([
      oids.anyExtendedKeyUsage,
      ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((last) => `1.3.6.1.5.5.7.3.${last}`),
      "1.3.6.1.4.1.311.10.3.3",
      "2.16.840.1.113730.4.1",
    ]);
    expect([...(issued({ usages: ["signing", "digital signature"] }).keyUsage ?? [])]).toEqual([0]);
  });

  it("leaves out KeyUsage or ExtKeyUsage when no usage asks for it", () => {
    expect(issued({ usages: ["client auth"] }).keyUsage).toBeUndefined();
    expect(issued({ usages: ["digital signature"] }).extendedKeyUsage).toBeUndefined();
  });

  it("leaves out AuthorityKeyIdentifier when the CA has no SubjectKeyIdentifier", () => {
    expect(issued({ issuer: { ...ca, keyId: undefined } }).authorityKeyId).toBeUndefined();
  });

  it("writes times from 2050 on as node reads them", () => {
    const notAfter = Date.UTC(2051, 0, 2, 3, 4, 5);
    const { pem } = issueCertificate(input({ issuer: { ...ca, notAfter }, notAfter }));
    expect(Date.parse(new X509Certificate(pem).validTo)).toBe(notAfter);
  });

  it("refuses unknown usages, empty validity and validity beyond the CA", () => {
    expect(() => issueCertificate(input({ usages: ["fly"] }))).toThrow(CertificateError);
    expect(() => issueCertificate(input({ usages: ["__proto__"] }))).toThrow(CertificateError);
    expect(() => issueCertificate(input({ notAfter: now - 300_000 }))).toThrow(CertificateError);
    expect(() => issueCertificate(input({ notAfter: Number.NaN }))).toThrow(CertificateError);
    expect(() => issueCertificate(input({ notAfter: ca.notAfter + 1000 }))).toThrow(CertificateError);
  });

  it("refuses a serial number that is zero, empty or too long", () => {
    for (const size of [0, 16, 20]) {
      const serial = Buffer.alloc(size, size === 20 ? 1 : 0);
      expect(() => issueCertificate(input({ serial }))).toThrow(TypeError);
    }
  });
});
