import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCa } from "./ca.ts";
import { generatePrivateKey } from "./keys.ts";
import { encodePem } from "./pem.ts";
import { revocationList } from "./revocation-list.ts";

const run = promisify(execFile);
const now = Date.UTC(2026, 10, 21);
const ca = createCa({
  commonName: "pratique",
  key: generatePrivateKey(),
  now,
  years: 1,
  random: (size) => Buffer.alloc(size, 7),
});
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
