import { randomBytes } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createCa } from "../pki/ca.ts";
import { generatePrivateKey } from "../pki/keys.ts";
import { certificatesOfBundle, parsePin, parsePins, PinError, pinnedCertificates } from "./pins.ts";

const hex = "ab".repeat(32);
const one = newCa("one");
const other = newCa("other");

function newCa(commonName: string): { readonly pem: string; readonly pin: string } {
  return createCa({
    commonName,
    key: generatePrivateKey(),
    now: Date.UTC(2026, 10, 21),
    years: 1,
    random: randomBytes,
  });
}

describe("parsePin", () => {
  it("takes prefix and digits in either case", () => {
    expect(parsePin(`SHA256:${hex.toUpperCase()}`)).toBe(`sha256:${hex}`);
  });

  it.each([
    ["another hash", `sha512:${hex}`],
    ["no prefix", hex],
    ["a short digest", `sha256:${hex.slice(1)}`],
    ["a long digest", `sha256:${hex}0`],
    ["a letter that is no digit", `sha256:${hex.slice(1)}g`],
    ["a blank", `sha256: ${hex}`],
    ["a newline", `sha256:${hex}\n`],
    ["nothing", ""],
  ])("refuses %s and names it", (_name, text) => {
    const error = failure(() => parsePins([`sha256:${hex}`, text]));
    expect(error).toBeInstanceOf(PinError);
    expect((error as PinError).message).toContain(JSON.stringify(text));
    expect((error as PinError).message).toContain("sha256: followed by 64 hexadecimal digits");
  });

  it("throws PinError or gives 64 digits, for any text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^sha256:[0-9a-fA-F]{63,65}$/)), (text) => {
        const result = failure(() => parsePin(text));
        expect(result instanceof PinError || /^sha256:[0-9a-f]{64}$/.test(String(result))).toBe(true);
      }),
    );
  });
});

describe("certificatesOfBundle", () => {
  it("finds each certificate with the hash of its public key", () => {
    const certificates = certificatesOfBundle(`# the hub\n${one.pem}\n${other.pem}`);
    expect(certificates.map((certificate) => certificate.pin)).toEqual([one.pin, other.pin]);
    expect(certificates.map((certificate) => certificate.pem)).toEqual([one.pem, other.pem]);
  });

  it("gives only those that are pinned, and none for no pins", () => {
    const certificates = certificatesOfBundle(one.pem + other.pem);
    expect(pinnedCertificates(parsePins([other.pin, `sha256:${hex}`]), certificates)).toEqual([certificates[1]]);
    expect(pinnedCertificates(parsePins([`sha256:${hex}`]), certificates)).toEqual([]);
    expect(pinnedCertificates([], certificates)).toEqual([]);
  });

  it.each([
    ["nothing", ""],
    ["words", "CA\n"],
    ["a private key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"],
    ["a block without end", "-----BEGIN CERTIFICATE-----\nAAAA\n"],
    ["a block that is no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"],
    ["a hundred and one blocks", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".repeat(101)],
    ["too much", "x".repeat(1_048_577)],
  ])("refuses %s", (_name, bundle) => expect(() => certificatesOfBundle(bundle)).toThrow(PinError));
});

function failure(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}
