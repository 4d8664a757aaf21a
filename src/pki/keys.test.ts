import { createHash, generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  exportPkcs8Pem,
  exportSec1Pem,
  generatePrivateKey,
  keyFingerprint,
  keyKindOf,
  loadPrivateKey,
  spkiOf,
  spkiPin,
} from "./keys.ts";
import { encodePem } from "./pem.ts";
import { KeyError } from "./public-key.ts";

const codeOf = (pem: string): string => {
  try {
    loadPrivateKey(pem);
  } catch (error) {
    return error instanceof KeyError ? error.code : String(error);
  }
  return "accepted";
};
const key = generatePrivateKey();
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;

describe("private keys", () => {
  it("are written as SEC1 and PKCS #8 and read back", () => {
    expect(exportSec1Pem(key)).toMatch(/^-----BEGIN EC PRIVATE KEY-----\n/);
    expect(exportPkcs8Pem(key)).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
    for (const pem of [exportSec1Pem(key), exportPkcs8Pem(key)]) {
      expect(Buffer.compare(spkiOf(loadPrivateKey(pem)), spkiOf(key))).toBe(0);
    }
  });

  it("are read in each accepted kind", () => {
    const pkcs1 = rsa.export({ type: "pkcs1", format: "pem" }).toString();
    expect(keyKindOf(loadPrivateKey(pkcs1))).toBe("rsa");
    expect(keyKindOf(loadPrivateKey(exportPkcs8Pem(generateKeyPairSync("ed25519").privateKey)))).toBe("ed25519");
    const p384 = generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey;
    expect(keyKindOf(loadPrivateKey(exportSec1Pem(p384)))).toBe("p384");
  });

  it("are found beside certificates and EC PARAMETERS", () => {
    const other = encodePem("CERTIFICATE", Uint8Array.of(1)) + encodePem("EC PARAMETERS", Uint8Array.of(1));
    expect(codeOf(other + exportSec1Pem(key))).toBe("accepted");
  });

  it.each([
    ["no key", encodePem("CERTIFICATE", Uint8Array.of(1)), "missing"],
    ["two keys", exportSec1Pem(key) + exportSec1Pem(key), "missing"],
    ["no PEM", "hello", "malformed"],
    [
      "an encrypted PKCS #8 key",
      key.export({ type: "pkcs8", format: "pem", cipher: "aes-128-cbc", passphrase: "x" }).toString(),
      "encrypted",
    ],
    [
      "an encrypted SEC1 key",
      key.export({ type: "sec1", format: "pem", cipher: "aes-128-cbc", passphrase: "x" }).toString(),
      "encrypted",
    ],
    ["an OpenSSH key", encodePem("OPENSSH PRIVATE KEY", Uint8Array.of(1)), "unsupported"],
    ["rubbish in the block", encodePem("PRIVATE KEY", Uint8Array.of(0x30, 0)), "malformed"],
    [
      "trailing bytes",
      encodePem("PRIVATE KEY", Buffer.concat([key.export({ type: "pkcs8", format: "der" }), Uint8Array.of(0)])),
      "malformed",
    ],
    ["RSA-1024", exportPkcs8Pem(generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey), "weak"],
    ["secp256k1", exportPkcs8Pem(generateKeyPairSync("ec", { namedCurve: "secp256k1" }).privateKey), "unsupported"],
    ["X25519", exportPkcs8Pem(generateKeyPairSync("x25519").privateKey), "unsupported"],
  ])("are refused when there is %s", (_what, pem, code) => {
    expect(codeOf(pem)).toBe(code);
  });

  it("never appear in a message", () => {
    const pem = exportSec1Pem(key).replace("-----END EC", "-----END XX");
    expect(() => loadPrivateKey(pem)).toThrow(/^private key: a PEM block has no matching END line$/);
  });
});

describe("pins and fingerprints", () => {
  it("are SHA-256 over the SubjectPublicKeyInfo", () => {
    const spki = spkiOf(key);
    const digest = createHash("sha256").update(spki).digest();
    expect(spkiPin(spki)).toBe(`sha256:${digest.toString("hex")}`);
    expect(keyFingerprint(spki)).toBe(`SHA256:${digest.toString("base64").slice(0, 43)}`);
  });
});
