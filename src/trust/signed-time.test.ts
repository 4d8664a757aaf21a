import { generateKeyPairSync, randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createCa } from "../pki/ca.ts";
import { generatePrivateKey } from "../pki/keys.ts";
import { parsePin } from "./pins.ts";
import { isNonce, signTime, verifiedTime } from "./signed-time.ts";

const now = Date.UTC(2026, 10, 21, 8);
const ca = (name: string, key = generatePrivateKey()): ReturnType<typeof createCa> =>
  createCa({ commonName: name, key, now, years: 1, random: (size) => randomBytes(size) });
const [own, next, other] = [ca("own"), ca("next"), ca("other")];
const known = (one: ReturnType<typeof createCa>): { pem: string; pin: ReturnType<typeof parsePin> } => ({
  pem: one.pem,
  pin: parsePin(one.pin),
});
const nonce = "0123456789abcdefghijkl";
const answer = signTime({ nonce, time: now }, [own, next]);

describe("the time that a hub signs", () => {
  it("is believed by whoever trusts one of the CAs, with a key of any kind", () => {
    expect(verifiedTime(JSON.parse(JSON.stringify(answer)), nonce, [known(own)])).toBe(now);
    expect(verifiedTime(answer, nonce, [known(other), known(next)])).toBe(now);
    for (const key of [
      generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey,
      generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey,
      generateKeyPairSync("ed25519").privateKey,
    ]) {
      const one = ca("kind", key);
      expect(verifiedTime(signTime({ nonce, time: now }, [one]), nonce, [known(one)])).toBe(now);
    }
  });

  it("is not believed from another CA, for another nonce, changed, or signed by one and claimed for another", () => {
    expect(verifiedTime(answer, nonce, [known(other)])).toBeUndefined();
    expect(verifiedTime(answer, "another-nonce-of-22-char", [known(own)])).toBeUndefined();
    expect(verifiedTime({ ...answer, time: now + 1 }, nonce, [known(own)])).toBeUndefined();
    expect(verifiedTime({ ...answer, time: String(now) }, nonce, [known(own)])).toBeUndefined();
    const forged = signTime({ nonce, time: 0 }, [other]).signatures.map(({ signature }) => ({
      pin: own.pin,
      signature,
    }));
    expect(verifiedTime({ nonce, time: 0, signatures: forged }, nonce, [known(own)])).toBeUndefined();
    expect(
      verifiedTime({ ...answer, signatures: Array(11).fill(answer.signatures[0]) }, nonce, [known(own)]),
    ).toBeUndefined();
    expect(verifiedTime(answer, nonce, [])).toBeUndefined();
    expect(verifiedTime(answer, nonce, [{ pem: "no certificate", pin: parsePin(own.pin) }])).toBeUndefined();
  });

  it("is read from whatever an answer is, without a throw", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => verifiedTime(value, nonce, [known(own)]) === undefined),
      { numRuns: 200 },
    );
    expect(
      verifiedTime({ ...answer, signatures: [null, 1, { pin: 1, signature: 2 }] }, nonce, [known(own)]),
    ).toBeUndefined();
  });
});

describe("a nonce", () => {
  it.each([null, undefined, "", "short", "x".repeat(65), "0123456789abcdefghijk!", "0123456789abcdefghij\nl"])(
    "is not %j",
    (text) => {
      expect(isNonce(text)).toBe(false);
    },
  );
  it("is 22 to 64 characters of base64url", () => {
    expect(isNonce(randomBytes(16).toString("base64url"))).toBe(true);
    expect(isNonce(randomBytes(48).toString("base64url"))).toBe(true);
  });
});
