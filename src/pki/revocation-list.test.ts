import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCa } from "./ca.ts";
import { generatePrivateKey } from "./keys.ts";
import { encodePem, decodeOnePem } from "./pem.ts";
import {
  revocationList,
  parseRevocationList,
  RevocationListFormError,
  verifyRevocationList,
} from "./revocation-list.ts";
import * as fc from "fast-check";
import { derBitBytes, derElement, derOid, derSequence, derTime, derUnsigned } from "./der-writer.ts";
import { buildExtension } from "./extensions.ts";
import { oids } from "./oids.ts";
import { signData, signingAlgorithm } from "./signature.ts";
import { loadTrustRoots } from "./verify-chain.ts";

const run = promisify(execFile);
const now = Date.UTC(2026, 10, 21);
const caOf = (commonName: string): ReturnType<typeof createCa> =>
  createCa({ commonName, key: generatePrivateKey(), now, years: 1, random: (size) => Buffer.alloc(size, 7) });
const ca = caOf("pratique");
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-crl-"));
  await writeFile(join(dir, "ca.pem"), ca.pem);
});
afterAll(() => rm(dir, { recursive: true }));

async function openssl(revoked: Parameters<typeof revocationList>[0]["revoked"], number = 3): Promise<string> {
  const der = revocationList({ issuer: ca, thisUpdate: now, nextUpdate: now + 86_400_000, number, revoked });
  const file = join(dir, "list.pem");
  await writeFile(file, encodePem("X509 CRL", der));
  const words = ["crl", "-in", file, "-CAfile", join(dir, "ca.pem"), "-noout", "-text"];
  const { stdout, stderr } = await run("openssl", words);
  return stdout + stderr;
}

describe("a revocation list", () => {
  it("is one to OpenSSL, which verifies it with the CA", async () => {
    const text = await openssl([
      { serialNumber: "0aff", at: now - 1000 },
      { serialNumber: "ff".repeat(19), at: Date.UTC(2050, 1, 1) },
    ]);
    expect(text).toContain("verify OK");
    expect(text).toContain("Version 2");
    expect(text).toContain("Issuer: CN = pratique");
    expect(text).toContain("Last Update: Nov 21 00:00:00 2026 GMT");
    expect(text).toContain("Next Update: Nov 22 00:00:00 2026 GMT");
    expect(text).toMatch(/X509v3 CRL Number: \n\s+3\n/);
    expect(text).toMatch(/Serial Number: 0AFF\n\s+Revocation Date: Nov 20 23:59:59 2026 GMT/);
    expect(text).toMatch(/Serial Number: (?:FF){19}\n\s+Revocation Date: Feb {2}1 00:00:00 2050 GMT/);
  });

  it("may have no entries, and a number that needs a leading zero", async () => {
    const text = await openssl([], now);
    expect(text).toContain("verify OK");
    expect(text).toContain("No Revoked Certificates.");
  });
});

const roots = loadTrustRoots(ca.pem);
const written = (revoked: Parameters<typeof revocationList>[0]["revoked"]): Uint8Array =>
  revocationList({ issuer: ca, thisUpdate: now, nextUpdate: now + 86_400_000, number: 3, revoked });

const hex = fc
  .uint8Array({ minLength: 1, maxLength: 20 })
  .filter(([first]) => first !== 0)
  .map((bytes) => Buffer.from(bytes).toString("hex"));
const seconds = fc.integer({ min: 0, max: 4_000_000_000 }).map((second) => second * 1000);

