import { generateKeyPairSync, randomBytes, X509Certificate, type KeyObject } from "node:crypto";
import { describe, expect, it } from "vitest";
import { CaError, createCa, loadCa } from "./ca.ts";
import { issueCertificate } from "./certificate.ts";
import { exportPkcs8Pem, exportSec1Pem, generatePrivateKey, spkiOf, spkiPin } from "./keys.ts";
import { buildName } from "./names.ts";

const now = Date.UTC(2026, 10, 21, 2, 5, 49, 700);
const day = 86_400_000;
const key = generatePrivateKey();
const ca = createCa({ commonName: "pratique", key, now, years: 10, random: randomBytes });
const codeOf = (certificatePem: string, keyPem: string, at = now): string => {
  try {
    loadCa({ certificatePem, keyPem, now: at });
  } catch (error) {
    return error instanceof CaError ? error.code : String(error);
  }
  return "accepted";
};
const keyPem = exportSec1Pem(key);

describe("createCa", () => {
  it("makes a self-signed CA that node accepts", () => {
    const node = new X509Certificate(ca.pem);
    expect(node.ca).toBe(true);
    expect(node.verify(node.publicKey)).toBe(true);
    expect(node.checkIssued(node)).toBe(true);
    expect(node.subject).toBe("CN=pratique");
    expect(Date.parse(node.validFrom)).toBe(Date.UTC(2026, 10, 21, 2, 0, 49));
    expect(Date.parse(node.validTo)).toBe(Math.floor(now / 1000) * 1000 + 3650 * day);
  });

  it("pins the key as kubeadm does", () => {
    expect(ca.pin).toBe(spkiPin(spkiOf(key)));
    expect(ca.pin).toMatch(/^sha256:[0-9a-f]{64}$/);
  });
});

describe("loadCa", () => {
  it("loads what createCa made, with the key in either form", () => {
    const loaded = loadCa({ certificatePem: ca.pem, keyPem, now });
    expect(loaded.pin).toBe(ca.pin);
    expect(loaded.keyId).toEqual(ca.keyId);
    expect(codeOf(ca.pem, exportPkcs8Pem(key))).toBe("accepted");
    expect(codeOf(`Certificate:\n    Data:\n${ca.pem}`, keyPem)).toBe("accepted");
  });

  it.each([
    ["RSA", generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey],
    ["P-384", generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey],
    ["P-521", generateKeyPairSync("ec", { namedCurve: "P-521" }).privateKey],
    ["Ed25519", generateKeyPairSync("ed25519").privateKey],
  ])("loads and signs with a CA key of kind %s", (_kind, other: KeyObject) => {
    const made = createCa({ commonName: "x", key: other, now, years: 1, random: randomBytes });
    const loaded = loadCa({ certificatePem: made.pem, keyPem: exportPkcs8Pem(other), now });
    const { pem } = issueCertificate({
      issuer: loaded,
      rawSubject: buildName({ commonName: "u", organizations: [] }),
      spki: spkiOf(key),
      usages: ["client auth"],
      notBefore: now,
      notAfter: now + day,
      serial: randomBytes(16),
    });
    expect(new X509Certificate(pem).verify(new X509Certificate(made.pem).publicKey)).toBe(true);
  });

  const leafKey = generatePrivateKey();
  const leaf = (usages: readonly string[], role: "leaf" | "ca"): string =>
    issueCertificate({
      issuer: ca,
      rawSubject: buildName({ commonName: "u", organizations: [] }),
      spki: spkiOf(leafKey),
      usages,
      notBefore: now,
      notAfter: now + day,
      serial: randomBytes(16),
      role,
    }).pem;
  it.each([
    ["two certificates", ca.pem + ca.pem, keyPem, "certificate"],
    ["no certificate", "", keyPem, "certificate"],
    ["the key in place of the certificate", keyPem, keyPem, "certificate"],
    ["a damaged certificate", ca.pem.replace("MII", "MIJ"), keyPem, "certificate"],
    ["a leaf certificate", leaf(["cert sign"], "leaf"), exportSec1Pem(leafKey), "notCa"],
    ["a CA that may not sign certificates", leaf(["digital signature"], "ca"), exportSec1Pem(leafKey), "notCa"],
    ["another key", ca.pem, exportSec1Pem(generatePrivateKey()), "mismatch"],
    ["a key of another kind", ca.pem, exportPkcs8Pem(generateKeyPairSync("ed25519").privateKey), "mismatch"],
    ["no key", ca.pem, ca.pem, "key"],
  ])("refuses %s", (_what, certificatePem, withKey, code) => {
    expect(codeOf(certificatePem, withKey)).toBe(code);
  });

  it("refuses a CA that has expired or is not valid yet", () => {
    expect(codeOf(ca.pem, keyPem, now + 3651 * day)).toBe("expired");
    expect(codeOf(ca.pem, keyPem, now - day)).toBe("expired");
  });

  it("loads a subordinate CA, and a CA without any keyUsage as openssl makes them", () => {
    expect(codeOf(leaf(["cert sign"], "ca"), exportSec1Pem(leafKey))).toBe("accepted");
    expect(codeOf(leaf([], "ca"), exportSec1Pem(leafKey))).toBe("accepted");
  });
});
