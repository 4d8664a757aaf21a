import {
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  privateDecrypt,
  constants,
  type KeyObject,
} from "node:crypto";
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { x25519PrivateOf, x25519PublicOf } from "./hpke.ts";
import { openAnswer, sealAnswer, SealError } from "./seal.ts";
import { sshPublicKeyOf } from "../pki/ssh-public-key.ts";

const pairs = {
  rsa: generateKeyPairSync("rsa", { modulusLength: 2048 }),
  p256: generateKeyPairSync("ec", { namedCurve: "P-256" }),
  ed25519: generateKeyPairSync("ed25519"),
} as const;
const kinds = ["rsa", "p256", "ed25519"] as const;
const answer = {
  token: "eyJh.b.c",
  ca: "-----BEGIN CERTIFICATE-----\n…\n",
  bootstrapToken: "abcdef.0123456789abcdef",
};
const terms = { binding: "request a of uid 1", random: (size: number) => randomBytes(size) };

async function codeOf(opening: Promise<unknown>): Promise<string> {
  return opening.then(
    () => "opened",
    (error: unknown) => (error instanceof SealError ? error.code : "thrown"),
  );
}

const recipient = (kind: (typeof kinds)[number]): { kind: typeof kind; key: KeyObject } => ({
  kind,
  key: pairs[kind].privateKey,
});

describe("a sealed answer", () => {
  it.each(kinds)("to a %s key opens with the private half, and says how it is sealed", async (kind) => {
    const sealed = await sealAnswer(sshPublicKeyOf(pairs[kind].publicKey), answer, terms);
    expect(await openAnswer(recipient(kind), sealed, terms.binding)).toEqual(answer);
    expect(sealed.seal).toEqual(
      kind === "rsa"
        ? { scheme: "rsa-oaep-sha512", aead: "AES-256-GCM" }
        : {
            scheme: "hpke",
            kem: kind === "p256" ? "DHKEM(P-256, HKDF-SHA256)" : "DHKEM(X25519, HKDF-SHA256)",
            kdf: "HKDF-SHA256",
            aead: "AES-256-GCM",
            info: Buffer.from(terms.binding).toString("base64"),
          },
    );
  });

  it("to an RSA key is byte for byte what a client of the first design opens", async () => {
    const sealed = await sealAnswer(sshPublicKeyOf(pairs.rsa.publicKey), answer, terms);
    const key = privateDecrypt(
      { key: pairs.rsa.privateKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha512" },
      Buffer.from(sealed.key, "base64"),
    );
    expect(key).toHaveLength(32);
    const bytes = Buffer.from(sealed.token, "base64");
    const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12));
    decipher.setAuthTag(bytes.subarray(-16));
    expect(decipher.update(bytes.subarray(12, -16)).toString() + decipher.final().toString()).toBe(answer.token);
  });

  it.each(kinds)("to a %s key shows neither token nor CA, and is another one each time", async (kind) => {
    const to = sshPublicKeyOf(pairs[kind].publicKey);
    const [one, two] = [await sealAnswer(to, answer, terms), await sealAnswer(to, answer, terms)];
    for (const field of ["key", "token", "ca"] as const) {
      expect(one[field]).not.toBe(two[field]);
      expect(Buffer.from(one[field], "base64").toString("latin1")).not.toContain("eyJh");
    }
  });

  it.each(kinds)("to a %s key does not open with another key", async (kind) => {
    const sealed = await sealAnswer(sshPublicKeyOf(pairs[kind].publicKey), answer, terms);
    const other = {
      rsa: () => generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey,
      p256: () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
      ed25519: () => generateKeyPairSync("ed25519").privateKey,
    }[kind]();
    expect(await codeOf(openAnswer({ kind, key: other }, sealed, terms.binding))).toBe("key");
  });

  it.each(["p256", "ed25519"] as const)("to a %s key does not open for another request", async (kind) => {
    const sealed = await sealAnswer(sshPublicKeyOf(pairs[kind].publicKey), answer, terms);
    expect(await codeOf(openAnswer(recipient(kind), sealed, "request b of uid 2"))).toBe("key");
  });

  it.each([
    ["token", 0],
    ["token", -1],
    ["ca", 14],
  ] as const)("does not open when %s was changed at byte %i", async (field, at) => {
    const sealed = await sealAnswer(sshPublicKeyOf(pairs.p256.publicKey), answer, terms);
    const bytes = Buffer.from(sealed[field], "base64");
    const index = (at + bytes.length) % bytes.length;
    bytes[index] = (bytes[index] ?? 0) ^ 1;
    const changed = { ...sealed, [field]: bytes.toString("base64") };
    expect(await codeOf(openAnswer(recipient("p256"), changed, terms.binding))).toBe("content");
  });

  it("does not open when token and CA are put in each other's place and one is cut short", async () => {
    const sealed = await sealAnswer(sshPublicKeyOf(pairs.p256.publicKey), answer, terms);
    expect(await codeOf(openAnswer(recipient("p256"), { ...sealed, token: "AAAA" }, terms.binding))).toBe("form");
    expect(await codeOf(openAnswer(recipient("p256"), { ...sealed, key: "" }, terms.binding))).toBe("key");
  });

  it("is refused for an Ed25519 key that is no point to share a secret with", async () => {
    const x = "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    const neutral = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    await expect(sealAnswer({ kind: "ed25519", key: neutral }, answer, terms)).rejects.toThrow(/./);
  });
});

describe("the X25519 form of an Ed25519 pair", () => {
  it("is one pair again", () => {
    const { publicKey, privateKey } = pairs.ed25519;
    const mine = x25519PublicOf(Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url"));
    const prefix = Buffer.from("302e020100300506032b656e04220420", "hex");
    const der = Buffer.concat([prefix, x25519PrivateOf(privateKey)]);
    const x25519 = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
    const jwk = x25519.export({ format: "jwk" });
    expect(Buffer.from(mine ?? []).toString("base64url")).toBe(jwk.x);
  });
});