describe("a revocation list of the hub", () => {
  it("is read back as it was written, and verified by the CA that has signed it", () => {
    fc.assert(
      fc.property(fc.array(fc.record({ serialNumber: hex, at: seconds }), { maxLength: 20 }), (revoked) => {
        const list = parseRevocationList(written(revoked));
        expect(list).toMatchObject({ thisUpdate: now, nextUpdate: now + 86_400_000, revoked });
        expect(verifyRevocationList(list, roots)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it("is verified by no other CA, of another name or of another key under its name", () => {
    const list = parseRevocationList(written([{ serialNumber: "0a", at: now }]));
    for (const other of [caOf("others"), caOf("pratique")]) {
      expect(verifyRevocationList(list, loadTrustRoots(other.pem))).toBe(false);
      expect(verifyRevocationList(list, [...loadTrustRoots(other.pem), ...roots])).toBe(true);
    }
    expect(verifyRevocationList(list, [])).toBe(false);
  });

  it("with any byte changed, cut off or added is refused or not verified, and nothing else is thrown", () => {
    const good = written([{ serialNumber: "0aff", at: now }]);
    const change = fc.record({ at: fc.nat(good.length - 1), to: fc.nat(255), cut: fc.nat(3), add: fc.nat(3) });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        let bytes = Buffer.from(good);
        for (const { at, to, cut, add } of changes) {
          bytes[Math.min(at, bytes.length - 1)] = to;
          bytes = Buffer.concat([bytes.subarray(0, bytes.length - cut), Buffer.alloc(add, to)]);
        }
        fc.pre(!bytes.equals(good));
        expect(isTaken(bytes)).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });
});

function isTaken(bytes: Uint8Array): boolean {
  try {
    return verifyRevocationList(parseRevocationList(bytes), roots);
  } catch (error) {
    if (error instanceof RevocationListFormError) return false;
    throw error;
  }
}

describe("any bytes", () => {
  it("are refused with one kind of error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(isTaken(bytes)).toBe(false);
      }),
    );
  });
});

/** A list with parts that no hub writes; its signature is right. */
function forged(parts: {
  readonly version?: readonly Uint8Array[];
  readonly entries?: readonly Uint8Array[];
  readonly extensions?: readonly Uint8Array[];
}): Uint8Array {
  const algorithm = signingAlgorithm(ca.keyKind);
  const tbs = derSequence(
    ...(parts.version ?? [derUnsigned(Uint8Array.of(1))]),
    algorithm,
    ca.rawSubject,
    derTime(now),
    ...(parts.entries === undefined ? [] : [derSequence(...parts.entries)]),
    ...(parts.extensions === undefined ? [] : [derElement(0xa0, derSequence(...parts.extensions))]),
  );
  return derSequence(tbs, algorithm, derBitBytes(signData(ca.keyKind, ca.key, tbs)));
}

const entry = (serial: Uint8Array, ...more: readonly Uint8Array[]): Uint8Array =>
  derSequence(derUnsigned(serial), derTime(now), ...more);
const extension = (oid: string, critical: boolean, value = derUnsigned(Uint8Array.of(1))): Uint8Array =>
  buildExtension({ oid, critical, value });
const reason = (code: number): Uint8Array =>
  derSequence(extension(oids.reasonCode, false, derElement(0x0a, Uint8Array.of(code))));
const one = Uint8Array.of(1);

describe("a signed list", () => {
  it("may leave out the next update, entries and extensions, be of version 1, and give reasons", () => {
    for (const list of [
      forged({}),
      forged({ version: [], entries: [entry(one)] }),
      forged({ entries: [entry(one, reason(1)), entry(one, reason(6))], extensions: [extension("1.2.3", false)] }),
    ]) {
      expect(isTaken(list)).toBe(true);
    }
  });

  it.each<[string, Uint8Array, RegExp]>([
    ["of another version", forged({ version: [derUnsigned(Uint8Array.of(2))] }), /version must be 1 or 2/],
    ["with an empty list of entries", forged({ entries: [] }), /list of entries is empty/],
    ["with serial number 0", forged({ entries: [entry(Uint8Array.of(0))] }), /serial number is zero/],
    ["with a serial number of 21 bytes", forged({ entries: [entry(Buffer.alloc(21, 1))] }), /longer than 20 bytes/],
    ["with more entries than a hub keeps", forged({ entries: Array(20_001).fill(entry(one)) }), /more than 20000/],
    [
      "of version 1 with extensions",
      forged({ version: [], extensions: [extension("1.2.3", false)] }),
      /unexpected parts/,
    ],
    ["of changes only", forged({ extensions: [extension(oids.deltaCrlIndicator, true)] }), /it is a delta list/],
    [
      "of some certificates only",
      forged({ extensions: [extension("2.5.29.28", true)] }),
      /2\.5\.29\.28 is not understood/,
    ],
    [
      "whose entries name other issuers",
      forged({ entries: [entry(one, derSequence(extension("2.5.29.29", true)))] }),
      /2\.5\.29\.29 is not understood/,
    ],
    ["that takes a certificate off again", forged({ entries: [entry(one, reason(8))] }), /none of a complete list/],
    ["with bytes after it", Buffer.concat([forged({}), Buffer.alloc(1)]), /bytes after the end/],
    ["longer than 4 MiB", Buffer.alloc((4 << 20) + 1, 0x30), /larger than 4194304 bytes/],
    ["that is a certificate", loadTrustRoots(ca.pem)[0]?.certificate.raw ?? Buffer.alloc(0), /./],
  ])("%s is refused", (_, der, why) => {
    expect(() => parseRevocationList(der)).toThrow(RevocationListFormError);
    expect(() => parseRevocationList(der)).toThrow(why);
  });

  it("by an algorithm that is not accepted is not verified", () => {
    const sha1 = derSequence(derOid("1.2.840.10045.4.1"));
    const tbs = derSequence(derUnsigned(one), sha1, ca.rawSubject, derTime(now));
    expect(isTaken(derSequence(tbs, sha1, derBitBytes(signData(ca.keyKind, ca.key, tbs))))).toBe(false);
  });
});

describe("a revocation list that OpenSSL has made", () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "pratique-crl-"));
  });
  afterAll(() => rm(dir, { recursive: true }));
  const at = (name: string): string => join(dir, name);
  const openssl = (...words: readonly string[]): Promise<unknown> => promisify(execFile)("openssl", words);

  it.each(["ec -pkeyopt ec_paramgen_curve:P-256", "rsa:2048"])("with a key of %s is read and verified", async (key) => {
    const [kind = "", ...options] = key.split(" ");
    const made = ["-x509", "-newkey", kind, ...options, "-nodes", "-subj", "/O=others/CN=theirs"];
    await openssl("req", ...made, "-keyout", at("key.pem"), "-out", at("ca.pem"));
    const index = [
      "R\t271121000000Z\t261121000000Z,keyCompromise\t0AFF\tunknown\t/CN=a",
      "R\t271121000000Z\t261120000000Z\t80000000000000000000000000000001\tunknown\t/CN=b",
      "V\t271121000000Z\t\t0B\tunknown\t/CN=c",
    ];
    await writeFile(at("index.txt"), `${index.join("\n")}\n`);
    await writeFile(at("number"), "03\n");
    const config = ["[ca]", "default_ca=d", "[d]", `database=${at("index.txt")}`, `crlnumber=${at("number")}`];
    await writeFile(at("ca.cnf"), [...config, "crl_extensions=x", "[x]", "authorityKeyIdentifier=keyid"].join("\n"));
    const signing = ["-config", at("ca.cnf"), "-keyfile", at("key.pem"), "-cert", at("ca.pem"), "-md", "sha256"];
    await openssl("ca", "-gencrl", ...signing, "-crldays", "1", "-out", at("crl.pem"));
    const list = parseRevocationList(decodeOnePem(await readFile(at("crl.pem"), "utf8"), "X509 CRL"));
    expect(list.revoked).toEqual([
      { serialNumber: "0aff", at: now },
      { serialNumber: "80000000000000000000000000000001", at: now - 86_400_000 },
    ]);
    expect(verifyRevocationList(list, loadTrustRoots(await readFile(at("ca.pem"), "utf8")))).toBe(true);
    expect(verifyRevocationList(list, roots)).toBe(false);
  });
});
