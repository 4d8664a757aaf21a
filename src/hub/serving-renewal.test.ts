import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createCa } from "../pki/ca.ts";
import { generatePrivateKey } from "../pki/keys.ts";
import { servingCertificate, type KeyPair } from "./authority.ts";
import { servingRenewal } from "./serving-renewal.ts";

const day = 24 * 3600 * 1000;
const begun = Date.parse("2026-11-21T00:00:00Z");
const random = (size: number): Uint8Array => randomBytes(size);
const names = { dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"] };
const folders: string[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

/** Each sleep moves the clock on by what was asked for; after `days` the loop is stopped. */
async function renewals(days: number): Promise<readonly { readonly day: number; readonly pair: KeyPair }[]> {
  const dir = await mkdtemp(join(tmpdir(), "serving-"));
  folders.push(dir);
  const authority = createCa({ commonName: "pratique", key: generatePrivateKey(), now: begun, years: 10, random });
  const current = await servingCertificate(authority, names, { dir, now: begun, random });
  const stop = new AbortController();
  let now = begun;
  const clock = {
    now: () => now,
    sleep: async (ms: number) => {
      now += ms;
      if (now > begun + days * day) stop.abort();
    },
  };
  const seen: { readonly day: number; readonly pair: KeyPair }[] = [];
  const renew = (pair: KeyPair): void => void seen.push({ day: (now - begun) / day, pair });
  const failed = (error: unknown): void => {
    throw error;
  };
  await servingRenewal({
    authority: () => authority,
    names,
    dir,
    current,
    clock,
    random,
    signal: stop.signal,
    renew,
    failed,
  });
  return seen;
}

test("leaves a serving certificate alone while more than 90 days of it are left", async () => {
  expect(await renewals(270)).toEqual([]);
});

test("hands out a new serving certificate 90 days before the end, once each time", async () => {
  const seen = await renewals(600);
  expect(seen.map((one) => Math.round(one.day))).toEqual([275, 550]);
  expect(new Set(seen.map((one) => one.pair.certPem)).size).toBe(2);
});
