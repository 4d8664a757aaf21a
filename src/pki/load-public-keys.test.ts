import { generateKeyPairSync, type KeyObject } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createCa } from "./ca.ts";
import { exportPkcs8Pem, exportSec1Pem, generatePrivateKey, spkiOf } from "./keys.ts";
import { loadPublicKeys } from "./load-public-keys.ts";

const key = generatePrivateKey();
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const spki = (one: KeyObject): Buffer => Buffer.from(spkiOf(one));
const pemOf = (one: KeyObject, type: "spki" | "pkcs1"): string => one.export({ type, format: "pem" }).toString();
const publicPem = pemOf(rsa.publicKey, "spki");
const ca = createCa({
  commonName: "x",
  key,
  now: Date.now(),
  years: 1,
  random: (size) => new Uint8Array(size).fill(7),
});

describe("loadPublicKeys", () => {
  it.each([
    ["a public key", publicPem, rsa.publicKey],
    ["a public key in PKCS #1", pemOf(rsa.publicKey, "pkcs1"), rsa.publicKey],
    ["a private key in PKCS #8", exportPkcs8Pem(key), key],
    ["a private key in SEC1", exportSec1Pem(key), key],
    ["a private key in PKCS #1", pemOf(rsa.privateKey, "pkcs1"), rsa.privateKey],
    ["a certificate", ca.pem, key],
  ])("reads %s", (_name, pem, expected) => {
    const keys = loadPublicKeys(pem);
    expect(keys.map((one) => one.type)).toEqual(["public"]);
    expect(keys.map(spki)).toEqual([spki(expected)]);
  });

  it("reads all of a file, in order", () => {
    expect(loadPublicKeys(`${publicPem}${exportPkcs8Pem(key)}${publicPem}`).map(spki)).toEqual(
      [rsa.publicKey, key, rsa.publicKey].map(spki),
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
