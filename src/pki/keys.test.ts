import { createHash, generateKeyPairSync, type KeyObject } from "node:crypto";
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
  loadPublicKeys,
} from "./keys.ts";
import { encodePem } from "./pem.ts";
import { KeyError } from "./public-key.ts";
import * as fc from "fast-check";
import { createCa } from "./ca.ts";

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

const rsaPair = generateKeyPairSync("rsa", { modulusLength: 2048 });
const spki = (one: KeyObject): Buffer => Buffer.from(spkiOf(one));
const pemOf = (one: KeyObject, type: "spki" | "pkcs1"): string => one.export({ type, format: "pem" }).toString();
const publicPem = pemOf(rsaPair.publicKey, "spki");
const ca = createCa({
  commonName: "x",
  key,
  now: Date.now(),
  years: 1,
  random: (size) => new Uint8Array(size).fill(7),
});

describe("loadPublicKeys", () => {
  it.each([
    ["a public key", publicPem, rsaPair.publicKey],
    ["a public key in PKCS #1", pemOf(rsaPair.publicKey, "pkcs1"), rsaPair.publicKey],
    ["a private key in PKCS #8", exportPkcs8Pem(key), key],
    ["a private key in SEC1", exportSec1Pem(key), key],
    ["a private key in PKCS #1", pemOf(rsaPair.privateKey, "pkcs1"), rsaPair.privateKey],
    ["a certificate", ca.pem, key],
  ])("reads %s", (_name, pem, expected) => {
    const keys = loadPublicKeys(pem);
    expect(keys.map((one) => one.type)).toEqual(["public"]);
    expect(keys.map(spki)).toEqual([spki(expected)]);
  });

  it("reads all of a file, in order", () => {
    expect(loadPublicKeys(`${publicPem}${exportPkcs8Pem(key)}${publicPem}`).map(spki)).toEqual(
      [rsaPair.publicKey, key, rsaPair.publicKey].map(spki),
    );
  });

  it.each([
    ["an empty text", "", "missing"],
    ["a block of something else", "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n", "missing"],
    ["a weak RSA key", pemOf(generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey, "spki"), "weak"],
    [
      "a weak RSA key in PKCS #1",
      pemOf(generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey, "pkcs1"),
      "weak",
    ],
    [
      "a curve that nobody uses",
      pemOf(generateKeyPairSync("ec", { namedCurve: "secp256k1" }).publicKey, "spki"),
      "unsupported",
    ],
    ["bytes that are no key", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "malformed"],
    ["bytes that are no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "malformed"],
    [
      "a broken key after a good one",
      `${publicPem}-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n`,
      "malformed",
    ],
    [
      "an encrypted private key",
      key.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" }).toString(),
      "encrypted",
    ],
  ])("refuses %s", (_name, pem, code) => {
    expect(() => loadPublicKeys(pem)).toThrow(expect.objectContaining({ name: "KeyError", code }));
  });

  it("gives keys or throws KeyError, whatever a block holds", () => {
    const labels = fc.constantFrom("PUBLIC KEY", "RSA PUBLIC KEY", "CERTIFICATE", "PRIVATE KEY", "EC PRIVATE KEY");
    fc.assert(
      fc.property(labels, fc.base64String({ maxLength: 120 }), (label, body) => {
        const pem = `-----BEGIN ${label}-----\n${body.slice(0, 64)}\n-----END ${label}-----\n`;
        expect(outcome(() => loadPublicKeys(pem))).toMatch(/^(keys|KeyError)$/);
      }),
    );
  });
});

function outcome(load: () => unknown): string {
  try {
    load();
    return "keys";
  } catch (error) {
    return error instanceof Error ? error.name : String(error);
  }
}
