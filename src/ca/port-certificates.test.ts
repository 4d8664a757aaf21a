import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { type CertificateAuthority, createCa } from "../pki/ca.ts";
import { generatePrivateKey } from "../pki/keys.ts";
import type { Authorities } from "./ca-folder.ts";
import { certificateTimes } from "./hub-certificates.ts";
import type { LogEntry } from "../apimachinery/log-entry.ts";
import { portCertificates } from "./port-certificates.ts";

const day = 24 * 3600 * 1000;
const begun = Date.parse("2026-11-21T00:00:00Z");
const random = (size: number): Uint8Array => randomBytes(size);
const names = { dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"] };
const folders: string[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

function caOf(years: number): CertificateAuthority {
  return createCa({ commonName: "pratique", key: generatePrivateKey(), now: begun, years, random });
}

interface Shown {
  readonly day: number;
  readonly certPem: string;
}

/** Each look finds the clock where `days` says; after the last the loop is stopped. */
async function renewals(
  days: readonly number[],
  authorities: Authorities = credentialStatus(caOf(10)),
): Promise<{
  readonly seen: readonly Shown[];
  readonly nextCa: readonly Shown[];
  readonly log: readonly LogEntry[];
}> {
  const dir = await mkdtemp(join(tmpdir(), "serving-"));
  folders.push(dir);
  const stop = new AbortController();
  const [left, log, seen, nextCa] = [[...days], [] as LogEntry[], [] as Shown[], [] as Shown[]];
  let now = begun;
  const clock = {
    now: () => now,
    sleep: async (ms: number) => {
      expect(ms).toBeLessThanOrEqual(60_000);
      const next = left.shift();
      if (next === undefined) stop.abort();
      else now = begun + next * day;
    },
  };
  const certificates = await portCertificates({
    authorities: () => authorities,
    names,
    dir,
    clock,
    random,
    signal: stop.signal,
    log: (entry) => void log.push(entry),
  });
  const at = (certPem: string): Shown => ({ day: (now - begun) / day, certPem });
  await certificates.keep({
    renew: ({ certPem }) => {
      seen.push(at(certPem));
      expect(certificates.problem(now)).toBeUndefined();
    },
    alias: (_, { certPem }) => void nextCa.push(at(certPem)),
  }).stopped;
  return { seen, nextCa, log };
}

function credentialStatus(
  ...[signer, ...others]: readonly [CertificateAuthority, ...CertificateAuthority[]]
): Authorities {
  const state = others.length === 0 ? { signer: "ca" } : { signer: "ca", next: "ca-2" };
  return { state, signer, trusted: [signer, ...others], bundlePem: "", chainPem: "" };
}

test("leaves a serving certificate alone while more than 90 days of it are left", async () => {
  expect((await renewals([1, 100, 274])).seen).toEqual([]);
});

test("shows a new serving certificate 90 days before the end, once each time, and logs it", async () => {
  const { seen, log } = await renewals([274, 276, 277, 550, 551, 552]);
  expect(seen.map((one) => one.day)).toEqual([276, 551]);
  expect(new Set(seen.map((one) => one.certPem)).size).toBe(2);
  expect(log).toMatchObject([
    {
      level: "info",
      reason: "CertificateRenewed",
      message: "the hub renewed its serving certificate",
      notAfter: "2028-08-22T23:55:00Z",
    },
    { level: "info", reason: "CertificateRenewed", message: "the hub renewed its serving certificate" },
  ]);
});

test("replaces a certificate that has expired when the clock is set ahead, and one that is not valid yet when it is set back", async () => {
  const { seen } = await renewals([800, 800, 1]);
  expect(seen.map((one) => one.day)).toEqual([800, 1]);
  const [ahead, back] = seen.map((one) => certificateTimes(one.certPem));
  expect(ahead?.notAfter).toBeGreaterThan(begun + 800 * day);
  expect(back?.notBefore).toBeLessThan(begun + day);
});

test("does not make a certificate anew with each look that the end of the CA keeps short", async () => {
  expect((await renewals([300, 340, 360], credentialStatus(caOf(1)))).seen.map((one) => one.day)).toEqual([300]);
});

test("renews the certificate of the next CA beside it while a change of the CA goes on", async () => {
  const { nextCa } = await renewals([1, 276, 277], credentialStatus(caOf(10), caOf(10)));
  expect(nextCa.map((one) => one.day)).toEqual([0, 276]);
});

test("says once that it cannot renew, and names the CA as the problem, when the CA has expired", async () => {
  const authorities = credentialStatus(caOf(1));
  const { log } = await renewals([400, 401, 402], authorities);
  expect(log).toEqual([
    {
      level: "error",
      reason: "CertificateRenewalFailed",
      message: "the hub cannot renew its serving certificate",
      error: "the CA certificate has expired",
    },
  ]);
});
