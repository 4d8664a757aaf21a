import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SshKeyError } from "./ssh-public-key.ts";
import { parseSshPublicKey, sshPublicKeyOf } from "./ssh-public-key.ts";
import { sshFields } from "./ssh-public-key.ts";

const types = [
  ["rsa", "2048", "rsa"],
  ["ecdsa", "256", "p256"],
  ["ed25519", "256", "ed25519"],
] as const;

let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "pratique-ssh-"));
});

afterAll(() => rmSync(dir, { recursive: true, force: true }));

function keygen(type: string, bits: string): { readonly line: string; readonly fingerprint: string } {
  const file = join(dir, `${type}-${bits}`);
  execFileSync("ssh-keygen", ["-q", "-t", type, "-b", bits, "-N", "", "-C", "machine of rack 7", "-f", file]);
  const shown = execFileSync("ssh-keygen", ["-l", "-f", `${file}.pub`]).toString();
  return { line: readFileSync(`${file}.pub`, "utf8"), fingerprint: shown.split(" ")[1] ?? "" };
}

function codeOf(line: string): string {
  try {
    parseSshPublicKey(line);
    return "accepted";
  } catch (error) {
    if (error instanceof SshKeyError) return error.code;
    throw error;
  }
}

const base64 = (...fields: readonly Uint8Array[]): string => sshFields(...fields).toString("base64");
const name = (text: string): Buffer => Buffer.from(text);
const modulus = (bits: number): Buffer => Buffer.concat([Buffer.from([0]), Buffer.alloc(bits / 8, 0xff)]);
const rsa = (exponent: readonly number[], bits = 2048): string =>
  `ssh-rsa ${base64(name("ssh-rsa"), Buffer.from(exponent), modulus(bits))}`;

describe("a public key in OpenSSH's form", () => {
  it.each(types)(
    "made by ssh-keygen -t %s -b %s is read, with the fingerprint that ssh-keygen shows",
    (type, bits, kind) => {
      const { line, fingerprint } = keygen(type, bits);
      const key = parseSshPublicKey(line);
      expect(key).toMatchObject({ kind, fingerprint, comment: "machine of rack 7" });
      expect(`${key.text} machine of rack 7\n`).toBe(line);
      expect(sshPublicKeyOf(key.key)).toMatchObject({ kind, fingerprint, text: key.text });
    },
  );

  it("is refused when it is an RSA key below 2048 bits", () => {
    expect(codeOf(keygen("rsa", "1024").line)).toBe("weak");
  });

  it.each([
    ["nothing", "", "unsupported"],
    ["another type", "ssh-dss AAAA", "unsupported"],
    ["another curve", keyLine("ecdsa-sha2-nistp384"), "unsupported"],
    ["options before the type", `command="id" ${rsa([1, 0, 1])}`, "unsupported"],
    ["no key", "ssh-rsa", "malformed"],
    ["another type inside", `ssh-ed25519 ${base64(name("ssh-rsa"), Buffer.alloc(32))}`, "malformed"],
    ["a shorter point", `ssh-ed25519 ${base64(name("ssh-ed25519"), Buffer.alloc(31))}`, "malformed"],
    ["bytes behind the key", `ssh-ed25519 ${base64(name("ssh-ed25519"), Buffer.alloc(32), name(""))}`, "malformed"],
    ["a point that is not on the curve", point(Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 1)])), "malformed"],
    ["a point at infinity", point(Buffer.from([0])), "malformed"],
    ["a compressed point", point(Buffer.concat([Buffer.from([2]), Buffer.alloc(32, 1)])), "malformed"],
    ["a negative exponent", rsa([0x81]), "malformed"],
    ["a padded exponent", rsa([0, 3]), "malformed"],
    ["an even exponent", rsa([1, 0, 0]), "weak"],
    ["the exponent one", rsa([1]), "weak"],
    ["a modulus of 16384 bits", rsa([1, 0, 1], 16_384), "unsupported"],
    ["base64 with a line break inside", rsa([1, 0, 1]).replace("AAAA", "AA\nAA"), "malformed"],
    ["a second line", `${rsa([1, 0, 1])}\n${rsa([1, 0, 1])}`, "malformed"],
    ["a length beyond the end", `ssh-rsa ${Buffer.from([0, 0, 16, 0, 1]).toString("base64")}`, "malformed"],
    ["more than 16 KiB", `${rsa([1, 0, 1])} ${"c".repeat(17_000)}`, "malformed"],
  ])("with %s is refused", (_what, line, code) => {
    expect(codeOf(line)).toBe(code);
  });

  it("has one spelling: other bits behind the last byte are refused", () => {
    const { text } = sshPublicKeyOf(generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey);
    const last = text.at(-2) ?? "";
    expect(text.at(-1)).toBe("=");
    expect(codeOf(`${text.slice(0, -2)}${String.fromCodePoint((last.codePointAt(0) ?? 0) + 1)}=`)).toBe("malformed");
  });

  it("of a kind that machines do not ask with is not written", () => {
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-384" });
    expect(() => sshPublicKeyOf(publicKey)).toThrow(SshKeyError);
  });

  it("is accepted or refused with a reason, whatever the text", () => {
    const verdicts = new Set(["accepted", "malformed", "unsupported", "weak"]);
    const text = fc.oneof(
      fc.string(),
      fc
        .tuple(fc.constantFrom("ssh-rsa", "ssh-ed25519", "ecdsa-sha2-nistp256"), fc.uint8Array({ maxLength: 300 }))
        .map(([type, bytes]) => `${type} ${base64(name(type), bytes)}`),
    );
    expect(() =>
      fc.assert(
        fc.property(text, (line) => verdicts.has(codeOf(line))),
        { numRuns: 200 },
      ),
    ).not.toThrow();
  });
});

function keyLine(type: string): string {
  return `${type} ${base64(name(type), name("nistp384"), Buffer.alloc(97, 4))}`;
}

function point(bytes: Buffer): string {
  return `ecdsa-sha2-nistp256 ${base64(name("ecdsa-sha2-nistp256"), name("nistp256"), bytes)}`;
}
