import { randomBytes, webcrypto } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { createCa } from "./ca.ts";
import { issueCertificate } from "./certificate.ts";
import { createCsr, parseCsr } from "./csr.ts";
import { generatePrivateKey } from "./keys.ts";
import { subjectOf } from "./names.ts";
import { oids } from "./oids.ts";
import { parseCertificate } from "./parse-certificate.ts";
import { trustRootOf, verifyClientChain } from "./verify-chain.ts";

const now = Date.UTC(2026, 10, 21, 2, 5, 49);
const hour = 3_600_000;

/** The four functions of reflect-metadata that the library's container calls while it is loaded; the package itself is not installed. */
function provideMetadata(): void {
  const store = new WeakMap<object, Map<unknown, unknown>>();
  const own = (key: unknown, target: object): unknown => store.get(target)?.get(key);
  const define = (key: unknown, value: unknown, target: object): void => {
    store.set(target, (store.get(target) ?? new Map<unknown, unknown>()).set(key, value));
  };
  const found = (key: unknown, target: object | null): unknown =>
    target === null ? undefined : (own(key, target) ?? found(key, Object.getPrototypeOf(target)));
  for (const [name, value] of Object.entries({
    getMetadata: found,
    getOwnMetadata: own,
    defineMetadata: define,
    hasOwnMetadata: (key: unknown, target: object) => own(key, target) !== undefined,
  })) {
    Object.defineProperty(Reflect, name, { value, configurable: true, writable: true });
  }
}

describe("@peculiar/x509", () => {
  let x509: typeof import("@peculiar/x509");
  beforeAll(async () => {
    provideMetadata();
    x509 = await import("@peculiar/x509");
  });

  const ca = createCa({ commonName: "ca", key: generatePrivateKey(), now, years: 1, random: randomBytes });
  const csrPem = createCsr({
    key: generatePrivateKey(),
    commonName: "system:node:a",
    organizations: ["system:nodes", "b"],
    dnsNames: ["a.example"],
    ipAddresses: ["10.0.0.1", "2001:db8::1"],
  });

  it("reads and verifies our requests", async () => {
    const csr = new x509.Pkcs10CertificateRequest(csrPem);
    expect(await csr.verify()).toBe(true);
    expect(csr.subject).toBe("O=system:nodes, O=b, CN=system:node:a");
    const extension = csr.extensions.find((one) => one.type === oids.subjectAltName);
    const names = new x509.SubjectAlternativeNameExtension(extension?.rawData ?? new ArrayBuffer(0)).names;
    expect(names.toJSON().map((one) => one.value)).toEqual(["a.example", "10.0.0.1", "2001:db8::1"]);
  });

  it("reads and verifies our certificates with the same extensions as we do", async () => {
    const csr = parseCsr(csrPem);
    const { pem, der } = issueCertificate({
      issuer: ca,
      rawSubject: csr.rawSubject,
      spki: csr.spki,
      rawSans: csr.rawSans,
      usages: ["digital signature", "key encipherment", "client auth", "server auth"],
      notBefore: now,
      notAfter: now + hour,
      serial: randomBytes(16),
    });
    const theirs = new x509.X509Certificate(pem);
    const ours = parseCertificate(der);
    const issuer = new x509.X509Certificate(ca.pem);
    expect(await theirs.verify({ publicKey: issuer.publicKey, date: new Date(now + 1000) })).toBe(true);
    expect(theirs.serialNumber.replace(/^00/, "")).toBe(ours.serialNumber);
    expect([theirs.notBefore.getTime(), theirs.notAfter.getTime()]).toEqual([now, now + hour]);
    expect(theirs.extensions.map((one) => [one.type, one.critical])).toEqual(
      [...ours.extensions.values()].map((one) => [one.oid, one.critical]),
    );
    expect(theirs.getExtension(x509.KeyUsagesExtension)?.usages).toBe(
      x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyEncipherment,
    );
    expect(theirs.getExtension(x509.ExtendedKeyUsageExtension)?.usages).toEqual(ours.extendedKeyUsage);
    expect(theirs.getExtension(x509.AuthorityKeyIdentifierExtension)?.keyId).toBe(
      issuer.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId,
    );
  });

  it.each([
    ["ECDSA P-256", { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" }],
    ["ECDSA P-521", { name: "ECDSA", namedCurve: "P-521", hash: "SHA-512" }],
    [
      "RSA",
      { name: "RSASSA-PKCS1-v1_5", hash: "SHA-384", modulusLength: 2048, publicExponent: Uint8Array.of(1, 0, 1) },
    ],
    [
      "RSA-PSS",
      { name: "RSA-PSS", hash: "SHA-256", modulusLength: 2048, publicExponent: Uint8Array.of(1, 0, 1), saltLength: 32 },
    ],
    ["Ed25519", { name: "Ed25519" }],
  ])("makes %s requests and certificates that we read", async (_name, algorithm) => {
    const keys = (await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])) as webcrypto.CryptoKeyPair;
    const request = await x509.Pkcs10CertificateRequestGenerator.create({
      name: "O=system:nodes, CN=system:node:é",
      keys,
      signingAlgorithm: algorithm,
      extensions: [new x509.SubjectAlternativeNameExtension([{ type: "dns", value: "x.example" }])],
    });
    expect(parseCsr(request.toString("pem"))).toMatchObject({
      subject: { commonName: "system:node:é", organizations: ["system:nodes"] },
      sans: { dns: ["x.example"] },
    });

    const root = await x509.X509CertificateGenerator.createSelfSigned({
      name: "CN=their root",
      keys,
      signingAlgorithm: algorithm,
      notBefore: new Date(now),
      notAfter: new Date(now + hour),
      extensions: [new x509.BasicConstraintsExtension(true, 2, true)],
    });
    const leaf = await x509.X509CertificateGenerator.create({
      subject: "O=dev, CN=u",
      issuer: root.subject,
      publicKey: keys.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: algorithm,
      notBefore: new Date(now),
      notAfter: new Date(now + hour),
      extensions: [new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth])],
    });
    const rootCertificate = parseCertificate(new Uint8Array(root.rawData));
    expect(subjectOf(rootCertificate.subject, "s").commonName).toBe("their root");
    expect(rootCertificate.basicConstraints).toEqual({ isCa: true, pathLength: 2 });
    const verdict = verifyClientChain({
      leaf: new Uint8Array(leaf.rawData),
      intermediates: [],
      roots: [trustRootOf(rootCertificate)],
      now: now + 1000,
    });
    expect(verdict).toMatchObject({ ok: true, subject: { commonName: "u", organizations: ["dev"] } });
  });
});
